// The line on which each key of a JSON text stands, so that a problem can name it. Reads only text that JSONReader has
// accepted; on anything else it finds fewer keys.

import Primitives

struct KeyLines {
  private var lines: [String: Int] = [:]
  /// Beyond this many keys the rest has no line: only hand-written files need them.
  private static let mostKeys = 20_000

  init(_ text: [UInt8]) {
    var line = 1
    var at = 0
    // One entry for each open object (key nil until read) or array (index).
    var path: [(key: String, index: Int?)] = []
    var expectsKey = false

    func note() {
      if lines.count < Self.mostKeys {
        lines[path.map { $0.index.map(String.init) ?? $0.key }.joined(separator: ".")] = line
      }
    }
    while at < text.count {
      switch text[at] {
      case 0x0A: line += 1
      case UInt8(ascii: "/"):
        let isBlock = at + 1 < text.count && text[at + 1] == UInt8(ascii: "*")
        at += 2
        while at < text.count, isBlock ? !text[at...].starts(with: Array("*/".utf8)) : text[at] != 0x0A {
          if text[at] == 0x0A { line += 1 }
          at += 1
        }
        at += isBlock ? 2 : 0
        continue
      case UInt8(ascii: "\""):
        let start = at
        at += 1
        while at < text.count, text[at] != UInt8(ascii: "\"") { at += text[at] == UInt8(ascii: "\\") ? 2 : 1 }
        if expectsKey, !path.isEmpty {
          let end = min(at + 1, text.count)
          path[path.count - 1].key = (try? JSONReader.read(text[start..<end]))?.asString ?? ""
          note()
          expectsKey = false
        }
      case UInt8(ascii: "{"):
        path.append(("", nil))
        expectsKey = true
      case UInt8(ascii: "["):
        path.append(("", 0))
        expectsKey = false
        note()
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = path.popLast()
        expectsKey = false
      case UInt8(ascii: ","):
        guard let last = path.last else { break }
        if let index = last.index {
          path[path.count - 1].index = index + 1
          note()
        } else {
          expectsKey = true
        }
      default: break
      }
      at += 1
    }
  }

  /// The line of a key, or of the nearest key around it.
  func line(of keyPath: String) -> Int? {
    var keys = keyPath.keys[...]
    while !keys.isEmpty {
      if let line = lines[keys.joined(separator: ".")] { return line }
      keys = keys.dropLast()
    }
    return nil
  }
}
