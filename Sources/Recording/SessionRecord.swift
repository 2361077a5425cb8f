// What is known of one session when it is over: the row of `sessions.csv`. Instants are relative to the run's start.

/// How a session ended.
package enum SessionOutcome: UInt8, Sendable, CaseIterable {
  case completed, failed, cancelled, dropped

  package var word: String {
    switch self {
    case .completed: "completed"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .dropped: "dropped"
    }
  }
}

/// Why a session failed. The words are the contract's and stable.
package enum SessionErrorKind: UInt8, Sendable, CaseIterable {
  case dns, refused, timeoutConnect, tls, reset, protocolError, http3xx, redirectLoop, http4xx, http429, http5xx
  case contentType, unsupportedEncoding, timeoutFirstEvent, timeoutIdle, timeoutTotal, truncated, streamError, parse
  case tooLarge, interrupted

  package var word: String {
    switch self {
    case .dns: "dns"
    case .refused: "refused"
    case .timeoutConnect: "timeout_connect"
    case .tls: "tls"
    case .reset: "reset"
    case .protocolError: "protocol"
    case .http3xx: "http_3xx"
    case .redirectLoop: "redirect_loop"
    case .http4xx: "http_4xx"
    case .http429: "http_429"
    case .http5xx: "http_5xx"
    case .contentType: "content_type"
    case .unsupportedEncoding: "unsupported_encoding"
    case .timeoutFirstEvent: "timeout_first_event"
    case .timeoutIdle: "timeout_idle"
    case .timeoutTotal: "timeout_total"
    case .truncated: "truncated"
    case .streamError: "stream_error"
    case .parse: "parse"
    case .tooLarge: "too_large"
    case .interrupted: "interrupted"
    }
  }

  /// Whether the session never had a connection: a run in which all sessions end so exits with 69.
  package var isConnectFailure: Bool {
    switch self {
    case .dns, .refused, .timeoutConnect, .tls: true
    default: false
    }
  }
}

/// Where the number of output tokens comes from.
package enum TokenSource: UInt8, Sendable { case none, usage, events }

/// One finished session. Every instant is nanoseconds after the run's start; −1 where it never came.
package struct SessionRecord: Sendable {
  package var variant: Int32 = 0
  package var repetition: Int32 = 0
  package var session: Int64 = 0
  package var worker: Int32 = 0
  package var outcome: SessionOutcome = .completed
  /// Only with outcome `.failed`.
  package var error: SessionErrorKind?
  /// Counted in the figures; false for warm-up.
  package var isCounted = true

  package var scheduledStart: Int64 = -1
  package var requestStart: Int64 = -1
  package var requestSent: Int64 = -1
  package var firstByte: Int64 = -1
  package var firstEvent: Int64 = -1
  package var firstToken: Int64 = -1
  package var firstOutput: Int64 = -1
  package var lastToken: Int64 = -1
  /// The end marker of a complete session, else the instant of its failure or cancellation.
  package var end: Int64 = -1

  /// Lengths in nanoseconds; −1 where the connection was reused or there is no TLS.
  package var connect: Int64 = -1
  package var tls: Int64 = -1
  package var maxGap: Int64 = -1
  package var stalls: Int32 = 0

  package var httpStatus: Int32 = 0
  package var events: Int64 = 0
  package var tokenEvents: Int64 = 0
  package var tokens: Int64 = 0
  package var tokenSource: TokenSource = .none
  package var bytes: Int64 = 0
  package var reads: Int64 = 0
  /// The largest number of token-carrying events that came in one read.
  package var largestBurst: Int64 = 0

  package var reconnects: Int32 = 0
  package var disconnects: Int32 = 0
  package var expected: Int64 = -1
  /// Where the numbering begins, and the highest event number received.
  package var lowest: Int64 = 1
  package var highest: Int64 = 0
  package var delivered: Int64 = 0
  package var lost: Int64 = 0
  package var undelivered: Int64 = 0
  package var duplicated: Int64 = 0
  package var reordered: Int64 = 0
  package var corrupted: Int64 = 0
  package var restartedTokens: Int64 = 0
  /// Token-carrying events counted after the session was cancelled; and the time until its socket was closed.
  package var tokensAfterCancel: Int64 = 0
  package var cancelToClose: Int64 = -1

  /// Whether it met every limit of the scenario's `slo`; nil where there is none.
  package var metSLO: Bool?
  package var isFakeStreaming = false

  package init() {}
}
