// The bytes of one event with gaps for what changes from event to event: number, text, checksum, time. Made once for
// an API, a model and a shape; filling it in is a row of copies.

/// What a gap holds. The raw value of each is its name in a template's text, between « and ».
enum TemplateGap: String, CaseIterable {
  /// 12 hexadecimal digits that stand for the response.
  case id
  /// The text of the event, escaped for a JSON string.
  case text
  /// The text as it is: it is JSON itself.
  case json
  case number = "n"
  case checksum = "crc"
  /// The send time, nanoseconds of the monotonic clock, in 16 digits or more.
  case stamp = "t"
  case promptTokens = "prompt"
  case outputTokens = "output"
  case totalTokens = "total"
  case reasoningTokens = "reasoning"
  case finish
  /// All visible text, all reasoning, all arguments of the stream, escaped.
  case wholeText = "whole_text"
  case wholeReasoning = "whole_reasoning"
  case wholeArguments = "whole_arguments"
}

/// What goes into the gaps of one event.
struct EventFill {
  var id: UInt64 = 0
  var text: UnsafePointer<UInt8>
  var textCount = 0
  /// Whether the text may hold bytes that JSON escapes.
  var needsEscape = false
  /// Whether U+2028 and U+2029 are escaped too.
  var escapesSeparators = false
  var number = 0
  var checksum: UInt32 = 0
  var stamp: Int64 = 0
  var promptTokens = 0
  var outputTokens = 0
  var reasoningTokens = 0
  var finish: StaticString = "stop"

  init(text: UnsafePointer<UInt8>) { self.text = text }
}

/// Plain memory, never freed: templates are made for a bounded number of models and live as long as the mock.
struct EventTemplate {
  struct Piece {
    var start: Int32
    var count: Int32
    /// Raw index of the gap after these bytes; −1 after the last.
    var gap: Int32
  }

  let bytes: UnsafePointer<UInt8>
  let pieces: UnsafePointer<Piece>
  let pieceCount: Int
  /// Bytes without the gaps.
  let fixedCount: Int
  /// Whether a gap asks for the whole text of the stream.
  let needsWhole: Bool

  /// Room that gaps other than text take at most.
  static let gapRoom = 512

  private static let gaps = TemplateGap.allCases

  /// - Parameter text: with gaps written `«name»`; an unknown name is a fault of the caller.
  init(_ text: String) {
    var bytes: [UInt8] = []
    var pieces: [Piece] = []
    var start = 0
    var rest = text[...]
    var needsWhole = false
    while let open = rest.firstIndex(of: "«") {
      guard let close = rest[open...].firstIndex(of: "»") else {
        preconditionFailure("a gap is not closed: \(text)")
      }
      bytes.append(contentsOf: rest[..<open].utf8)
      let name = String(rest[rest.index(after: open)..<close])
      guard let gap = Self.gaps.firstIndex(where: { $0.rawValue == name }) else {
        preconditionFailure("no gap is named \(name)")
      }
      if name.hasPrefix("whole") { needsWhole = true }
      pieces.append(Piece(start: Int32(start), count: Int32(bytes.count - start), gap: Int32(gap)))
      start = bytes.count
      rest = rest[rest.index(after: close)...]
    }
    bytes.append(contentsOf: rest.utf8)
    pieces.append(Piece(start: Int32(start), count: Int32(bytes.count - start), gap: -1))
    let keptBytes = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
    keptBytes.initialize(from: bytes, count: bytes.count)
    let keptPieces = UnsafeMutablePointer<Piece>.allocate(capacity: pieces.count)
    keptPieces.initialize(from: pieces, count: pieces.count)
    self.bytes = UnsafePointer(keptBytes)
    self.pieces = UnsafePointer(keptPieces)
    pieceCount = pieces.count
    fixedCount = bytes.count
    self.needsWhole = needsWhole
  }

  /// Writes the event. The room needed is `fixedCount + gapRoom` and six bytes for each byte of text.
  @inline(__always) func write(_ fill: borrowing EventFill, whole: WholeText?, to cursor: inout ByteCursor) {
    for index in 0..<pieceCount {
      let piece = pieces[index]
      cursor.put(bytes + Int(piece.start), Int(piece.count))
      // The order of `TemplateGap`.
      switch piece.gap {
      case -1: return
      case 0: cursor.putHex(fill.id, digits: 12)
      case 1:
        if fill.needsEscape {
          cursor.putEscaped(fill.text, fill.textCount, separators: fill.escapesSeparators)
        } else {
          cursor.put(fill.text, fill.textCount)
        }
      case 2: cursor.put(fill.text, fill.textCount)
      case 3: cursor.putDecimal(UInt64(fill.number))
      case 4: cursor.putHex(UInt64(fill.checksum), digits: 8)
      case 5: cursor.putDecimal(UInt64(fill.stamp), width: fill.stamp < 10_000_000_000_000_000 ? 16 : 19)
      default: writeRare(piece.gap, fill, whole, to: &cursor)
      }
    }
  }

  @inline(never) private func writeRare(
    _ gap: Int32, _ fill: borrowing EventFill, _ whole: WholeText?, to cursor: inout ByteCursor
  ) {
    switch Self.gaps[Int(gap)] {
    case .promptTokens: cursor.putDecimal(UInt64(fill.promptTokens))
    case .outputTokens: cursor.putDecimal(UInt64(fill.outputTokens))
    case .totalTokens: cursor.putDecimal(UInt64(fill.promptTokens + fill.outputTokens))
    case .reasoningTokens: cursor.putDecimal(UInt64(fill.reasoningTokens))
    case .finish: cursor.put(fill.finish)
    case .wholeText: cursor.put(whole?.text ?? [])
    case .wholeReasoning: cursor.put(whole?.reasoning ?? [])
    case .wholeArguments: cursor.put(whole?.arguments ?? [])
    default: break
    }
  }
}

/// All text of a stream, escaped for JSON strings, for the events that repeat it.
struct WholeText {
  var text: [UInt8] = []
  var reasoning: [UInt8] = []
  var arguments: [UInt8] = []

  var count: Int { text.count + reasoning.count + arguments.count }
}
