// JSON text becomes a JSONValue, or one error with its place. With `extended`, comments (// and /* */) and trailing
// commas are allowed, as scenario files have them. Bounded: depth 64, and the caller bounds the size.

/// Why a text is not JSON, and where.
package struct JSONSyntaxError: Error, Equatable, Sendable {
  package var message: String
  /// Both from 1; the column counts bytes.
  package var line: Int
  package var column: Int
  package var isTooDeep = false
}

package struct JSONReader {
  /// Nesting beyond this is refused.
  package static let maximumDepth = 64

  private var bytes: [UInt8]
  private var at = 0
  private let extended: Bool

  /// Reads one whole document. Strict RFC 8259 unless `extended`; a key twice in one object is an error.
  package static func read(_ text: some Sequence<UInt8>, extended: Bool = false) throws(JSONSyntaxError) -> JSONValue {
    var reader = JSONReader(bytes: Array(text), extended: extended)
    if reader.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.at = 3 }
    try reader.skipBlank()
    let value = try reader.value(depth: 0)
    try reader.skipBlank()
    if reader.at < reader.bytes.count { throw reader.problem("text after the end of the document") }
    return value
  }

  package static func read(_ text: String, extended: Bool = false) throws(JSONSyntaxError) -> JSONValue {
    try read(text.utf8, extended: extended)
  }

  private init(bytes: [UInt8], extended: Bool) {
    self.bytes = bytes
    self.extended = extended
  }

  private func problem(_ message: String, tooDeep: Bool = false) -> JSONSyntaxError {
    var line = 1
    var column = 1
    for byte in bytes[..<min(at, bytes.count)] {
      if byte == 0x0A {
        line += 1
        column = 1
      } else {
        column += 1
      }
    }
    return JSONSyntaxError(message: message, line: line, column: column, isTooDeep: tooDeep)
  }

  private var here: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func skipBlank() throws(JSONSyntaxError) {
    while let byte = here {
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D: at += 1
      case 0x2F where extended: try skipComment()
      default: return
      }
    }
  }

  private mutating func skipComment() throws(JSONSyntaxError) {
    let next = at + 1 < bytes.count ? bytes[at + 1] : 0
    if next == 0x2F {
      while here != nil, here != 0x0A { at += 1 }
    } else if next == 0x2A {
      var end = at + 2
      while end + 1 < bytes.count, !(bytes[end] == 0x2A && bytes[end + 1] == 0x2F) { end += 1 }
      if end + 1 >= bytes.count { throw problem("a comment that begins here is not closed") }
      at = end + 2
    } else {
      throw problem("a single '/'; a comment is // or /* */")
    }
  }

  private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    if depth > Self.maximumDepth { throw problem("nested deeper than \(Self.maximumDepth)", tooDeep: true) }
    guard let byte = here else { throw problem("the text ends where a value is expected") }
    switch byte {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), 0x30...0x39: return try number()
    default: throw problem("a value is expected here")
    }
  }

  private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
    let matches = text.withUTF8Buffer { bytes[at...].starts(with: $0) }
    if !matches { throw problem("not a JSON word; expected true, false or null") }
    at += text.utf8CodeUnitCount
    return value
  }

  private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    at += 1
    var object = JSONObject()
    try skipBlank()
    if here == UInt8(ascii: "}") {
      at += 1
      return .object(object)
    }
    while true {
      try skipBlank()
      guard here == UInt8(ascii: "\"") else { throw problem("a key in double quotes is expected") }
      let start = at
      let key = try string()
      if object[key] != nil {
        at = start
        throw problem("the key \"\(key)\" stands twice in one object")
      }
      try skipBlank()
      guard here == UInt8(ascii: ":") else { throw problem("':' is expected after a key") }
      at += 1
      try skipBlank()
      object[key] = try value(depth: depth + 1)
      if try !separator(closing: UInt8(ascii: "}")) { return .object(object) }
    }
  }

  private mutating func array(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    at += 1
    var array: [JSONValue] = []
    try skipBlank()
    if here == UInt8(ascii: "]") {
      at += 1
      return .array(array)
    }
    while true {
      try skipBlank()
      array.append(try value(depth: depth + 1))
      if try !separator(closing: UInt8(ascii: "]")) { return .array(array) }
    }
  }

  /// After a member: true when another follows.
  private mutating func separator(closing: UInt8) throws(JSONSyntaxError) -> Bool {
    try skipBlank()
    if here == closing {
      at += 1
      return false
    }
    guard here == UInt8(ascii: ",") else {
      throw problem("',' or '\(Character(UnicodeScalar(closing)))' is expected")
    }
    at += 1
    if extended {
      try skipBlank()
      if here == closing {
        at += 1
        return false
      }
    }
    return true
  }

  private mutating func number() throws(JSONSyntaxError) -> JSONValue {
    let start = at
    func digits(_ reader: inout JSONReader) -> Int {
      let from = reader.at
      while let byte = reader.here, (0x30...0x39).contains(byte) { reader.at += 1 }
      return reader.at - from
    }
    if here == UInt8(ascii: "-") { at += 1 }
    let first = here
    let count = digits(&self)
    if count == 0 { throw problem("a digit is expected") }
    if first == 0x30 && count > 1 { throw problem("a number does not begin with 0") }
    var whole = true
    if here == UInt8(ascii: ".") {
      at += 1
      whole = false
      if digits(&self) == 0 { throw problem("a digit is expected after '.'") }
    }
    if here == UInt8(ascii: "e") || here == UInt8(ascii: "E") {
      at += 1
      whole = false
      if here == UInt8(ascii: "+") || here == UInt8(ascii: "-") { at += 1 }
      if digits(&self) == 0 { throw problem("a digit is expected in the exponent") }
    }
    let text = String(decoding: bytes[start..<at], as: UTF8.self)
    if whole, let value = Int64(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else { throw problem("the number \(text) is too large") }
    return .number(value)
  }

  private mutating func string() throws(JSONSyntaxError) -> String {
    let start = at
    at += 1
    var out: [UInt8] = []
    while true {
      guard let byte = here else {
        at = start
        throw problem("a string that begins here is not closed")
      }
      at += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let text = String(validating: out, as: UTF8.self) else {
          at = start
          throw problem("a string that is not UTF-8")
        }
        return text
      case UInt8(ascii: "\\"): try escape(into: &out)
      case 0..<0x20: throw problem("a control character in a string; write it as an escape")
      default: out.append(byte)
      }
    }
  }

  private mutating func escape(into out: inout [UInt8]) throws(JSONSyntaxError) {
    guard let byte = here else { throw problem("the text ends inside an escape") }
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(byte)
    case UInt8(ascii: "b"): out.append(0x08)
    case UInt8(ascii: "f"): out.append(0x0C)
    case UInt8(ascii: "n"): out.append(0x0A)
    case UInt8(ascii: "r"): out.append(0x0D)
    case UInt8(ascii: "t"): out.append(0x09)
    case UInt8(ascii: "u"):
      var code = try hexadecimal()
      if (0xD800..<0xDC00).contains(code) {
        guard here == UInt8(ascii: "\\"), at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "u") else {
          throw problem("half of a surrogate pair")
        }
        at += 2
        let low = try hexadecimal()
        guard (0xDC00..<0xE000).contains(low) else { throw problem("half of a surrogate pair") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = UnicodeScalar(code) else { throw problem("half of a surrogate pair") }
      out.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    default: throw problem("an escape that JSON does not know")
    }
  }

  private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt32 {
    guard at + 4 <= bytes.count else { throw problem("four hexadecimal digits are expected") }
    var value: UInt32 = 0
    for byte in bytes[at..<at + 4] {
      guard let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
        throw problem("four hexadecimal digits are expected")
      }
      value = value << 4 | UInt32(digit)
    }
    at += 4
    return value
  }
}
