// What `AsyncLineSequence` and `hasPrefix("data: ")` make of a body, written down again on the whole body at once: a list of units, each a line end or
// bytes, then the rule on Unicode scalars and Characters. The oracle of the `lines` mode; it shares nothing with it.

enum LinesOracle {
  /// The payloads of all `data: ` lines.
  static func payloads(_ body: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = [[]]
    var rest = body[...]
    while !rest.isEmpty {
      let (isEnd, length) = unit(rest)
      if isEnd { lines.append([]) } else { lines[lines.count - 1] += rest.prefix(length) }
      rest = rest.dropFirst(length)
    }
    return lines.filter { !$0.isEmpty }.compactMap(payload)
  }

  /// The unit that the bytes begin with.
  private static func unit(_ bytes: ArraySlice<UInt8>) -> (isEnd: Bool, length: Int) {
    let ends: [[UInt8]] = [[0x0D, 0x0A], [0x0A], [0x0B], [0x0C], [0x0D], [0xC2, 0x85], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9]]
    for end in ends where bytes.starts(with: end) { return (true, end.count) }
    // What follows C2, E2 or E2 80 is taken with it, whatever it is.
    if bytes.starts(with: [0xE2, 0x80]) { return (false, min(3, bytes.count)) }
    if bytes.first == 0xC2 || bytes.first == 0xE2 { return (false, min(2, bytes.count)) }
    return (false, 1)
  }

  private static func payload(_ line: [UInt8]) -> [UInt8]? {
    let characters = Array(String(decoding: line, as: UTF8.self))
    let prefix = Array("data: ")
    guard characters.count >= prefix.count, Array(characters.prefix(prefix.count)) == prefix else { return nil }
    return Array(String(characters.dropFirst(prefix.count)).utf8)
  }
}
