// One session, watched: every change of state and every event is told as it happens. In: the settings of a variant and
// where to end. It goes through the transports, parsers and rules of a run; it records nothing and knows no output.

import EventLoops
import Recording
package import Primitives
internal import Scenarios
package import Streams
package import Transports

/// A session on a loop of its own, on the caller's thread.
package final class ListenSession: TransferReceiver {
  package enum Change: Equatable, Sendable {
    /// Counted from 1. `lastEventID` is what the header holds; empty: no header.
    case connecting(attempt: Int, lastEventID: String)
    case open(ResponseHead)
    /// `reason`: an error kind of a run's sessions, `end` for a finished body, `cut` for one that was not.
    case waiting(delay: Nanoseconds, reason: String, detail: String, status: Int)
    /// `reason`: as of `waiting`, or `http_204`, `end_marker`, `max_events`, `duration`, `interrupted`.
    case closed(reason: String, detail: String, status: Int)
  }

  /// Who is told, with the time since the session's start. An event's slices are valid during the call.
  package struct Listener {
    package var changed: (Change, Nanoseconds) -> Void = { _, _ in }
    package var received: (EventSlices, Nanoseconds) -> Void = { _, _ in }
    /// A request has gone out.
    package var sent: (Nanoseconds) -> Void = { _ in }
    /// A read of a stream's body, decoded, before its events.
    package var read: (UnsafeRawBufferPointer, Nanoseconds) -> Void = { _, _ in }

    package init() {}
  }

  /// How long the body of an answer that is no stream is waited for, and how much of it is kept.
  private static let errorBodyTime = Nanoseconds.seconds(1)
  private static let errorBodyBytes = 512
  /// A signal that comes between its check and the wait is seen after this at the latest.
  private static let longestWait = Nanoseconds.milliseconds(200)

  package let origin = Instant.now()
  /// Whether any connection was an open stream.
  package private(set) var hasOpened = false
  package private(set) var events = 0

  private let settings: SessionSettings
  private let listener: Listener
  private let maxEvents: Int?
  private let endsAtMarker: Bool
  private let endsAt: Instant?
  private let queue: EventQueue
  private var transport: (any Transport)!
  private var parser: StreamParser
  private var random: SeededRandom

  private var isOver = false
  private var isActive = false
  private var head = ResponseHead()
  private var isStream = false
  private var openedAt: Instant?
  private var connectionEvents = 0
  private var hasBody = false
  private var errorBody: [UInt8] = []
  private var streamProblem: String?
  private var sawMarker = false
  private var attempts = 0
  private var tries = 0
  private var serverRetry: Int64 = -1
  private var movedTo: String?
  private var retryAt: Instant?
  private var errorBodyEnds: Instant?
  private var lastActivity: Instant
  private var ended: (end: TransferEnd, at: Instant)?

  /// - Parameters:
  ///   - lastEventID: sent with the first request already, as an application may.
  ///   - maxEvents: the session is closed with this event.
  ///   - duration: the session is closed when this has passed.
  ///   - endsAtMarker: whether the end marker of an LLM API closes the session of a POST, whatever the body goes on with.
  package init(
    _ settings: SessionSettings, lastEventID: String = "", maxEvents: Int? = nil, duration: Nanoseconds? = nil,
    endsAtMarker: Bool = true, listener: Listener
  ) throws {
    self.settings = settings
    self.listener = listener
    self.maxEvents = maxEvents
    self.endsAtMarker = endsAtMarker
    endsAt = duration.map { Instant.now() + $0 }
    lastActivity = .now()
    queue = try EventQueue(capacity: 16)
    parser = StreamParser(settings.parser)
    // Of its own each time: clients that lost one server together must not come back together.
    random = SeededRandom(seed: .random(in: .min ... .max), purpose: "listen")
    var id = lastEventID
    id.withUTF8 { parser.setLastEventID(UnsafeRawBufferPointer($0)) }
    if let makeTransport = settings.transportFactory {
      transport = try makeTransport(settings.endpoint, 1, queue, self)
    } else if settings.stack == .raw {
      transport = RawTransport(endpoint: settings.endpoint, places: 1, queue: queue, receiver: self, now: .now())
    } else {
      transport = CurlTransport(endpoint: settings.endpoint, places: 1, queue: queue, receiver: self, now: .now())
    }
  }

  /// Runs until the session is closed; `isInterrupted` is asked at every turn.
  package func run(isInterrupted: () -> Bool = { false }) throws {
    EventQueue.useExactTimers()
    connect(.now())
    while !isOver {
      let ready = try queue.wait(until: nextDeadline())
      for readiness in ready { transport.handle(readiness) }
      let now = Instant.now()
      transport.expire(now)
      settle(now)
      guard !isOver else { break }
      if isInterrupted() {
        close(reason: "interrupted", now)
      } else if let endsAt, now >= endsAt {
        close(reason: "duration", now)
      } else if let maxEvents, events >= maxEvents {
        close(reason: "max_events", now)
      } else if let retryAt, now >= retryAt {
        connect(now)
      }
    }
    transport.shutDown()
  }

  private func nextDeadline() -> Instant {
    var deadline = Instant.now() + Self.longestWait
    if ended != nil { return .now() }
    for other in [endsAt, retryAt, errorBodyEnds, transport.nextDeadline()] {
      if let other, other < deadline { deadline = other }
    }
    return deadline
  }

  // MARK: Connections

  private func connect(_ now: Instant) {
    retryAt = nil
    errorBodyEnds = nil
    head = ResponseHead()
    isStream = false
    openedAt = nil
    connectionEvents = 0
    hasBody = false
    errorBody = []
    sawMarker = false
    lastActivity = now
    if attempts > 0 { parser.reset(keepingLastEventID: true) }
    attempts += 1
    var request = TransferRequest()
    let id = String(decoding: parser.lastEventID, as: UTF8.self)
    if !id.isEmpty { request.headers.append((name: "Last-Event-ID", value: id)) }
    request.url = movedTo
    listener.changed(.connecting(attempt: attempts, lastEventID: id), now - origin)
    isActive = true
    transport.start(0, request, at: now)
  }

  /// Acts on what the transport has reported and on the session's own limits.
  private func settle(_ now: Instant) {
    if ended == nil, isActive {
      if let errorBodyEnds, now >= errorBodyEnds {
        transport.cancel(0)
        ended = (.cut, now)
      } else if streamProblem != nil || sawMarker {
        transport.cancel(0)
        ended = (.complete, now)
      } else if let timeout = passedTimeout(now) {
        transport.cancel(0)
        connectionEnded(.cut, now, timeout: timeout)
        return
      }
    }
    guard let (end, at) = ended else { return }
    ended = nil
    connectionEnded(end, at, timeout: nil)
  }

  private func passedTimeout(_ now: Instant) -> SessionErrorKind? {
    if events == 0 && connectionEvents == 0 && (now - lastActivity).value >= settings.firstEventTimeout {
      return .timeoutFirstEvent
    }
    return (now - lastActivity).value >= settings.idleTimeout ? .timeoutIdle : nil
  }

  private func connectionEnded(_ end: TransferEnd, _ at: Instant, timeout: SessionErrorKind?) {
    isActive = false
    if isStream && streamProblem == nil && !sawMarker {
      var sink = ListenSink(session: self, now: at)
      do { try parser.finish(into: &sink) } catch { streamProblem = error.description }
    }
    if let problem = streamProblem {
      close(reason: SessionErrorKind.tooLarge.word, detail: problem, at)
      return
    }
    if let maxEvents, events >= maxEvents {
      close(reason: "max_events", at)
      return
    }
    if let retry = parser.retry { serverRetry = retry }
    tries = settings.triesBefore(tries, openFor: openedAt.map { (at - $0).value } ?? -1, events: Int64(connectionEvents))
    let facts = facts(end, timeout: timeout)
    switch settings.nextStep(facts) {
    case .complete:
      close(reason: sawMarker ? "end_marker" : head.status == 204 ? "http_204" : "end", at)
    case .fail(let kind, let detail): close(reason: kind.word, detail: detail, at)
    case .retry(let delay, _):
      tries += 1
      retryAt = at + Nanoseconds(delay)
      var detail = ""
      if case .failed(_, let words) = end { detail = words }
      listener.changed(
        .waiting(delay: Nanoseconds(delay), reason: settings.reason(facts), detail: detail, status: head.status),
        at - origin)
    }
  }

  private func facts(_ end: TransferEnd, timeout: SessionErrorKind?) -> ConnectionFacts {
    var facts = ConnectionFacts(end: end)
    facts.status = head.status
    facts.isStream = isStream
    facts.hasBody = hasBody
    facts.contentTypeIsWrong = head.status == 200 && !isStream
    facts.contentType = head.contentType
    facts.sawMarker = sawMarker
    facts.timeout = timeout
    facts.retryAfter = head.retryAfter
    if facts.retryAfter != nil { facts.wallSeconds = Int64(StreamSocket.wallMilliseconds() / 1_000) }
    facts.serverRetry = serverRetry
    facts.tries = tries
    facts.errorBody = String(decoding: errorBody, as: UTF8.self)
    facts.random = random.uniform()
    return facts
  }

  private func close(reason: String, detail: String = "", _ at: Instant) {
    if isActive { transport.cancel(0) }
    isActive = false
    isOver = true
    listener.changed(.closed(reason: reason, detail: detail, status: head.status), at - origin)
  }

  // MARK: What the transport reports

  package func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes) {
    lastActivity = at
    listener.sent(at - origin)
  }

  package func headReceived(_ place: Int, _ head: ResponseHead, at: Instant) {
    self.head = head
    lastActivity = at
    if let url = head.finalURL, settings.remembers(url) { movedTo = url }
    let typeIsRight =
      settings.contentTypes.isEmpty || settings.contentTypes.contains(MediaType.essence(head.contentType))
    if head.status == 200 && typeIsRight {
      isStream = true
      hasOpened = true
      openedAt = at
      listener.changed(.open(head), at - origin)
    } else {
      errorBodyEnds = at + Self.errorBodyTime
    }
  }

  package func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant) {
    lastActivity = at
    hasBody = true
    guard isStream else {
      errorBody.append(contentsOf: bytes.prefix(Self.errorBodyBytes - errorBody.count))
      return
    }
    guard streamProblem == nil, !sawMarker, !isFull else { return }
    listener.read(bytes, at - origin)
    var sink = ListenSink(session: self, now: at)
    do { try parser.feed(bytes, into: &sink) } catch { streamProblem = error.description }
  }

  package func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant) { ended = (end, at) }

  private var isFull: Bool { maxEvents.map { events >= $0 } ?? false }

  fileprivate func take(_ event: EventSlices, at: Instant) {
    // What was parsed in the same read as the last event is not told any more.
    guard !isFull, !sawMarker else { return }
    events += 1
    connectionEvents += 1
    listener.received(event, at - origin)
    if endsAtMarker && settings.endpoint.method != "GET" { sawMarker = EndMarker.isOne(event) }
  }
}

private struct ListenSink: EventSink {
  unowned(unsafe) let session: ListenSession
  let now: Instant

  mutating func receive(_ event: EventSlices) { session.take(event, at: now) }
}

/// The events with which LLM APIs finish the answer to a POST: what comes after must not be asked for again.
private enum EndMarker {
  static func isOne(_ event: EventSlices) -> Bool {
    if event.data.elementsEqual("[DONE]".utf8) { return true }
    return types.contains { event.type.elementsEqual($0.utf8) }
  }

  private static let types = ["message_stop", "response.completed", "response.failed", "response.incomplete"]
}
