// The 64 pieces that made-up token text is joined from, as one run of bytes with offsets, so that writing a token is
// one copy. `latin` is plain ASCII words; `mixed` has what breaks naive clients: CJK, emoji with joiners, combining
// marks, right-to-left text, line separators, and characters that JSON escapes.

internal import Primitives
internal import Scenarios

struct TextPieces: Sendable {
  /// Bytes of the longest piece.
  static let longest = 32

  /// An upper bound for a piece's bytes over its characters.
  let bytesPerCharacter: Int
  private let bytes: [UInt8]
  /// Where piece i begins; 65 entries.
  private let starts: [UInt16]
  private let characters: [UInt8]

  static func table(_ text: MockText) -> TextPieces { text == .latin ? latin : mixed }

  /// Joins pieces until the text is within two characters of `wanted`, or longer; returns its bytes. Below three
  /// characters a Latin piece is cut, a mixed one stays whole.
  func write(
    characters wanted: Int, _ random: inout SeededRandom, into buffer: UnsafeMutableRawBufferPointer
  ) -> Int {
    var written = 0
    var length = 0
    let limit = min(buffer.count, StreamScript.maximumTextBytes)
    repeat {
      let piece = Int(random.next() >> 58)
      let start = Int(starts[piece])
      let count = Int(starts[piece + 1]) - start
      if written + count > limit { break }
      bytes.withUnsafeBytes { source in
        buffer.baseAddress?.advanced(by: written).copyMemory(
          from: source.baseAddress.unsafelyUnwrapped + start, byteCount: count)
      }
      written += count
      length += Int(characters[piece])
    } while length + 2 < wanted
    return bytesPerCharacter == 1 && wanted < 3 ? min(written, wanted) : written
  }

  private init(_ pieces: [String], bytesPerCharacter: Int) {
    precondition(pieces.count == 64, "a table of text has 64 pieces")
    precondition(pieces.allSatisfy { $0.utf8.count <= Self.longest }, "a piece has at most 32 bytes")
    bytes = pieces.flatMap { Array($0.utf8) }
    starts = pieces.reduce(into: [0]) { $0.append($0[$0.count - 1] + UInt16($1.utf8.count)) }
    characters = pieces.map { UInt8($0.count) }
    self.bytesPerCharacter = bytesPerCharacter
  }

  private static let latin = TextPieces(
    [
      " the", " sea", " old", " lamp", " tide", " keep", " stone", " night", " storm", " light", " wave",
      " ship",
      " bell", " rock", " wind", " fog", " salt", " glass", " stair", " tower", " coast", " gull", " rope",
      " sail",
      " mast", " oil", " wick", " brass", " lens", " beam", " dark", " star", " moon", " harbor", " anchor",
      " keeper",
      " door", " key", " book", " ink", " log", " watch", " hour", " dawn", " dusk", " rain", " cloud",
      " shore",
      " sand", " shell", " reef", " crew", " deck", " helm", " bow", " stern", " cabin", " letter", " voice",
      " song",
      " and", " was", " from", ", then",
    ], bytesPerCharacter: 1)

  private static let mixed = TextPieces(
    [
      " the", " sea", " light", " tower", " storm", " keeper", "灯台", "海", "夜明け", "的", "故事", "塔樓",
      "등대", "바다", " маяк", " море", " φάρος", " θάλασσα", " מגדלור", " منارة", " प्रकाश", " ทะเล", " đèn",
      " für",
      "🌊", "🗼", "👩‍🚀", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇯🇵", "❤️", "e\u{301}", "n\u{303}o", "a\u{30A}", "o\u{328}\u{301}",
      " naïve", " café", "\n", "\n\n", "\t", "\"", " \"quoted\"", "\\", "\\n", "/", " </b>", " &amp;",
      "\u{2028}", "\u{2029}", "\u{A0}", "\u{200B}", "\u{FEFF}", "\u{7F}", "\u{1}", "\r\n", " data: ", "{",
      "}", ":",
      "𝒳", "𐍈", "😀", " [DONE]",
    ], bytesPerCharacter: 32)
}
