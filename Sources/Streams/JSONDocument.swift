// The nodes that CSimdjson makes of a JSON text, to walk through. A view: it owns neither nodes nor text.

internal import CSimdjson

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
    mutating func next() -> (key: Key, value: Node)? {
      guard at < end else { return nil }
      let key = document.nodes[Int(at)]
      let value = Node(index: at + 1)
      at = document.nodes[Int(at) + 1].next
      return (Key(document.text + Int(key.start), Int(key.end - key.start), isEscaped: key.escaped), value)
    }
  }

  /// A key to compare with names: its length and first eight bytes, since most names end there.
  struct Key {
    let start: UnsafePointer<UInt8>
    let count: Int
    let isEscaped: Bool

    @inline(__always)
    init(_ start: UnsafePointer<UInt8>, _ count: Int, isEscaped: Bool) {
      self.start = start
      self.count = count
      self.isEscaped = isEscaped
    }

    @inline(__always)
    static func == (key: Key, name: StaticString) -> Bool {
      if key.isEscaped { return key.isEscapedForm(of: name) }
      return key.count == name.utf8CodeUnitCount && CSimdjson_equal(key.start, name.utf8Start, key.count)
    }

    @inline(never)
    private func isEscapedForm(of name: StaticString) -> Bool {
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { plain in
        let length = CSimdjson_unescape(start, count, plain.baseAddress)
        return length == name.utf8CodeUnitCount && CSimdjson_equal(plain.baseAddress, name.utf8Start, length)
      }
    }
  }

  /// The last member of that name, as readers of JSON take it.
  @inline(__always)
  func member(_ object: Node, _ name: StaticString) -> Node? {
    var found: Node?
    for (key, value) in members(object) where key == name { found = value }
    return found
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

  func isString(_ node: Node, _ text: StaticString) -> Bool {
    let n = nodes[Int(node.index)]
    return n.kind == UInt8(ascii: "\"") && Key(self.text + Int(n.start), Int(n.end - n.start), isEscaped: n.escaped) == text
  }

  /// A string's text.
  func string(_ node: Node) -> String? {
    guard isString(node) else { return nil }
    let raw = raw(node)
    if !isEscaped(node) { return String(decoding: raw, as: UTF8.self) }
    return String(unsafeUninitializedCapacity: raw.count) { out in
      CSimdjson_unescape(raw.baseAddress?.assumingMemoryBound(to: UInt8.self), raw.count, out.baseAddress)
    }
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
        write(Node(index: next), to: &out)
        out += ":"
        write(Node(index: next + 1), to: &out)
        next = nodes[Int(next) + 1].next
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

/// How this project writes a JSON string.
package enum JSONText {
  /// Appends `text` in quotes: quote, backslash and control characters escaped, all else as it is.
  package static func write(_ text: String, to out: inout String) {
    out += "\""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22: out += "\\\""
      case 0x5C: out += "\\\\"
      case 0x08: out += "\\b"
      case 0x0A: out += "\\n"
      case 0x0C: out += "\\f"
      case 0x0D: out += "\\r"
      case 0x09: out += "\\t"
      case 0..<0x20:
        let digits = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: out.unicodeScalars.append(scalar)
      }
    }
    out += "\""
  }
}
