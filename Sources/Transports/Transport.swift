// What every transport offers and what it reports: requests out, timestamped bytes in. A transport is owned by one
// worker thread. It knows no events, tokens or sessions, only numbered places for one transfer each.

package import EventLoops
package import Primitives

/// Sends requests and hands on what comes back. A place is a number from 0; it carries one transfer at a time and keeps
/// its connection for the next one where it may be reused.
package protocol Transport: AnyObject {
  /// Begins a transfer. Whatever happens to it is reported, and exactly one `transferEnded` follows unless it is
  /// cancelled.
  func start(_ place: Int, _ request: TransferRequest, at now: Instant)

  /// Ends a transfer and closes its connection at once; nothing more is reported about it.
  func cancel(_ place: Int)

  /// Stops and resumes reading from the socket, so that a slow consumer reaches the server.
  func setPaused(_ place: Int, _ paused: Bool)

  /// Acts on a descriptor that is ready; only tokens that carry this transport's mark come here.
  func handle(_ readiness: Readiness)

  /// When the transport wants `expire` to be called; nil: never.
  func nextDeadline() -> Instant?
  func expire(_ now: Instant)

  /// Closes every connection, idle ones too.
  func shutDown()

  /// The most body bytes that ever waited on our side of the socket for the receiver; 0 where none can wait.
  var peakQueuedBytes: Int { get }

  /// Bytes of its tables for one place; nil where its memory is taken on threads of its own.
  var bytesPerPlace: Int? { get }

  /// Whether arrivals wait on our side of the socket: a silence of any place may then be ours.
  var hasBacklog: Bool { get }

  /// Whether one read of the socket may come as several calls of `bodyReceived` within one call of the transport.
  var splitsReads: Bool { get }
}

extension Transport {
  package var peakQueuedBytes: Int { 0 }
  package var bytesPerPlace: Int? { nil }
  package var hasBacklog: Bool { false }
  package var splitsReads: Bool { false }
}

/// Makes the transport of one worker: endpoint, places, the worker's queue and who is told. For stacks that the engine
/// does not know.
package typealias TransportFactory =
  @Sendable (EndpointAddress, Int, EventQueue, any TransferReceiver) throws -> any Transport

/// Who is told. Called on the worker's thread; must not call `start` or `cancel` from inside (libcurl forbids it).
package protocol TransferReceiver: AnyObject {
  /// The connection is ready and the first byte of the request goes out.
  func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes)
  /// The final response's head has come; interim (1xx) and followed redirects are not reported.
  func headReceived(_ place: Int, _ head: ResponseHead, at: Instant)
  /// Body bytes as one read brought them (or a part of them, where the transport splits reads), transfer coding removed;
  /// valid during the call only.
  func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant)
  func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant)
}

/// How the connection under a request came to be. −1 where it did not happen for this request.
package struct ConnectionTimes: Sendable, Equatable {
  package var isReused = false
  /// From the start of the transfer to a connected socket, name lookup included; where a proxy makes the tunnel, to its
  /// answer to CONNECT.
  package var connect = Nanoseconds(-1)
  /// From there to the end of the TLS handshake.
  package var tls = Nanoseconds(-1)
  /// Whether the handshake took up an earlier session, and was the shorter for it; nil where it cannot be told.
  package var isResumed: Bool?

  package init() {}
}

/// The settings that all requests of a run share.
package struct EndpointAddress: Sendable {
  package var url: String
  /// Several URLs of one server, dealt to the places in turn; empty: `url` alone.
  package var alternatives: [String] = []
  package var method = "GET"
  package var headers: [(name: String, value: String)] = []
  package var body: [UInt8] = []
  package var httpVersion: HTTPChoice = .automatic
  package var caFile: String?
  package var certificateFile: String?
  package var keyFile: String?
  package var verifiesTLS = true
  package var resolve: [String] = []
  package var proxy: String?
  package var unixSocket: String?
  package var connectTimeout = Nanoseconds.seconds(10)
  package var reusesConnections = true
  /// Size of a read in bytes.
  package var readBuffer = 16384
  package var followsRedirects = true
  /// Whether heads say what time it is at the server.
  package var readsClock = false

  package init(url: String) { self.url = url }

  package enum HTTPChoice: Sendable { case automatic, http1, http2 }
}

/// What differs from one request to the next.
package struct TransferRequest: Sendable {
  /// Added to the endpoint's headers, replacing one of the same name.
  package var headers: [(name: String, value: String)] = []
  /// In place of the endpoint's body and URL.
  package var body: [UInt8]?
  package var url: String?

  package init() {}
}

/// The head of a final response, as far as sessions look at it.
package struct ResponseHead: Sendable, Equatable {
  package var status = 0
  /// The whole field value, empty where there is none.
  package var contentType = ""
  package var contentEncoding = ""
  package var retryAfter: String?
  package var location: String?
  /// Where followed redirects led; nil without one.
  package var finalURL: String?
  /// 10, 11, 20.
  package var version = 11
  /// The server's clock, where the endpoint's `readsClock` asks for it and the answer is no cache's.
  package var clock: ServerClock?

  package init() {}

  /// Whether the status sends the client elsewhere (RFC 9110, 15.4; the redirect statuses of the Fetch Standard).
  package var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }
}

/// How a transfer ended.
package enum TransferEnd: Sendable, Equatable {
  /// The body is finished by its own framing (last chunk, full length, or close where that is the framing).
  case complete
  /// The peer closed before the body was finished.
  case cut
  case failed(TransportFailure, detail: String)
}

/// Why a transfer failed.
package enum TransportFailure: Sendable, Equatable {
  case nameLookup, refused, connectTimeout, tls, reset, protocolViolation, redirectLoop, unsupportedEncoding
  /// The transport cannot do what the scenario asks.
  case unsupported
  /// A limit of the client library's own on the time without a byte.
  case idleTimeout
  /// More bytes wait for the consumer than the client holds.
  case overflow
}

/// The places of tokens in an `EventQueue`: 8 bits say whose it is, 24 bits a generation, 32 bits a number.
package enum QueueToken {
  package static let raw: UInt64 = 1 << 56
  package static let curl: UInt64 = 2 << 56

  @inlinable package static func owner(_ token: UInt64) -> UInt64 { token & (0xFF << 56) }
  @inlinable package static func number(_ token: UInt64) -> Int { Int(token & 0xFFFF_FFFF) }
  @inlinable package static func generation(_ token: UInt64) -> UInt32 { UInt32(token >> 32 & 0xFF_FFFF) }
}
