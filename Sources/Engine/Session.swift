// One session while it is live: what was received, what is awaited, what is known of its end. A plain value in the
// worker's table; all instants are absolute nanoseconds of the monotonic clock, −1 where they have not come.

import Primitives
import Recording
import Scenarios
import Streams
import Transports

/// Where a session stands.
enum SessionPhase: UInt8 {
  case free
  /// A request is on its way; no head yet.
  case requesting
  /// The body comes.
  case streaming
  /// The end marker (or the end that the scenario names) was seen; the transfer may end by itself.
  case finished
  /// Between two connections.
  case waiting
  /// To be closed at the next safe point; its outcome is decided.
  case closing
}

struct Session: ~Copyable {
  var phase = SessionPhase.free
  var isCounted = true
  var isMarked = false
  var sawError = false
  var sawFinishReason = false
  /// An event carried content that could not be decoded.
  var isUndecodable = false
  var streamFailed: SessionErrorKind?
  var isStopping = false
  var isCancelled = false
  var isPaused = false

  var index: Int64 = 0
  var scheduled: Int64 = -1
  var requestStart: Int64 = -1
  /// Of the first connection.
  var requestSent: Int64 = -1
  var connectionStart: Int64 = -1
  var connectionSent: Int64 = -1
  var connectionOpened: Int64 = -1
  var firstByte: Int64 = -1
  var connectionFirstByte: Int64 = -1
  var firstEvent: Int64 = -1
  var firstToken: Int64 = -1
  var firstOutput: Int64 = -1
  var lastEvent: Int64 = -1
  var lastToken: Int64 = -1
  var lastStamp: Int64 = -1
  var lastActivity: Int64 = -1
  var markedAt: Int64 = -1
  var cancelAt: Int64 = -1
  var cancelTokens: Int64 = -1
  var cancelledAt: Int64 = -1
  var resumeAt: Int64 = -1
  var retryAt: Int64 = -1

  var connect: Int64 = -1
  var tls: Int64 = -1
  var maxGap: Int64 = -1
  var stalls: Int32 = 0
  var status: Int32 = 0
  var connections: Int32 = 0
  var tries: Int32 = 0
  var reconnects: Int32 = 0
  var disconnects: Int32 = 0
  var maxTokens: Int32 = -1

  var events: Int64 = 0
  var connectionEvents: Int64 = 0
  var tokenEvents: Int64 = 0
  var usageTokens: Int64 = -1
  var bytes: Int64 = 0
  var reads: Int64 = 0
  /// The read that is being counted: the worker's turn in which it came, its bytes and its tokens so far.
  var readTurn: UInt64 = 0
  var readBytes: Int64 = 0
  var readTokens: Int64 = 0
  var largestBurst: Int64 = 0
  var tokensAfterCancel: Int64 = 0
  var restartedTokens: Int64 = 0
  /// `tokenEvents` at the last restart.
  var restartedBefore: Int64 = 0
  /// Server-sent reconnection time in ms; −1 until one came. It outlives connections.
  var retry: Int64 = -1

  var parser: StreamParser
  var extractor: TokenExtractor
  var ledger: Ledger
  /// Of ids such as "stream-7:41": what stands before the number.
  var numberPrefix: UInt64 = 0
  /// The disconnection that is being recovered from.
  var recovery: RecoveryState?
  /// The task of the EventSource client that the connection stands for.
  var task: EventSourceClient?
  /// What the consumer keeps, and an error body's beginning.
  var kept: KeptText?
  var errorBody: [UInt8] = []
  var contentType = ""
  var contentTypeIsWrong = false
  var retryAfter: String?
  /// Where redirects led: the next connection of the session begins there.
  var movedTo: String?

  init(_ settings: SessionSettings) {
    parser = StreamParser(settings.parser)
    extractor = TokenExtractor(api: settings.api, decoder: settings.decoder)
    ledger = Ledger(first: settings.firstNumber)
  }

  /// From where this session's latencies count: the first byte of its first request, or where the stack cannot see
  /// that, the hand-over to the transport.
  var latencyStart: Int64 { requestSent >= 0 ? requestSent : requestStart }

  /// A free place takes its next session.
  mutating func prepare(_ settings: SessionSettings, _ start: SessionStart, origin: Int64, isCounted: Bool) {
    index = start.index
    scheduled = origin + start.at
    maxTokens = start.maxTokens
    self.isCounted = isCounted
    isMarked = false
    sawError = false
    sawFinishReason = false
    isUndecodable = false
    streamFailed = nil
    isStopping = false
    isCancelled = false
    isPaused = false
    requestStart = -1
    requestSent = -1
    connectionOpened = -1
    firstByte = -1
    firstEvent = -1
    firstToken = -1
    firstOutput = -1
    lastEvent = -1
    lastToken = -1
    lastStamp = -1
    markedAt = -1
    cancelAt = -1
    cancelTokens = -1
    cancelledAt = -1
    resumeAt = -1
    retryAt = -1
    connect = -1
    tls = -1
    maxGap = -1
    stalls = 0
    status = 0
    connections = 0
    tries = 0
    reconnects = 0
    disconnects = 0
    events = 0
    tokenEvents = 0
    usageTokens = -1
    bytes = 0
    reads = 0
    readTurn = 0
    readBytes = 0
    readTokens = 0
    largestBurst = 0
    tokensAfterCancel = 0
    restartedTokens = 0
    restartedBefore = 0
    retry = -1
    parser.reset(keepingLastEventID: false)
    extractor = TokenExtractor(api: settings.api, decoder: settings.decoder)
    ledger = Ledger(first: settings.firstNumber)
    numberPrefix = 0
    recovery = nil
    movedTo = nil
    task = nil
    kept = settings.keepsText ? KeptText() : nil
  }

  /// A new connection of the same session: the parser starts anew, the last event id stays.
  mutating func beginConnection(at now: Int64) {
    if requestStart < 0 { requestStart = now }
    phase = .requesting
    connections += 1
    connectionStart = now
    connectionSent = -1
    connectionOpened = -1
    connectionFirstByte = -1
    connectionEvents = 0
    lastActivity = now
    status = 0
    retryAfter = nil
    contentTypeIsWrong = false
    if !contentType.isEmpty { contentType = "" }
    if !errorBody.isEmpty { errorBody = [] }
    sawFinishReason = false
    sawError = false
    isMarked = false
    retryAt = -1
    resumeAt = -1
    isPaused = false
    if connections > 1 { parser.reset(keepingLastEventID: true) }
  }

  /// The session is over: what it held is let go, so that an idle place costs no more than its own size.
  mutating func release(_ settings: SessionSettings) {
    phase = .free
    parser.reset(keepingLastEventID: false)
    ledger = Ledger(first: settings.firstNumber)
    recovery = nil
    task = nil
    kept = nil
    errorBody = []
    contentType = ""
    retryAfter = nil
    movedTo = nil
  }
}

extension SessionSettings {
  /// The pipeline of the tutorials gives up at the first line that is not the JSON it expects.
  var failsOnUndecodable: Bool { faithful && parser.mode == .lines && decoder != .none && isLLM }

  /// The number that a whole stream begins with; nil where the first seen counts.
  var firstNumber: Int64? { usesMock && verify == nil ? 1 : verify?.first }

  package var hasLedger: Bool { usesMock || verify != nil }

  var keepsText: Bool {
    switch consumer {
    case .accumulate, .accumulateString, .coalesce: true
    default: false
    }
  }
}

/// A disconnection from its detection to the first new event.
final class RecoveryState {
  var record = DisconnectRecord()
  var attempts: Int32 = 0
  var attemptStart: Int64 = -1

  init() {}
}
