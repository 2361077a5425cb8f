import Primitives
import Testing

@Suite struct JSONReaderTests {
  // MARK: What is JSON

  @Test func everyKindOfValue_IsRead() throws {
    let value = try JSONReader.read(#" {"a":[1,-2.5,1e3,true,false,null,"x"],"b":{}} "#)

    #expect(
      value
        == .object([
          "a": .array([.integer(1), .number(-2.5), .number(1000), .bool(true), .bool(false), .null, .string("x")]),
          "b": .object([:]),
        ]))
  }

  @Test func keyOrder_IsKept() throws {
    let value = try JSONReader.read(#"{"z":1,"a":2,"m":3}"#)

    #expect(value.asObject?.keys == ["z", "a", "m"])
  }

  @Test func escapes_BecomeTheirCharacters() throws {
    let value = try JSONReader.read(#""\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00""#)

    #expect(value.asString == "\"\\/\u{8}\u{C}\n\r\tA\u{e9}\u{1F600}")
  }

  @Test func byteOrderMark_IsSkipped() throws {
    #expect(try JSONReader.read([0xEF, 0xBB, 0xBF] + Array("[]".utf8)) == .array([]))
  }

  @Test func wholeNumbers_StayExactToSixtyFourBits() throws {
    #expect(try JSONReader.read("9223372036854775807") == .integer(.max))
    #expect(try JSONReader.read("-9223372036854775808") == .integer(.min))
    #expect(try JSONReader.read("9223372036854775808") == .number(9_223_372_036_854_775_808))
  }

  // MARK: What is not

  /// Each with the place where the error must be.
  static let refused: [(text: String, line: Int, column: Int)] = [
    ("", 1, 1), (" ", 1, 2), ("{", 1, 2), ("[1,", 1, 4), ("[1,]", 1, 4), ("{\"a\":1,}", 1, 8), ("[1 2]", 1, 4),
    ("{\"a\" 1}", 1, 6), ("{a:1}", 1, 2), ("{\"a\":1 \"b\":2}", 1, 8), ("01", 1, 3), ("-", 1, 2), ("1.", 1, 3), ("1e", 1, 3),
    ("+1", 1, 1), (".5", 1, 1), ("1e999", 1, 6), ("tru", 1, 1), ("nul", 1, 1), ("\"a", 1, 1), ("\"\\x\"", 1, 4),
    ("\"\\u12\"", 1, 4), ("\"\\ud800\"", 1, 8), ("\"\\udc00\"", 1, 8), ("\"\\ud800\\u0041\"", 1, 14), ("[]x", 1, 3),
    ("[\n  1,\n  x\n]", 3, 3), ("{\"a\":1,\"a\":2}", 1, 8), ("// c\n1", 1, 1), ("NaN", 1, 1), ("'a'", 1, 1),
  ]

  @Test(arguments: refused.indices) func wrongText_IsRefusedWithItsPlace(_ index: Int) {
    let (text, line, column) = Self.refused[index]

    let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(text) }

    #expect(error?.line == line, "\(text.debugDescription): \(error?.message ?? "")")
    #expect(error?.column == column, "\(text.debugDescription): \(error?.message ?? "")")
    #expect(error?.message.isEmpty == false)
  }

  @Test func controlCharacterInString_IsRefused() {
    for byte in UInt8(0)..<0x20 {
      #expect(throws: JSONSyntaxError.self) { try JSONReader.read([0x22, byte, 0x22]) }
    }
  }

  @Test func stringThatIsNotUTF8_IsRefused() {
    let broken: [[UInt8]] = [[0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82]]
    for bytes in broken {
      #expect(throws: JSONSyntaxError.self) { try JSONReader.read([0x22] + bytes + [0x22]) }
    }
  }

  @Test func nestingBeyondTheLimit_IsRefusedAndSaysSo() throws {
    let depth = JSONReader.maximumDepth
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    _ = try JSONReader.read(nested(depth))
    let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(nested(depth + 2)) }

    #expect(error?.isTooDeep == true)
    // Never a crash, however deep.
    for opener in ["[", "{\"a\":"] {
      let error = #expect(throws: JSONSyntaxError.self) {
        try JSONReader.read(String(repeating: opener, count: 200_000))
      }
      #expect(error?.isTooDeep == true)
    }
  }

  // MARK: What scenario files may have on top

  @Test func commentsAndTrailingCommas_AreAllowedWhenExtended() throws {
    let text = """
      { // one
        /* two
           lines */ "a": [1, 2,], "b": "// no comment",
      }
      """

    let value = try JSONReader.read(text, extended: true)

    #expect(value == .object(["a": .array([.integer(1), .integer(2)]), "b": .string("// no comment")]))
    #expect(throws: JSONSyntaxError.self) { try JSONReader.read(text) }
  }

  @Test(arguments: ["[,]", "{,}", "[1,,]", "/* open", "/", "[1] / 2", "{\"a\":1,,}"])
  func extendedText_IsStillStrict(_ text: String) {
    #expect(throws: JSONSyntaxError.self) { try JSONReader.read(text, extended: true) }
  }

  // MARK: Hostile input

  /// Whatever stands there: a value or an error, never a crash; and a value written is the same value read.
  @Test func damagedDocuments_EndInAValueOrAnError() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let base = Array(#"{"a":[1,-2.5e3,true,null,"x\u00e9\ud83d\ude00\n"],"b":{"c":"d"},"e":[[],{}]}"#.utf8)
    var values = 0

    for _ in 0..<20_000 {
      var bytes = base
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: at)
        default: bytes.removeLast(min(bytes.count - 1, Int.random(in: 1...8, using: &random)))
        }
      }
      guard let value = try? JSONReader.read(bytes, extended: Bool.random(using: &random)) else { continue }
      values += 1
      // By their text: -2.5e3 is written as the whole number that it is.
      let again = try? JSONReader.read(value.text())
      #expect(again?.text() == value.text(), "seed \(seed): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
    }

    #expect(values > 0, "seed \(seed)")
  }

  @Test func longFlatDocuments_AreReadInTimeThatGrowsWithTheirLength() throws {
    let text = "{" + (0..<50_000).map { "\"key\($0)\":\($0)" }.joined(separator: ",") + "}"

    let value = try JSONReader.read(text)

    #expect(value["key49999"] == .integer(49_999))
  }
}

@Suite struct JSONWriterTests {
  @Test func randomValues_ReadBackTheSame() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)

    for _ in 0..<2_000 {
      let value = Self.value(&random, depth: 0)
      #expect(try JSONReader.read(value.text()) == value, "seed \(seed)")
      #expect(try JSONReader.read(value.text(pretty: true)) == value, "seed \(seed)")
    }
  }

  @Test func notFiniteNumbers_BecomeNull() {
    #expect(JSONValue.array([.number(.nan), .number(.infinity), .number(-.infinity)]).text() == "[null,null,null]")
  }

  @Test func wholeDoubles_HaveNoFraction() {
    #expect(JSONValue.array([.number(3), .number(-0.5), .number(1e16), .number(0.1)]).text() == "[3,-0.5,1e+16,0.1]")
  }

  @Test func controlCharacters_AreEscaped() {
    #expect(JSONValue.string("\u{0}\u{1F}\u{7F}\"\\\n").text() == #""\u0000\u001f\u007f\"\\\n""#)
  }

  private static func value(_ random: inout SeededRandom, depth: Int) -> JSONValue {
    switch Int.random(in: 0..<(depth < 5 ? 8 : 6), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .integer(Int64(bitPattern: random.next()))
    case 3:
      // A fraction, so that it does not come back as an integer.
      return .number((random.uniform() - 0.5) * 1e6 + 0.123_456_7)
    case 4, 5: return .string(text(&random))
    case 6: return .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(&random, depth: depth + 1) })
    default:
      return .object(
        JSONObject((0..<Int.random(in: 0..<5, using: &random)).map { ("\($0)" + text(&random), value(&random, depth: depth + 1)) }))
    }
  }

  private static func text(_ random: inout SeededRandom) -> String {
    let scalars: [Unicode.Scalar] = ["a", "\"", "\\", "/", "\n", "\u{0}", "\u{7F}", "é", "\u{2028}", "\u{FEFF}", "😀", "\u{301}"]
    var text = ""
    for _ in 0..<Int.random(in: 0..<9, using: &random) {
      text.unicodeScalars.append(scalars[Int.random(in: 0..<scalars.count, using: &random)])
    }
    return text
  }
}
