// How often a parser mode makes other events of a stream than the standard does: seeded bodies of what parsers stumble over, cut into reads,
// through the mode and through `whatwg`. Counts bodies, not bytes: it says how a mode fares on odd streams, not on usual ones.

import Primitives
import Streams

enum OddStreams {
  private static let bodies = 1_000
  private static let pieces: [[UInt8]] = [
    "data: a\n", "data:b\n", "data: {\"t\":\"c\"}\r\n", "data\n", "data:\n", "\n", "\n", "\r\n", "\r", "event: e\n", "id: 1\n", "id\n", "retry: 5\n",
    ": comment\n", "foo: bar\n", "data: \u{2028}x\n", "data: \u{85}y\n", "data: é🌍\n", "data: a\n\n", "data: b\r\n\r\n", "data: c\n\n",
    "\u{FEFF}", "data:  two spaces\n", "x",
  ].map { Array($0.utf8) } + [[0x64, 0x61, 0x74, 0x61, 0x3A, 0xFF, 0x0A]]

  /// The share of the bodies whose data come out otherwise; nil for modes that read no event streams.
  static func ratio(of settings: ParserSettings) -> Double? {
    if settings.mode == .ndjson || settings.mode == .custom { return nil }
    var different = 0
    for index in 0..<bodies {
      var random = SeededRandom(seed: 1, purpose: "odd streams", index: UInt64(index))
      var body: [UInt8] = []
      for _ in 0..<(1 + random.next() % 12) { body += pieces[Int(random.next() % UInt64(pieces.count))] }
      let cut = Int(random.next() % UInt64(body.count + 1))
      if texts(body, cut, settings) != texts(body, cut, ParserSettings(.whatwg)) { different += 1 }
    }
    return Double(different) / Double(bodies)
  }

  private static func texts(_ body: [UInt8], _ cut: Int, _ settings: ParserSettings) -> [String?] {
    var parser = StreamParser(settings)
    var seen = Texts()
    do {
      try body.withUnsafeBytes { bytes in
        try parser.feed(UnsafeRawBufferPointer(rebasing: bytes[..<cut]), into: &seen)
        try parser.feed(UnsafeRawBufferPointer(rebasing: bytes[cut...]), into: &seen)
        try parser.finish(into: &seen)
      }
    } catch {
      seen.list.append("error")
    }
    return seen.list
  }

  private struct Texts: EventSink {
    var list: [String?] = []
    mutating func receive(_ event: EventSlices) {
      list.append(event.fields.contains(.data) ? String(decoding: event.data, as: UTF8.self) : nil)
    }
  }
}
