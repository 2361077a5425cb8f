// What the mock sends for one session: how many tokens, when each is due, and its text. A pure function of the mock's
// settings, its seed, the session and the request's max_tokens; the ledger of a run asks the same questions. Knows no
// API, no chunk and no clock.

package import Primitives
package import Scenarios

/// The stream of one session, as it would be without faults.
///
/// Tokens count from 0. `tokensPerEvent` of them share one event (the last event may hold fewer), and `interval` is the
/// time between two such events.
package struct StreamScript: Sendable {
  /// The longest text of one token; sizes beyond it are cut.
  package static let maximumTextBytes = 1 << 20

  /// Tokens in all, the reasoning ones first: 0 to 10,000,000.
  package let tokens: Int
  /// How many of `tokens`, at the front, are reasoning.
  package let reasoningTokens: Int
  /// Whether `max_tokens` ended the stream before its own length: the finish reason is then `length`.
  package let isCutShort: Bool
  /// Request received → first token due.
  package let firstDelay: Nanoseconds
  /// Events that carry tokens.
  package let events: Int

  private let tokensPerEvent: Int
  private let interval: Distribution
  private let constantGap: Nanoseconds?
  private let size: Distribution
  private let constantSize: Int?
  private let pieces: TextPieces
  private let gapSeed: UInt64
  private let textSeed: UInt64

  /// - Parameter maxTokens: what the request asked for; bounds the tokens, reasoning included.
  package init(settings: MockSettings, seed: UInt64, session: Int, maxTokens: Int? = nil) {
    let index = UInt64(bitPattern: Int64(session))
    var lengths = SeededRandom(seed: seed, purpose: "stream tokens", index: index)
    let reasoning = min(max(0, settings.reasoningTokens), 10_000_000)
    let visible = settings.tokens.count(&lengths, index: session, in: 0...(10_000_000 - reasoning))
    let limit = max(0, maxTokens ?? .max)
    tokens = min(reasoning + visible, limit)
    reasoningTokens = min(reasoning, tokens)
    isCutShort = tokens < reasoning + visible
    tokensPerEvent = max(1, settings.tokensPerEvent)
    events = (tokens + tokensPerEvent - 1) / tokensPerEvent

    var first = SeededRandom(seed: seed, purpose: "stream first token", index: index)
    firstDelay = settings.firstToken.time(&first, index: session)
    interval = settings.interval
    constantGap = settings.interval.constantValue.map { Nanoseconds(clamping: $0) }
    size = settings.tokenSize
    pieces = TextPieces.table(settings.text)
    var gaps = SeededRandom(seed: seed, purpose: "stream gaps", index: index)
    gapSeed = gaps.next()
    var texts = SeededRandom(seed: seed, purpose: "stream text", index: index)
    textSeed = texts.next()
    constantSize =
      settings.tokenSize.constantValue == nil
      ? nil : settings.tokenSize.count(&texts, index: 0, in: 1...Self.maximumTextBytes)
  }

  /// The tokens that event `event` (from 0) carries.
  package func tokens(ofEvent event: Int) -> Range<Int> {
    event * tokensPerEvent..<min(tokens, (event + 1) * tokensPerEvent)
  }

  /// Event `event − 1` due → event `event` due; for event 0 the first delay.
  package func gap(before event: Int) -> Nanoseconds {
    if event == 0 { return firstDelay }
    if let constantGap { return constantGap }
    var random = SeededRandom(seed: gapSeed &+ UInt64(event))
    return interval.time(&random, index: event - 1)
  }

  /// Bytes that a buffer for `writeText` must have, so that no text is cut by its end.
  package var textCapacity: Int {
    guard let constantSize else { return Self.maximumTextBytes + TextPieces.longest }
    return min(Self.maximumTextBytes, constantSize * pieces.bytesPerCharacter) + TextPieces.longest
  }

  /// Writes the UTF-8 text of `token` (from 0), not escaped; returns its length in bytes.
  ///
  /// - Parameter buffer: at least `textCapacity` bytes.
  package func writeText(of token: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var random = SeededRandom(seed: textSeed &+ UInt64(token))
    let wanted = constantSize ?? size.count(&random, index: token, in: 1...Self.maximumTextBytes)
    return pieces.write(characters: wanted, &random, into: buffer)
  }

  /// The text of `token`, for tests and checks off the hot path.
  package func text(of token: Int) -> String {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: textCapacity, alignment: 1)
    defer { buffer.deallocate() }
    let count = writeText(of: token, into: buffer)
    return String(decoding: buffer[..<count], as: UTF8.self)
  }
}
