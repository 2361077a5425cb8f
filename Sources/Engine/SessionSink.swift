// Where a session's events arrive: instants and gaps are recorded, tokens counted, the ledger kept, the end seen. This
// is the hot path: no allocation, no lock, no closure.

import Primitives
import Recording
import Scenarios
import Streams

/// The few rules that every event asks for.
struct SinkRules {
  var usesMock: Bool
  var hasVerify: Bool
  var hasUntil: Bool
  var isLLM: Bool
  var discards: Bool
  var stall: Int64

  init(_ settings: SessionSettings) {
    usesMock = settings.usesMock
    hasVerify = settings.verify != nil
    hasUntil = settings.until != nil
    isLLM = settings.isLLM
    stall = settings.stall
    switch settings.consumer {
    case .discard, .slow: discards = true
    default: discards = false
    }
  }
}

struct SessionSink: EventSink {
  unowned(unsafe) let worker: Worker
  let session: UnsafeMutablePointer<Session>
  let hot: UnsafeMutablePointer<Counters>
  let cells: UnsafeMutablePointer<HistogramCells>
  /// What the worker's settings say of each event, copied so that no class is looked into.
  let rules: UnsafePointer<SinkRules>
  /// When the read came that these events lay in.
  let now: Int64

  mutating func receive(_ event: EventSlices) {
    guard session.pointee.phase == .streaming else {
      afterTheEnd(event)
      return
    }
    if session.pointee.cancelledAt >= 0 {
      afterCancel(event)
      return
    }
    session.pointee.events += 1
    session.pointee.connectionEvents += 1
    hot.pointee.events += 1
    if session.pointee.lastEvent >= 0 { cells[Metric.eventGap.rawValue].record(now - session.pointee.lastEvent) }
    session.pointee.lastEvent = now
    let meaning = session.pointee.extractor.read(event, stamp: rules.pointee.usesMock, scratch: worker.scratch)
    if session.pointee.firstEvent < 0 {
      session.pointee.firstEvent = now
      worker.answered += 1
      cells[Metric.firstEvent.rawValue].record(now - session.pointee.latencyStart)
      cells[Metric.scheduledFirstEvent.rawValue].record(now - session.pointee.scheduled)
      if meaning.hasModel { worker.noteModel(meaning.model) }
    }
    if meaning.stampNumber >= 0 {
      judge(meaning)
    } else if rules.pointee.hasVerify {
      judgeForeign(event)
    } else if let recovery = session.pointee.recovery {
      recovered(recovery)
    }
    if meaning.hasOutput { token(meaning) }
    if !meaning.flags.isDisjoint(with: EventMeaning.Flags.unusual) || rules.pointee.hasUntil { unusual(event, meaning) }
    // At this event and not at the end of its read: what comes behind it in the same read counts no more.
    if session.pointee.tokenEvents == session.pointee.cancelTokens && session.pointee.phase == .streaming {
      worker.cancelSession(session - worker.sessions, now)
    }
  }

  /// An event that carries a token.
  private func token(_ meaning: EventMeaning) {
    session.pointee.tokenEvents += 1
    session.pointee.readTokens += 1
    hot.pointee.tokenEvents += 1
    if session.pointee.firstToken < 0 {
      session.pointee.firstToken = now
      cells[Metric.ttft.rawValue].record(now - session.pointee.latencyStart)
      cells[Metric.scheduledTTFT.rawValue].record(now - session.pointee.scheduled)
      // |measured TTFT − (stamp − request sent)|: the start of both is the same instant.
      if meaning.stampTime >= 0 { cells[Metric.ttftError.rawValue].record(abs(now - meaning.stampTime)) }
    } else {
      let gap = now - session.pointee.lastToken
      cells[Metric.itl.rawValue].record(gap)
      if gap > session.pointee.maxGap { session.pointee.maxGap = gap }
      if gap > rules.pointee.stall {
        session.pointee.stalls += 1
        hot.pointee.stalls += 1
      }
      if meaning.stampTime >= 0 && session.pointee.lastStamp >= 0 {
        cells[Metric.itlError.rawValue].record(abs(gap - (meaning.stampTime - session.pointee.lastStamp)))
      }
    }
    if session.pointee.firstOutput < 0 && meaning.hasContent {
      session.pointee.firstOutput = now
      cells[Metric.firstOutput.rawValue].record(now - session.pointee.latencyStart)
      cells[Metric.scheduledFirstOutput.rawValue].record(now - session.pointee.scheduled)
    }
    session.pointee.lastToken = now
    session.pointee.lastStamp = meaning.stampTime
    if meaning.stampTime >= 0 { cells[Metric.delivery.rawValue].record(now - meaning.stampTime) }
    consume(meaning)
  }

  private func consume(_ meaning: EventMeaning) {
    if rules.pointee.discards { return }
    switch worker.settings.consumer {
    case .discard, .slow: break
    case .accumulate: session.pointee.kept?.appendBlocks(meaning.content)
    case .accumulateString: session.pointee.kept?.appendString(meaning.content)
    case .coalesce:
      if session.pointee.kept?.coalesce(meaning.content, at: now) == true { worker.publishLater(session) }
    case .leak(let bytes, let oneIn):
      if session.pointee.index % Int64(max(1, oneIn)) == 0 { worker.leak(bytes) }
    }
  }

  // MARK: The ledger

  /// Numbers this far from the others come from a broken or hostile server, and would only make sums overflow.
  private static let widest: UInt64 = 1 << 40

  private func judge(_ meaning: EventMeaning) {
    guard session.pointee.ledger.span(with: meaning.stampNumber) <= Self.widest else {
      hot.pointee.unnumbered += 1
      return
    }
    let finding = session.pointee.ledger.receive(
      meaning.stampNumber, isIntact: meaning.textCRC() == meaning.stampCRC)
    if let recovery = session.pointee.recovery {
      if finding == .duplicate { recovery.record.replayed += 1 } else { recovered(recovery) }
    }
  }

  private func judgeForeign(_ event: EventSlices) {
    let mark = worker.numberRule?.mark(of: event, prefix: &session.pointee.numberPrefix) ?? .none
    if mark == .none { return }
    guard case .number(let number, let isIntact) = mark, session.pointee.ledger.span(with: number) <= Self.widest else {
      hot.pointee.unnumbered += 1
      return
    }
    let finding = session.pointee.ledger.receive(number, isIntact: isIntact)
    if let recovery = session.pointee.recovery {
      if finding == .duplicate { recovery.record.replayed += 1 } else { recovered(recovery) }
    }
  }

  /// The first new event after a reconnect.
  private func recovered(_ recovery: RecoveryState) {
    recovery.record.firstNewEvent = now - worker.origin
    worker.recoveryEnded(session, recovery)
  }

  // MARK: What is rare

  private func unusual(_ event: EventSlices, _ meaning: EventMeaning) {
    if meaning.isUndecodable {
      session.pointee.isUndecodable = true
      hot.pointee.undecodable += 1
    }
    if worker.settings.failsOnUndecodable, meaning.isUndecodable || meaning.hasError {
      worker.undecodable(session, event, now)
      return
    }
    if meaning.hasUsage && meaning.usage.output >= 0 { session.pointee.usageTokens = Int64(meaning.usage.output) }
    if meaning.hasError {
      session.pointee.sawError = true
      worker.noteError(.streamError, String(decoding: event.data.prefix(300), as: UTF8.self))
    }
    if meaning.hasFinish { session.pointee.sawFinishReason = true }
    if meaning.isTerminal && rules.pointee.isLLM { markEnd() }
    guard !rules.pointee.isLLM, let until = worker.settings.until else { return }
    switch until {
    case .events(let count): if session.pointee.events >= Int64(count) { markEnd() }
    case .event(let type): if event.type.elementsEqual(type.utf8) { markEnd() }
    case .data(let text): if event.data.elementsEqual(text.utf8) { markEnd() }
    case .duration: break
    }
  }

  private func markEnd() {
    session.pointee.isMarked = true
    session.pointee.markedAt = now
    session.pointee.phase = .finished
  }

  /// The consumer has gone, the producer goes on: tokens that nobody reads.
  private func afterCancel(_ event: EventSlices) {
    let meaning = session.pointee.extractor.read(event, stamp: false, scratch: worker.scratch)
    if meaning.hasOutput { session.pointee.tokensAfterCancel += 1 }
    if meaning.isTerminal && worker.settings.isLLM { markEnd() }
  }

  /// Events behind the end marker: an error object still counts.
  private func afterTheEnd(_ event: EventSlices) {
    guard session.pointee.phase == .finished || session.pointee.phase == .closing, !session.pointee.isCancelled
    else { return }
    let meaning = session.pointee.extractor.read(event, stamp: false, scratch: worker.scratch)
    if meaning.hasError && session.pointee.phase == .finished { session.pointee.sawError = true }
    if meaning.hasUsage && meaning.usage.output >= 0 { session.pointee.usageTokens = Int64(meaning.usage.output) }
  }
}

extension EventMeaning.Flags {
  /// What is more than a token.
  static let unusual: EventMeaning.Flags = [.terminal, .error, .finish, .usage, .undecodable]
}
