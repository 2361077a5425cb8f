// What recouse/EventSource 0.1.7 does with a sequence of reads, written down again from its description (split the buffer at the separator that
// comes last, clean each block, read each row), with Foundation's Data as the library has it. The oracle of the `eventsource` modes; it
// shares nothing with them.

import Foundation

struct EventSourceOracle {
  struct Event: Equatable {
    var id: String?
    var event: String?
    var data: String?
    var time: String?
    var other: Set<[UInt8]>?

    static func == (a: Event, b: Event) -> Bool {
      func same(_ x: String?, _ y: String?) -> Bool { x.map { Array($0.utf8) } == y.map { Array($0.utf8) } }
      return same(a.id, b.id) && same(a.event, b.event) && same(a.data, b.data) && same(a.time, b.time) && a.other == b.other
    }
  }

  let isDataOnly: Bool
  private var held = Data()

  init(isDataOnly: Bool) { self.isDataOnly = isDataOnly }

  mutating func read(_ bytes: [UInt8]) -> [Event] {
    var all = Data()
    all.append(held)
    all.append(contentsOf: bytes)
    let lf = Data([10, 10])
    let crlf = Data([13, 10, 13, 10])
    let lastLF = all.range(of: lf, options: .backwards)
    let lastCRLF = all.range(of: crlf, options: .backwards)
    let separator: Data
    let end: Int
    switch (lastLF, lastCRLF) {
    case (nil, nil):
      held = all
      return []
    case (let a?, nil): (separator, end) = (lf, a.upperBound)
    case (nil, let b?): (separator, end) = (crlf, b.upperBound)
    case (let a?, let b?): (separator, end) = a.upperBound >= b.upperBound ? (lf, a.upperBound) : (crlf, b.upperBound)
    }
    held = Data(all[end...])
    var blocks: [Data] = []
    var rest = Data(all[..<end])
    while let hit = rest.range(of: separator) {
      blocks.append(Data(rest[..<hit.lowerBound]))
      rest = Data(rest[hit.upperBound...])
    }
    blocks.append(rest)
    return blocks.filter { !$0.isEmpty }.compactMap(event)
  }

  private func event(_ block: Data) -> Event? {
    // Lines by LF, empty ones gone, CRs off both ends; the block's own end loses all CR and LF first.
    var text = [UInt8](block)
    while let last = text.last, last == 10 || last == 13 { text.removeLast() }
    var lines: [[UInt8]] = []
    for line in text.split(separator: 10) {
      var line = Array(line)
      while line.first == 13 { line.removeFirst() }
      while line.last == 13 { line.removeLast() }
      lines.append(line)
    }
    var rows = lines
    if isDataOnly {
      var joined: [UInt8] = []
      for (index, line) in lines.enumerated() { joined += (index > 0 ? [10] : []) + line }
      rows = [joined]
    }
    var result = Event()
    for row in rows where !row.isEmpty && row[0] != 58 {
      guard let colon = row.firstIndex(of: 58) else {
        switch String(decoding: row, as: UTF8.self) {
        case "id": result.id = nil
        case "event": result.event = nil
        case "time": result.time = nil
        case "data": if let data = result.data { result.data = data + "\n" }
        case let name:
          // A dictionary keeps the first of canonically equivalent names.
          let known = (result.other ?? []).contains { String(decoding: $0, as: UTF8.self) == name }
          if !known { result.other = (result.other ?? []).union([Array(name.utf8)]) }
        }
        continue
      }
      let key = String(decoding: row[..<colon], as: UTF8.self)
      let tail = row[(colon + 1)...]
      var value: String?
      if !tail.isEmpty {
        let characters = Array(String(decoding: tail, as: UTF8.self))
        value = String(characters.first == " " ? characters.dropFirst() : characters[...])
      }
      switch key {
      case "id": result.id = value
      case "event": result.event = value
      case "time": result.time = value
      case "data":
        if let data = result.data { result.data = data + "\n" + (value ?? "") } else { result.data = value }
      default: break
      }
    }
    let isEmpty =
      (result.id ?? "").isEmpty && (result.event ?? "").isEmpty && (result.data ?? "").isEmpty
      && (result.time ?? "").isEmpty && (result.other ?? []).isEmpty
    return isEmpty ? nil : result
  }
}
