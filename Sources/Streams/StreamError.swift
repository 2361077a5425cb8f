// Why a stream cannot be read on.

/// A limit that a stream has passed. After it the parser takes nothing more until it is reset.
@usableFromInline
package enum StreamError: Error, Equatable, Sendable {
  /// One line (or NDJSON line, or custom record) is longer than `limit` bytes. `atByte` is the offset in the stream of the first
  /// byte beyond it; it does not depend on how the bytes were cut.
  case lineTooLong(limit: Int, atByte: Int)
  /// The data of one event, or what a mode must hold until it can see an event's end, is more than `limit` bytes. `atByte` is the
  /// offset of the line that would pass it.
  case eventTooLarge(limit: Int, atByte: Int)
  /// Bytes came after an error.
  case alreadyFailed
}

extension StreamError: CustomStringConvertible {
  @usableFromInline package var description: String {
    switch self {
    case .lineTooLong(let limit, let at):
      "a line is longer than \(limit) bytes (at byte \(at)); raise client.limits.line (--line-limit) if that is expected"
    case .eventTooLarge(let limit, let at):
      "an event is larger than \(limit) bytes (at byte \(at)); raise client.limits.event (--event-limit) if that is expected"
    case .alreadyFailed: "the stream has failed already"
    }
  }
}
