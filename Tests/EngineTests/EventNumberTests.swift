import Engine
import Primitives
import Scenarios
import Streams
import Testing

/// The number of a foreign server's event, and whether it came whole.
@Suite struct EventNumberTests {
  private struct Marks: EventSink {
    let rule: EventNumberRule
    var prefix: UInt64 = 0
    var seen: [String] = []

    mutating func receive(_ event: EventSlices) {
      switch rule.mark(of: event, prefix: &prefix) {
      case .none: seen.append("none")
      case .unusable: seen.append("unusable")
      case .number(let number, let isIntact): seen.append("\(number)\(isIntact ? "" : " damaged")")
      }
    }
  }

  private func marks(_ verify: Verify, _ wire: String, piece: Int = .max) throws -> [String] {
    var marks = Marks(rule: try EventNumberRule(verify))
    var parser = StreamParser(ParserSettings(.whatwg))
    let bytes = Array(wire.utf8)
    for start in stride(from: 0, to: bytes.count, by: min(piece, bytes.count)) {
      try bytes[start..<min(start &+ min(piece, bytes.count), bytes.count)].withUnsafeBytes {
        try parser.feed($0, into: &marks)
      }
    }
    return marks.seen
  }

  /// The last event id lasts, the number does not: else an end event, or any without an id, would look like a duplicate.
  @Test(arguments: [1, 7, 1_000]) func eventWithoutAnID_HasNoNumber(piece: Int) throws {
    let wire = "id: s-7\ndata: a\n\ndata: b\n\nevent: end\ndata\n\nid: s-7\ndata: c\n\nid: 8\n\ndata: d\n\n"

    #expect(try marks(Verify(sequence: .id), wire, piece: piece) == ["7", "none", "none", "7", "none"])
  }

  /// Ids made of a time and a count: the last digits count no events.
  @Test func idWhosePrefixChanges_HasNoNumber() throws {
    let nchan = ["1764547200:0", "1764547200:1", "1764547201:0", "1764547201:1"].map { "id: \($0)\ndata: a\n\n" }.joined()
    let negative = ["-2", "-1", "0", "1"].map { "id: \($0)\ndata: a\n\n" }.joined()

    #expect(try marks(Verify(sequence: .id), nchan) == ["0", "1", "unusable", "unusable"])
    #expect(try marks(Verify(sequence: .id), negative) == ["-2", "-1", "0", "1"])
    #expect(try marks(Verify(sequence: .id), "id: 99999999999999999999\ndata: a\n\n") == ["unusable"])
  }

  @Test func jsonPath_FindsNumbersAndDigitsInStrings() throws {
    let wire =
      #"data: {"a":{"n":3}}"# + "\n\n" + #"data: {"a":{"n":"4"}}"# + "\n\n" + #"data: {"a":{"n":[]}}"#
      + "\n\ndata: [DONE]\n\n"

    #expect(try marks(Verify(sequence: .json("a.n")), wire) == ["3", "4", "unusable", "none"])
  }

  @Test func checksum_TellsDamageWhereverTheNumberIs() throws {
    let checksum = Verify.Checksum(crc32c: "sum", of: "m.text")
    let good = String(CRC32C.checksum("größer".utf8), radix: 16)
    func event(_ sum: String, _ text: String) -> String {
      "id: 5\ndata: " + #"{"n":5,"m":{"text":"\#(text)"},"sum":"\#(sum)"}"# + "\n\n"
    }
    let wire =
      event(good, "größer") + event(good, #"gr\u00f6\u00dfer"#) + event(good.uppercased(), "größer")
      + event(good, "grösser")
      + event("", "größer") + "id: 5\ndata: {\"n\":5}\n\n"

    for sequence in [Verify.Sequence.json("n"), .id, .regex(#""n":(\d+)"#)] {
      let verify = Verify(sequence: sequence, checksum: checksum)

      #expect(try marks(verify, wire) == ["5", "5", "5", "5 damaged", "5 damaged", "5 damaged"])
    }
  }
}
