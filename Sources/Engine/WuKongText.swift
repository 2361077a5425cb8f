// Text of mixed width for the WuKongIM workload, drawn from a seed: one, two, three and four bytes, combining marks and
// joiners, split anywhere between scalars.

internal import Primitives

enum WuKongText {
  /// Scalars of one UTF-16 unit.
  private static let narrow: [UnicodeScalar] = [
    "a", "e", "n", "t", " ", ",", "\n", "\"", "\\", "é", "ü", "ß", "ж", "א", "你", "好", "流", "式", "語", "한",
    "ก",
    "\u{301}", "\u{308}", "\u{200D}", "\u{FE0F}", "\u{2028}",
  ]
  /// Scalars of two.
  private static let wide: [UnicodeScalar] = ["🙂", "👩", "🚀", "🏽", "🇩", "🇪", "𝒳", "\u{10FFFF}"]

  /// A delta of exactly `units` UTF-16 units, at least one.
  static func delta(units: Int, _ random: inout SeededRandom) -> String {
    var text = String.UnicodeScalarView()
    var left = max(1, units)
    while left > 0 {
      if left >= 2 && random.next() % 4 == 0 {
        text.append(wide[Int(random.next() % UInt64(wide.count))])
        left -= 2
      } else {
        text.append(narrow[Int(random.next() % UInt64(narrow.count))])
        left -= 1
      }
    }
    return String(text)
  }

  /// The longest prefix of whole scalars within `units` UTF-16 units, in UTF-8, and whether it is shorter than the text.
  static func bounded(_ text: String, units: Int) -> ([UInt8], Bool) {
    var bytes: [UInt8] = []
    var used = 0
    for scalar in text.unicodeScalars {
      used += scalar.value > 0xFFFF ? 2 : 1
      if used > units { return (bytes, true) }
      bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
    return (bytes, false)
  }
}
