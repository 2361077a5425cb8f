// One fault that the mock injects: what, where in a stream, into which connections and sessions, how often.

package import Primitives

package enum FaultKind: String, Sendable, CaseIterable {
  case fin, rst
  case halfClose = "half_close"
  case stall, drip, cut
  case noLastChunk = "no_last_chunk"
  case length, replay, skip, swap, foreign, corrupt
  case idReset = "id_reset"
  case retry, status, redirect, html
  case jsonError = "json_error"
  case errorObject = "error_object"
  case shortBuffer = "short_buffer"
  case restart
  case slowStart = "slow_start"
  case down
}

package struct Fault: Sendable, Equatable {
  package var kind: FaultKind
  package var at: Point?
  /// Which connection of a session, from 1; nil: any.
  package var connection: Int?
  package var sessions: Sessions = .all
  /// How often in one session; nil: always. Default 1.
  package var times: Int? = 1
  /// Drawn from the seed at each chance; default 1.
  package var probability = 1.0

  // Keys of single kinds.
  /// stall, restart, down: how long; nil for ever.
  package var length: Nanoseconds?
  /// stall: whether comments go on during it.
  package var comments = false
  /// drip: so many bytes at a time, so often.
  package var bytes = 1
  package var every: Nanoseconds = .milliseconds(10)
  package var inside: Inside = .scalar
  /// length: so many bytes more (or fewer) than true.
  package var by = 0
  /// replay, skip: how many events.
  package var count = 1
  /// retry: the text after `retry:`.
  package var value = ""
  /// status: the code, its Retry-After and its body.
  package var code = 503
  package var retryAfter: String?
  package var body: String?
  /// redirect: where to; nil: a loop.
  package var to: String?
  /// short_buffer: events kept for replay.
  package var keep = 0
  /// slow_start: connections accepted per second.
  package var perSecond = 100.0

  package enum Point: Sendable, Equatable {
    /// Before this event of the session, counted from 1 over all its connections.
    case event(Int)
    /// Before this byte of a response's body.
    case byte(Int)
    /// After the response began.
    case time(Nanoseconds)
    /// After the mock started.
    case runTime(Nanoseconds)
  }

  package enum Sessions: Sendable, Equatable {
    case all
    case share(Double)
    case list([Int])
  }

  package enum Inside: String, Sendable, CaseIterable {
    case scalar, crlf, field
    case chunkHeader = "chunk_header"
    case blankLine = "blank_line"
  }

  package init(kind: FaultKind) { self.kind = kind }
}
