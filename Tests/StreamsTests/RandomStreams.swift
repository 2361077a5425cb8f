// Seeded bodies made of the pieces that parsers stumble over, and seeded cuts.

import Primitives

struct RandomStreams {
  private var random: SeededRandom

  init(seed: UInt64, index: Int) { random = SeededRandom(seed: seed, purpose: "streams", index: UInt64(index)) }

  private static let pieces: [[UInt8]] = [
    "data", "data:", "data: ", "event: ", "event:", "id:", "id: ", "id", "retry: ", "retry:12", "time: ", ":", ": c", " ", "  ", "x", "abc",
    "\n", "\n", "\n\n", "\r\n", "\r\n", "\r\n\r\n", "\r", "\r\r", "\0", "1", "42", "{\"a\":1}", "é", "\u{301}", "🌍", "\u{FEFF}",
    "\u{2028}", "\u{2029}", "\u{85}", "\u{0B}", "\u{0C}", "\t", "foo", "[DONE]", "data: a\n\n", "data:b\r\n\r\n", "data: hello world\n",
    "event: e\ndata: x\n\n", "id: 7\ndata: y\n\n", "\u{200D}", "e\u{301}", "e\u{300}",
  ].map { Array($0.utf8) } + [[0xC2], [0xE2], [0xE2, 0x80], [0xFF], [0xEF, 0xBB], [0xEF], [0xC2, 0x0A], [0xE2, 0x80, 0x0A], [0xE2, 0x0A]]

  mutating func body() -> [UInt8] {
    var body: [UInt8] = []
    for _ in 0..<Int(random.next() % 40) {
      body += Self.pieces[Int(random.next() % UInt64(Self.pieces.count))]
      // Long runs cross the blocks of the vector scan.
      if random.next() % 16 == 0 { body += Array(repeating: UInt8(ascii: "z"), count: Int(random.next() % 300)) }
    }
    return body
  }

  /// Long lines, which most reads cut, among short ones.
  mutating func longBody() -> [UInt8] {
    var body: [UInt8] = []
    for _ in 0..<(2 + Int(random.next() % 6)) {
      body += Self.pieces[Int(random.next() % UInt64(Self.pieces.count))]
      if random.next() % 2 == 0 { body += Array("data: ".utf8) }
      body += Array(repeating: UInt8(ascii: "z"), count: Int(random.next() % 6000))
      if random.next() % 2 == 0 { body += Array("\n\n".utf8) }
    }
    return body
  }

  /// Reads of one size, or of sizes that change.
  mutating func longCuts(_ count: Int) -> [Int] {
    let size = 1 + Int(random.next() % 4000)
    let isEven = random.next() % 2 == 0
    var cuts: [Int] = []
    var at = 0
    while at < count {
      at += isEven ? size : 1 + Int(random.next() % UInt64(size))
      if at < count { cuts.append(at) }
    }
    return cuts
  }

  mutating func cuts(_ count: Int) -> [Int] {
    if random.next() % 8 == 0 { return Array(0..<count) }
    return (0..<Int(random.next() % 12)).map { _ in Int(random.next() % UInt64(count + 1)) }.sorted()
  }

  mutating func next(below limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
}
