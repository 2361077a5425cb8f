// A JSONValue becomes text: compact on one line, or indented by two spaces. Numbers come out so that they read back
// to the same value; what is not finite becomes null.

extension JSONValue {
  /// The text of this value; `pretty` breaks lines and ends with one.
  package func text(pretty: Bool = false) -> String {
    var out: [UInt8] = []
    write(to: &out, indent: pretty ? 0 : nil)
    if pretty { out.append(0x0A) }
    return String(decoding: out, as: UTF8.self)
  }

  private func write(to out: inout [UInt8], indent: Int?) {
    switch self {
    case .null: out.append(contentsOf: "null".utf8)
    case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
    case .integer(let value): out.append(contentsOf: String(value).utf8)
    case .number(let value): out.append(contentsOf: JSONValue.numberText(value).utf8)
    case .string(let value): JSONValue.write(value, to: &out)
    case .array(let values):
      JSONValue.list(values, open: "[", close: "]", to: &out, indent: indent) { value, out, inner in
        value.write(to: &out, indent: inner)
      }
    case .object(let object):
      JSONValue.list(object.pairs, open: "{", close: "}", to: &out, indent: indent) { pair, out, inner in
        JSONValue.write(pair.key, to: &out)
        out.append(UInt8(ascii: ":"))
        if inner != nil { out.append(0x20) }
        pair.value.write(to: &out, indent: inner)
      }
    }
  }

  /// A number as text: whole numbers without a fraction, others in the shortest form that reads back the same.
  package static func numberText(_ value: Double) -> String {
    if !value.isFinite { return "null" }
    if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
    return value.description
  }

  private static func list<Element>(
    _ elements: [Element], open: Unicode.Scalar, close: Unicode.Scalar, to out: inout [UInt8], indent: Int?,
    _ write: (Element, inout [UInt8], Int?) -> Void
  ) {
    out.append(UInt8(ascii: open))
    let inner = indent.map { $0 + 2 }
    for (index, element) in elements.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      if let inner { newline(inner, to: &out) }
      write(element, &out, inner)
    }
    if let indent, !elements.isEmpty { newline(indent, to: &out) }
    out.append(UInt8(ascii: close))
  }

  private static func newline(_ indent: Int, to out: inout [UInt8]) {
    out.append(0x0A)
    out.append(contentsOf: repeatElement(0x20, count: indent))
  }

  private static func write(_ text: String, to out: inout [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    out.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): out.append(contentsOf: [UInt8(ascii: "\\"), byte])
      case 0x0A: out.append(contentsOf: "\\n".utf8)
      case 0x0D: out.append(contentsOf: "\\r".utf8)
      case 0x09: out.append(contentsOf: "\\t".utf8)
      case 0..<0x20, 0x7F:
        out.append(contentsOf: "\\u00".utf8)
        out.append(digits[Int(byte >> 4)])
        out.append(digits[Int(byte & 15)])
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
  }
}
