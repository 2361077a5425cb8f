// The nodes that CSimdjson makes of a JSON text, to walk through. A view: it owns neither nodes nor text.

internal import CSimdjson
internal import CStreams

/// A JSON text as a list of nodes. Valid until the reader reads again or the text goes.
struct JSONDocument {
  let text: UnsafePointer<UInt8>
  let nodes: UnsafePointer<CSimdjson_Node>

  /// A value, by its place in the list.
  struct Node {
    var index: UInt32
  }

  var root: Node { Node(index: 0) }

  @inline(__always)
  func kind(_ node: Node) -> UInt8 { nodes[Int(node.index)].kind }
  @inline(__always)
  func isObject(_ node: Node) -> Bool { kind(node) == UInt8(ascii: "{") }
  func isArray(_ node: Node) -> Bool { kind(node) == UInt8(ascii: "[") }
  @inline(__always)
  func isString(_ node: Node) -> Bool { kind(node) == UInt8(ascii: "\"") }
  func isNull(_ node: Node) -> Bool { kind(node) == UInt8(ascii: "n") }
  func isTrue(_ node: Node) -> Bool { kind(node) == UInt8(ascii: "t") }
  func isEmptyString(_ node: Node) -> Bool {
    let n = nodes[Int(node.index)]
    return n.kind == UInt8(ascii: "\"") && n.start == n.end
  }
  /// Whether a string needs `CSimdjson_unescape`.
  @inline(__always)
  func isEscaped(_ node: Node) -> Bool { nodes[Int(node.index)].escaped }

  /// A string's content without quotes, escapes still in it; any other value's text.
  @inline(__always)
  func raw(_ node: Node) -> UnsafeRawBufferPointer {
    let n = nodes[Int(node.index)]
    return UnsafeRawBufferPointer(start: text + Int(n.start), count: Int(n.end - n.start))
  }

  func start(_ node: Node) -> Int { Int(nodes[Int(node.index)].start) }
  func end(_ node: Node) -> Int { Int(nodes[Int(node.index)].end) }

  /// The members of an object, or nothing where it is none.
  @inline(__always)
  func members(_ object: Node) -> Members {
    let n = nodes[Int(object.index)]
    return Members(document: self, at: object.index + 1, end: n.kind == UInt8(ascii: "{") ? n.next : 0)
  }

  /// The elements of an array, or nothing where it is none.
  @inline(__always)
  func elements(_ array: Node) -> Elements {
    let n = nodes[Int(array.index)]
    return Elements(document: self, at: array.index + 1, end: n.kind == UInt8(ascii: "[") ? n.next : 0)
  }

  struct Elements: Sequence, IteratorProtocol {
    let document: JSONDocument
    var at: UInt32
    let end: UInt32

    @inline(__always)
    mutating func next() -> Node? {
      guard at < end else { return nil }
      let node = Node(index: at)
      at = document.nodes[Int(at)].next
      return node
    }
  }

  struct Members: Sequence, IteratorProtocol {
    let document: JSONDocument
    var at: UInt32
    let end: UInt32

    @inline(__always)
    mutating func next() -> (key: JSONKey, value: Node)? {
      guard at < end else { return nil }
      let node = document.nodes[Int(at)]
      let value = Node(index: at)
      at = node.next
      // The raw values are the numbers of the cases.
      return (unsafeBitCast(node.key, to: JSONKey.self), value)
    }
  }

  /// The last member of that name, as readers of JSON take it.
  @inline(__always)
  func member(_ object: Node, _ name: JSONKey) -> Node? {
    var found: Node?
    for (key, value) in members(object) where key == name { found = value }
    return found
  }

  /// A member's key.
  func key(_ member: Node) -> String {
    let n = nodes[Int(member.index)]
    return string(from: text + Int(n.key_start), Int(n.key_end - n.key_start), isEscaped: n.key_escaped)
  }

  /// A whole number that fits, also where it is written `3.0`; else nil.
  func integer(_ node: Node) -> Int? {
    guard kind(node) == UInt8(ascii: "0") else { return nil }
    let digits = raw(node)
    var value = 0
    var negative = false
    for (index, byte) in digits.enumerated() {
      if index == 0, byte == UInt8(ascii: "-") {
        negative = true
        continue
      }
      guard byte >= 0x30, byte <= 0x39 else { return Double(String(decoding: digits, as: UTF8.self)).flatMap { Int(exactly: $0) } }
      let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(Int(byte - 0x30))
      if overflow || carry { return nil }
      value = sum
    }
    return negative ? -value : value
  }

  func isString(_ node: Node, _ text: StaticString) -> Bool { isString(node) && JSONWord(self, node) == text }

  /// A string's text.
  func string(_ node: Node) -> String? {
    guard isString(node) else { return nil }
    let n = nodes[Int(node.index)]
    return string(from: text + Int(n.start), Int(n.end - n.start), isEscaped: n.escaped)
  }

  private func string(from start: UnsafePointer<UInt8>, _ count: Int, isEscaped: Bool) -> String {
    if !isEscaped { return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }
    return String(unsafeUninitializedCapacity: count) { CSimdjson_unescape(start, count, $0.baseAddress) }
  }

  /// A value as compact JSON: no white space, keys in the order sent, strings with no escape that is not needed.
  func compact(_ node: Node) -> String {
    var out = ""
    write(node, to: &out)
    return out
  }

  private func write(_ node: Node, to out: inout String) {
    switch kind(node) {
    case UInt8(ascii: "{"):
      out += "{"
      var isFirst = true
      var next = node.index + 1
      while next < nodes[Int(node.index)].next {
        if !isFirst { out += "," }
        isFirst = false
        JSONText.write(key(Node(index: next)), to: &out)
        out += ":"
        write(Node(index: next), to: &out)
        next = nodes[Int(next)].next
      }
      out += "}"
    case UInt8(ascii: "["):
      out += "["
      for (offset, element) in elements(node).enumerated() {
        if offset > 0 { out += "," }
        write(element, to: &out)
      }
      out += "]"
    case UInt8(ascii: "\""): JSONText.write(string(node) ?? "", to: &out)
    default: out += String(decoding: raw(node), as: UTF8.self)
    }
  }
}

/// A short text of a document, to compare with words.
struct JSONWord {
  private let start: UnsafePointer<UInt8>
  private let count: Int
  private let isEscaped: Bool

  @inline(__always)
  init(_ document: JSONDocument, _ string: JSONDocument.Node) {
    let n = document.nodes[Int(string.index)]
    start = document.text + Int(n.start)
    count = Int(n.end - n.start)
    isEscaped = n.escaped
  }

  init(_ bytes: UnsafeRawBufferPointer, or nothing: UnsafePointer<UInt8>) {
    start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nothing
    count = bytes.count
    isEscaped = false
  }

  @inline(__always)
  static func == (word: JSONWord, text: StaticString) -> Bool {
    if word.isEscaped { return word.isEscapedForm(of: text) }
    return word.count == text.utf8CodeUnitCount && CSimdjson_equal(word.start, text.utf8Start, word.count)
  }

  @inline(never)
  private func isEscapedForm(of text: StaticString) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { plain in
      let length = CSimdjson_unescape(start, count, plain.baseAddress)
      return length == text.utf8CodeUnitCount && CSimdjson_equal(plain.baseAddress, text.utf8Start, length)
    }
  }
}

/// How this project writes a JSON string: quote, backslash and control characters escaped, all else as it is.
package enum JSONText {
  /// Appends bytes in quotes; bad parts of what is not UTF-8 become U+FFFD.
  package static func write(_ bytes: UnsafeRawBufferPointer, to out: inout [UInt8]) {
    out.append(0x22)
    if let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) {
      if CSimdjson_is_utf8(start, bytes.count) {
        escape(UnsafeBufferPointer(start: start, count: bytes.count), to: &out)
      } else {
        var repaired = String(decoding: bytes, as: UTF8.self)
        repaired.withUTF8 { escape($0, to: &out) }
      }
    }
    out.append(0x22)
  }

  /// Appends `text` in quotes.
  package static func write(_ text: String, to out: inout String) {
    var bytes: [UInt8] = []
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0), to: &bytes) }
    out += String(decoding: bytes, as: UTF8.self)
  }

  private static func escape(_ bytes: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
    guard let start = bytes.baseAddress else { return }
    var ignored = true
    var at = 0
    while at < bytes.count {
      let run = CStreams_string_end(start + at, bytes.count - at, &ignored)
      out.append(contentsOf: bytes[at..<at + run])
      at += run
      if at == bytes.count { break }
      out.append(UInt8(ascii: "\\"))
      switch bytes[at] {
      case 0x08: out.append(UInt8(ascii: "b"))
      case 0x0A: out.append(UInt8(ascii: "n"))
      case 0x0C: out.append(UInt8(ascii: "f"))
      case 0x0D: out.append(UInt8(ascii: "r"))
      case 0x09: out.append(UInt8(ascii: "t"))
      case let control where control < 0x20:
        let digits = String(control, radix: 16)
        out.append(contentsOf: "u00\(control < 0x10 ? "0" : "")\(digits)".utf8)
      case let plain: out.append(plain)
      }
      at += 1
    }
  }
}
