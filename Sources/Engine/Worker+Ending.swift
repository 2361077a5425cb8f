// The end of connections and sessions: limits that pass, what follows from an end, reconnects, and the session's record
// and figures when it is over.

import EventLoops
import Primitives
import Recording
import Scenarios
import Streams
import Transports

extension Worker {
  /// How long a transfer may go on after its end marker, so that its connection can be reused.
  static let linger: Int64 = 100_000_000

  // MARK: Limits

  /// Sets the session's timer to the earliest of its limits.
  func armTimer(_ place: Int) {
    var due = Int64.max
    let session = sessions + place
    switch session.pointee.phase {
    case .free, .closing: break
    case .waiting: due = session.pointee.retryAt
    case .finished: due = session.pointee.markedAt + Self.linger
    case .requesting, .streaming:
      due = session.pointee.lastActivity + settings.idleTimeout
      if session.pointee.connectionEvents == 0 {
        due = min(due, max(session.pointee.connectionSent, session.pointee.connectionStart) + settings.firstEventTimeout)
      }
      if session.pointee.resumeAt > 0 { due = min(due, session.pointee.resumeAt) }
    }
    if session.pointee.phase != .finished && session.pointee.phase != .free && session.pointee.phase != .closing {
      due = min(due, session.pointee.requestStart + settings.totalTimeout)
      if session.pointee.cancelAt >= 0 && session.pointee.cancelledAt < 0 { due = min(due, session.pointee.cancelAt) }
      if let frame = session.pointee.kept?.nextPublish { due = min(due, frame) }
      if case .duration(let length)? = settings.until { due = min(due, session.pointee.latencyStart + length.value) }
    }
    if due == .max { wheel.cancel(place) } else { wheel.set(place, at: Instant(nanoseconds: due)) }
  }

  /// The session's timer fired: acts on the limit that has passed, if one has, and sets the timer anew.
  func checkLimits(_ place: Int, _ now: Int64) {
    let session = sessions + place
    switch session.pointee.phase {
    case .free, .closing: return
    case .finished:
      if now >= session.pointee.markedAt + Self.linger {
        close(place, .complete, now)
        return
      }
    default:
      if session.pointee.cancelAt >= 0 && now >= session.pointee.cancelAt && session.pointee.cancelledAt < 0 {
        cancelSession(place, now)
        armTimer(place)
        return
      }
      if let frame = session.pointee.kept?.nextPublish, now >= frame { session.pointee.kept?.publish(at: now) }
      if case .duration(let length)? = settings.until, now >= session.pointee.latencyStart + length.value {
        session.pointee.isMarked = true
        session.pointee.markedAt = now
        close(place, .complete, now)
        return
      }
      if now >= session.pointee.requestStart + settings.totalTimeout {
        close(place, .fail(.timeoutTotal, "the session took longer than client.timeouts.total"), now)
        return
      }
      if session.pointee.phase == .waiting {
        if now >= session.pointee.retryAt {
          reconnect(place, now)
          return
        }
      } else if session.pointee.resumeAt > 0 {
        // A slow consumer reads on; what waited meanwhile is no idle time of the server's.
        if now >= session.pointee.resumeAt {
          session.pointee.resumeAt = -1
          session.pointee.lastActivity = now
          if session.pointee.isPaused {
            session.pointee.isPaused = false
            transport.setPaused(place, false)
          }
        }
      } else if let kind = passedTimeout(session, now) {
        timeOut(place, kind, now)
        return
      }
    }
    armTimer(place)
  }

  private func passedTimeout(_ session: UnsafeMutablePointer<Session>, _ now: Int64) -> SessionErrorKind? {
    if session.pointee.connectionEvents == 0,
      now >= max(session.pointee.connectionSent, session.pointee.connectionStart) + settings.firstEventTimeout
    {
      return .timeoutFirstEvent
    }
    guard now >= session.pointee.lastActivity + settings.idleTimeout else { return nil }
    if !transport.hasBacklog { return .timeoutIdle }
    // What the server sent may wait here: it is not silent before that is dealt with.
    session.pointee.lastActivity = now - settings.idleTimeout + Self.linger
    return nil
  }

  private func timeOut(_ place: Int, _ kind: SessionErrorKind, _ now: Int64) {
    var facts = facts(place, .cut, now)
    facts.timeout = kind
    facts.isSilent = false
    close(place, settings.nextStep(facts), now)
  }

  // MARK: The end of a connection

  /// The transfer is over by itself.
  func connectionEnded(_ place: Int, _ end: TransferEnd, _ at: Int64) {
    let session = sessions + place
    guard session.pointee.phase != .free, session.pointee.phase != .closing else { return }
    finishParser(session, at)
    // A last line that is not what it should be has decided the end.
    guard session.pointee.phase != .closing else { return }
    let facts = facts(place, end, at)
    if session.pointee.status == 0, case .failed = end {} else { finishHeadOnly(session) }
    act(on: settings.nextStep(facts), place, at, end: end)
  }

  /// Modes that deliver at the end of the body do so here.
  private func finishParser(_ session: UnsafeMutablePointer<Session>, _ at: Int64) {
    guard session.pointee.phase == .streaming else { return }
    let record = session.pointee.isCounted ? interval : uncounted
    var sink = SessionSink(
      worker: self, session: session, hot: record.hot, cells: record.cells, rules: rules, now: at)
    do { try session.pointee.parser.finish(into: &sink) } catch { session.pointee.streamFailed = .tooLarge }
  }

  private func finishHeadOnly(_ session: UnsafeMutablePointer<Session>) {
    if session.pointee.parser.retry ?? -1 >= 0 { session.pointee.retry = session.pointee.parser.retry ?? -1 }
  }

  private func facts(_ place: Int, _ end: TransferEnd, _ at: Int64) -> ConnectionFacts {
    let session = sessions + place
    var facts = ConnectionFacts(end: end)
    facts.status = Int(session.pointee.status)
    facts.isStream = session.pointee.connectionOpened >= 0
    facts.hasBody = session.pointee.connectionFirstByte >= 0
    facts.contentTypeIsWrong = session.pointee.contentTypeIsWrong
    facts.contentType = session.pointee.contentType
    facts.sawMarker = session.pointee.isMarked
    facts.reachedEnd = session.pointee.isMarked
    facts.sawError = session.pointee.sawError
    facts.sawFinishReason = session.pointee.sawFinishReason
    facts.streamFailed = session.pointee.streamFailed
    facts.retryAfter = session.pointee.retryAfter
    if facts.retryAfter != nil { facts.wallSeconds = Int64(StreamSocket.wallMilliseconds() / 1_000) }
    if let retry = session.pointee.parser.retry { session.pointee.retry = retry }
    facts.serverRetry = session.pointee.retry
    facts.tries = settings.triesBefore(
      Int(session.pointee.tries), openFor: session.pointee.connectionOpened >= 0 ? at - session.pointee.connectionOpened : -1,
      events: session.pointee.connectionEvents)
    facts.errorBody = String(decoding: session.pointee.errorBody, as: UTF8.self)
    facts.random = random.uniform()
    facts.isSilent = endTask(session, end)
    return facts
  }

  /// Does what was decided. The transfer of `place` is over, or has just been cancelled.
  func act(on step: NextStep, _ place: Int, _ at: Int64, end: TransferEnd? = nil) {
    let session = sessions + place
    if session.pointee.isCancelled {
      over(place, .cancelled, nil, at)
      return
    }
    switch step {
    case .complete: over(place, .completed, nil, at)
    case .fail(let kind, let detail):
      noteError(kind, detail)
      if settings.policy != .none && session.pointee.connectionOpened >= 0 && kind != .interrupted {
        lost(place, at, end)
      }
      over(place, .failed, kind, at)
    case .retry(let delay, let restarting): wait(place, delay, restarting: restarting, at, end)
    }
  }

  // MARK: Reconnecting

  /// Notes the loss of a connection that had been open; attempts that fail meanwhile belong to the same loss.
  private func lost(_ place: Int, _ at: Int64, _ end: TransferEnd?) {
    let session = sessions + place
    if session.pointee.recovery != nil && session.pointee.connectionOpened < 0 { return }
    if let open = session.pointee.recovery, session.pointee.connectionOpened >= 0 {
      // A second drop before any new event: the first loss was never recovered from by itself.
      open.record.attempts = open.attempts
      disconnects.append(open.record)
    }
    session.pointee.disconnects += 1
    if session.pointee.isCounted { interval.counters.disconnects += 1 }
    let recovery = RecoveryState()
    recovery.record.session = session.pointee.index
    recovery.record.number = session.pointee.disconnects
    recovery.record.cause = cause(end)
    recovery.record.detected = at - origin
    recovery.record.highest = session.pointee.ledger.highest
    session.pointee.recovery = recovery
  }

  private func cause(_ end: TransferEnd?) -> String {
    switch end {
    case .complete: "end"
    case .cut: "cut"
    case .failed: "reset"
    case nil: "timeout"
    }
  }

  private func wait(_ place: Int, _ delay: Int64, restarting: Bool, _ at: Int64, _ end: TransferEnd?) {
    let session = sessions + place
    finishHeadOnly(session)
    if session.pointee.connectionOpened >= 0 || session.pointee.recovery == nil { lost(place, at, end) }
    let openFor = session.pointee.connectionOpened >= 0 ? at - session.pointee.connectionOpened : -1
    session.pointee.tries = Int32(
      clamping: 1 + settings.triesBefore(Int(session.pointee.tries), openFor: openFor, events: session.pointee.connectionEvents))
    if restarting {
      session.pointee.restartedTokens += session.pointee.tokenEvents - session.pointee.restartedBefore
      session.pointee.restartedBefore = session.pointee.tokenEvents
      session.pointee.ledger.restart(first: settings.firstNumber)
      session.pointee.parser.reset(keepingLastEventID: false)
    }
    if let recovery = session.pointee.recovery, recovery.record.delayAsked < 0 {
      // With the standard's policy the time that the server, or the default, asked for; else what the policy made of it.
      recovery.record.delayAsked = settings.policy == .whatwg ? settings.reconnectionTime(session.pointee.retry) : delay
    }
    session.pointee.phase = .waiting
    session.pointee.retryAt = at + delay
    armTimer(place)
  }

  private func reconnect(_ place: Int, _ now: Int64) {
    let session = sessions + place
    session.pointee.reconnects += 1
    if session.pointee.isCounted { interval.counters.reconnects += 1 }
    if let recovery = session.pointee.recovery {
      recovery.attempts += 1
      recovery.attemptStart = now
      recovery.record.attempts = recovery.attempts
      if recovery.record.firstAttempt < 0 { recovery.record.firstAttempt = now - origin }
      recovery.record.delayTaken = now - origin - recovery.record.detected
      recovery.record.requestSent = -1
      recovery.record.firstByte = -1
      recovery.record.lastEventID = String(decoding: session.pointee.parser.lastEventID.prefix(256), as: UTF8.self)
    }
    connect(place, now)
  }

  /// The first new event after a loss has come.
  func recoveryEnded(_ session: UnsafeMutablePointer<Session>, _ recovery: RecoveryState) {
    session.pointee.recovery = nil
    let record = session.pointee.isCounted ? interval : uncounted
    let instants = recovery.record
    record.counters.recovered += 1
    record.record(.recoveryTime, instants.firstNewEvent - instants.detected)
    let attempt = recovery.attemptStart - origin
    if recovery.attemptStart >= 0 {
      record.record(.recoveryDelay, attempt - instants.detected)
      if instants.requestSent >= 0 { record.record(.recoveryConnect, instants.requestSent - attempt) }
      if instants.firstByte >= 0 {
        if instants.requestSent >= 0 { record.record(.recoveryFirstByte, instants.firstByte - instants.requestSent) }
        record.record(.recoveryReplay, instants.firstNewEvent - instants.firstByte)
      }
    }
    disconnects.append(instants)
  }

  // MARK: The end of a session

  private func over(_ place: Int, _ outcome: SessionOutcome, _ kind: SessionErrorKind?, _ at: Int64) {
    let session = sessions + place
    endRead(session, session.pointee.isCounted ? interval : uncounted)
    session.pointee.kept?.flush()
    if let recovery = session.pointee.recovery {
      disconnects.append(recovery.record)
      if session.pointee.isCounted && outcome != .completed { interval.counters.neverRecovered += 1 }
    }
    let closedAt = outcome == .cancelled ? Instant.now().nanoseconds : at
    let record = makeRecord(session, outcome, kind, closedAt)
    count(record, session, at)
    finished.append(record)
    placeIsFree(place, at)
  }

  private func makeRecord(
    _ session: UnsafeMutablePointer<Session>, _ outcome: SessionOutcome, _ kind: SessionErrorKind?, _ at: Int64
  ) -> SessionRecord {
    func relative(_ instant: Int64) -> Int64 { instant >= 0 ? instant - origin : -1 }
    var record = SessionRecord()
    record.session = session.pointee.index
    record.worker = Int32(number)
    record.outcome = outcome
    record.error = kind
    record.isCounted = session.pointee.isCounted
    record.scheduledStart = relative(session.pointee.scheduled)
    record.requestStart = relative(session.pointee.requestStart)
    record.requestSent = relative(session.pointee.requestSent)
    record.firstByte = relative(session.pointee.firstByte)
    record.firstEvent = relative(session.pointee.firstEvent)
    record.firstToken = relative(session.pointee.firstToken)
    record.firstOutput = relative(session.pointee.firstOutput)
    record.lastToken = relative(session.pointee.lastToken)
    record.end = relative(outcome == .completed && session.pointee.markedAt >= 0 ? session.pointee.markedAt : at)
    record.connect = session.pointee.connect
    record.tls = session.pointee.tls
    record.maxGap = session.pointee.tokenEvents > 1 ? session.pointee.maxGap : -1
    record.stalls = session.pointee.stalls
    record.httpStatus = session.pointee.status
    record.events = session.pointee.events
    record.tokenEvents = session.pointee.tokenEvents
    if settings.decoder == .none && settings.isLLM {
      record.tokenSource = .none
    } else if session.pointee.usageTokens >= 0 {
      record.tokens = session.pointee.usageTokens
      record.tokenSource = .usage
    } else {
      record.tokens = session.pointee.tokenEvents
      record.tokenSource = .events
    }
    record.bytes = session.pointee.bytes
    record.reads = session.pointee.reads
    record.largestBurst = session.pointee.largestBurst
    record.reconnects = session.pointee.reconnects
    record.disconnects = session.pointee.disconnects
    if settings.hasLedger {
      record.delivered = session.pointee.ledger.delivered
      record.lost = session.pointee.ledger.missing
      record.duplicated = session.pointee.ledger.duplicated
      record.reordered = session.pointee.ledger.reordered
      record.corrupted = session.pointee.ledger.corrupted
      // The rest of the account, what the server had sent, is settled by the reporting thread.
      record.lowest = session.pointee.ledger.lowest
      record.highest = session.pointee.ledger.highest
    }
    record.restartedTokens = session.pointee.restartedTokens
    record.tokensAfterCancel = session.pointee.tokensAfterCancel
    if session.pointee.cancelledAt >= 0 { record.cancelToClose = at - session.pointee.cancelledAt }
    record.isFakeStreaming = outcome == .completed && isFake(session, record)
    record.metSLO = settings.slo.isEmpty ? nil : outcome == .completed && settings.slo.isMet(by: record)
    return record
  }

  /// Over half of the tokens in one read, or the first token after 90 % of the whole: the path holds the stream back.
  private func isFake(_ session: UnsafeMutablePointer<Session>, _ record: SessionRecord) -> Bool {
    guard record.tokenEvents >= 4, record.firstToken >= 0 else { return false }
    if record.largestBurst * 2 > record.tokenEvents { return true }
    let start = record.requestSent >= 0 ? record.requestSent : record.requestStart
    return record.outcome == .completed && record.end > start
      && Double(record.firstToken - start) > 0.9 * Double(record.end - start)
  }

  /// A finished session's share of the figures.
  private func count(_ record: SessionRecord, _ session: UnsafeMutablePointer<Session>, _ at: Int64) {
    guard record.isCounted else { return }
    let interval = interval
    switch record.outcome {
    case .completed: interval.counters.completed += 1
    case .failed:
      interval.counters.failed += 1
      if let kind = record.error { interval.errors[Int(kind.rawValue)] += 1 }
    case .cancelled:
      interval.counters.cancelled += 1
      if session.pointee.isStopping { interval.counters.cancelledAtEnd += 1 }
    case .dropped: break
    }
    interval.counters.tokens += record.tokens
    if record.tokenSource == .usage { interval.counters.tokensFromUsage += record.tokens }
    if record.tokenSource == .events { interval.counters.tokensFromEvents += record.tokens }
    if record.isFakeStreaming { interval.counters.fakeStreaming += 1 }
    if record.metSLO ?? (record.outcome == .completed) { interval.counters.good += 1 }
    interval.counters.restartedTokens += record.restartedTokens
    interval.counters.tokensAfterCancel += record.tokensAfterCancel
    if record.requestStart >= 0 { interval.record(.sendLag, record.requestStart - record.scheduledStart) }
    if record.maxGap >= 0 { interval.record(.maxGap, record.maxGap) }
    // With the mock the other side's account counts, which comes later.
    if record.cancelToClose >= 0 && !settings.usesMock { interval.record(.cancelToClose, record.cancelToClose) }
    if record.outcome == .completed {
      let start = session.pointee.latencyStart - origin
      interval.record(.e2e, record.end - start)
      interval.record(.scheduledE2E, record.end - record.scheduledStart)
      if record.tokens >= 2 && record.lastToken > record.firstToken {
        interval.record(.tpot, (record.lastToken - record.firstToken) / (record.tokens - 1))
      }
    }
  }
}

extension SLO {
  /// Whether a completed session kept every limit.
  func isMet(by record: SessionRecord) -> Bool {
    let start = record.requestSent >= 0 ? record.requestSent : record.requestStart
    func milliseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e6 }
    if let ttft, record.firstToken < 0 || milliseconds(record.firstToken - start) > ttft { return false }
    if let itl, record.tokenEvents > 1,
      milliseconds(record.lastToken - record.firstToken) / Double(record.tokenEvents - 1) > itl
    {
      return false
    }
    if let maxGap, record.maxGap >= 0, milliseconds(record.maxGap) > maxGap { return false }
    if let tpot, record.tokens > 1, milliseconds(record.lastToken - record.firstToken) / Double(record.tokens - 1) > tpot {
      return false
    }
    if let e2e, milliseconds(record.end - start) > e2e { return false }
    return true
  }
}
