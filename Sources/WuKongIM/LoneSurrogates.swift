// JSON's grammar allows `\ud83d` alone, but no UTF-8 can hold it, so the strict reader refuses the document. To tell
// such a text from one that is no JSON at all, this replaces each half pair by U+FFFD and says whether there was one.

enum LoneSurrogates {
  /// The text with `\ufffd` for every half of a pair; nil where there is none.
  static func replaced(in text: [UInt8]) -> [UInt8]? {
    var out = text
    var found = false
    var at = 0
    while at < out.count {
      guard out[at] == UInt8(ascii: "\\") else {
        at += 1
        continue
      }
      guard let unit = escape(out, at) else {
        at += 2
        continue
      }
      if (0xD800..<0xDC00).contains(unit), let low = escape(out, at + 6), (0xDC00..<0xE000).contains(low) {
        at += 12
        continue
      }
      if (0xD800..<0xE000).contains(unit) {
        out.replaceSubrange(at + 2..<at + 6, with: "fffd".utf8)
        found = true
      }
      at += 6
    }
    return found ? out : nil
  }

  /// The code unit of a `\uXXXX` that begins at `at`.
  private static func escape(_ text: [UInt8], _ at: Int) -> UInt32? {
    guard at + 6 <= text.count, text[at] == UInt8(ascii: "\\"), text[at + 1] == UInt8(ascii: "u") else {
      return nil
    }
    var unit: UInt32 = 0
    for byte in text[at + 2..<at + 6] {
      switch byte {
      case 0x30...0x39: unit = unit << 4 | UInt32(byte - 0x30)
      case 0x41...0x46: unit = unit << 4 | UInt32(byte - 0x41 + 10)
      case 0x61...0x66: unit = unit << 4 | UInt32(byte - 0x61 + 10)
      default: return nil
      }
    }
    return unit
  }
}
