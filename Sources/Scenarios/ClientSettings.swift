// What reads the streams: the client stack, its parser and decoder, its limits, and what it does when a stream breaks.

package import Primitives

package enum Stack: String, Sendable, CaseIterable {
  case curl, raw, urlsession, eventsource
  case bytesLines = "bytes-lines"
  case liveMonitor = "live-monitor"

  /// Over Foundation's URLSession.
  package var isURLSession: Bool { self != .curl && self != .raw }
}

package enum Fidelity: String, Sendable, CaseIterable { case strict, faithful }

package enum Parser: String, Sendable, CaseIterable {
  case whatwg
  case dataOnly = "data-only"
  case eventsource
  case eventsourceDataOnly = "eventsource-data-only"
  case lines, ndjson, custom
}

package enum Decoder: String, Sendable, CaseIterable { case simdjson, foundation, scan, none }

package enum Connections: String, Sendable, CaseIterable { case reuse, fresh }

/// What the client does with the text.
package enum Consumer: Sendable, Equatable {
  case discard, accumulate, coalesce
  case accumulateString
  /// Takes this long for each event.
  case slow(Nanoseconds)
  /// Test only: keeps so many bytes a token in one of `oneIn` sessions for ever.
  case leak(bytes: Int, oneIn: Int)
}

/// The measuring client.
package struct ClientSettings: Sendable, Equatable {
  package var stack: Stack = .curl
  package var fidelity: Fidelity = .strict
  package var parser: Parser = .whatwg
  /// "pr49" with the eventsource modes; nil: release 0.1.7.
  package var parserVariant: String?
  package var custom: CustomFormat?
  package var decoder: Decoder = .simdjson
  package var consumer: Consumer = .discard
  package var connections: Connections = .reuse
  package var timeouts = Timeouts()
  package var limits = Limits()
  package var reconnect = Reconnect()
  package var cancel: Cancel?
  /// libcurl's receive buffer, or the raw stack's read size: 1 KiB to 512 KiB; nil: chosen by the load.
  package var readBuffer: Int?

  package init() {}
}

/// A delimited record format for the parser mode `custom`.
package struct CustomFormat: Sendable, Equatable {
  /// One to eight bytes each.
  package var record: String
  package var field: String
  /// Names of the fields in order: event, id, data, or any other (ignored).
  package var fields: [String]

  package init(record: String, field: String, fields: [String]) {
    self.record = record
    self.field = field
    self.fields = fields
  }
}

package struct Timeouts: Sendable, Equatable {
  /// To a ready connection, TLS included. Default 10 s.
  package var connect: Nanoseconds = .seconds(10)
  /// Request sent → first event. Default 60 s.
  package var firstEvent: Nanoseconds = .seconds(60)
  /// Longest time without a byte. Default 60 s.
  package var idle: Nanoseconds = .seconds(60)
  /// The whole session, reconnects included. Default 300 s; of a WuKongIM run 24 h.
  package var total: Nanoseconds = .seconds(300)

  package init() {}
}

package struct Limits: Sendable, Equatable {
  /// Bytes. Default 16 MiB each.
  package var line = 16 << 20
  package var event = 16 << 20

  package init() {}
}

/// What a session does when its connection ends before its time.
package struct Reconnect: Sendable, Equatable {
  package var policy: Policy = .none
  /// The reconnection time until the server says another. Default 3 s.
  package var retry: Nanoseconds = .seconds(3)
  /// Backoff: delay before try n is base · factor^(n−1), at most cap. Defaults 1 s, 2, 30 s.
  package var base: Nanoseconds = .seconds(1)
  package var factor = 2.0
  package var cap: Nanoseconds = .seconds(30)
  /// Share of the delay that is random: 0 none, 1 all of it. Default 0.5 for backoff, 0 for whatwg.
  package var jitter: Double?
  /// Tries in a row before the session fails; nil: no bound (whatwg), 5 (backoff).
  package var tries: Int?
  /// A connection open this long sets the count of tries back. Default 60 s.
  package var resetAfter: Nanoseconds = .seconds(60)
  /// Longest delay that a server's `retry` or `Retry-After` may ask. Default 300 s.
  package var longest: Nanoseconds = .seconds(300)

  package enum Policy: String, Sendable, CaseIterable { case none, whatwg, backoff, restart }

  package init() {}
}

/// A share of the sessions is given up by the client.
package struct Cancel: Sendable, Equatable {
  /// 0 to 1.
  package var share: Double
  package var after: Point

  package enum Point: Sendable, Equatable {
    case tokens(Int)
    case time(Nanoseconds)
  }

  package init(share: Double, after: Point) {
    self.share = share
    self.after = after
  }
}
