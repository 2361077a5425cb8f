// When sessions begin: what is due by the plan, places that become free, waiting and dropping beyond the limit, and what ends the starts.

internal import CPlatform
import EventLoops
import Primitives
import Recording
import Scenarios
import Streams
import Synchronization
import Transports

extension Worker {
  // MARK: Starting

  func prepareStarts() {
    switch load.kind {
    case .closed(let firsts):
      for (place, at) in firsts.enumerated() {
        if used <= place { initializePlace() }
        sessions[place].scheduled = origin + at
        wheel.set(capacity + place, at: Instant(nanoseconds: origin + at))
      }
      places = firsts.count
      if firsts.isEmpty { startsAreOver = true }
    case .open:
      nextOpenStart = load.nextOpen()
      if nextOpenStart == nil { startsAreOver = true }
    }
  }

  private func initializePlace() {
    (sessions + used).initialize(to: Session(settings))
    used += 1
  }

  /// A place of a closed load is free and its time has come.
  private func startPlace(_ place: Int, _ now: Int64) {
    guard !startsAreOver else { return }
    if let end = load.startsEnd, now - origin >= end {
      overAfterTime()
      return
    }
    guard var start = load.nextClosed() else {
      startsAreOver = true
      return
    }
    guard budget.admits(settings, start) else {
      overAfterBudget()
      return
    }
    // The scheduled start is the instant at which the place came free, plus think time: the timer's own.
    start.at = (sessions[place].scheduled >= 0 ? sessions[place].scheduled : now) - origin
    begin(place, start, now)
  }

  func startDue(_ now: Instant) {
    var left = Self.startsPerTurn
    guard case .open = load.kind else {
      while left > 0 && placesToStartHead < placesToStart.count {
        startPlace(placesToStart[placesToStartHead], Instant.now().nanoseconds)
        placesToStartHead += 1
        left -= 1
      }
      if placesToStartHead == placesToStart.count && placesToStartHead > 0 {
        placesToStart.removeAll(keepingCapacity: true)
        placesToStartHead = 0
      }
      if !startsAreOver, let end = load.startsEnd, now.nanoseconds - origin >= end { overAfterTime() }
      return
    }
    while left > 0, let start = nextOpenStart, origin + start.at <= now.nanoseconds {
      left -= 1
      nextOpenStart = load.nextOpen()
      if nextOpenStart == nil { overAfterTime() }
      guard budget.admits(settings, start) else {
        overAfterBudget()
        break
      }
      if let place = takePlace() {
        begin(place, start, Instant.now().nanoseconds)
      } else if load.dropsBeyond {
        drop(start)
      } else {
        waiting.append(start)
      }
    }
  }

  private func takePlace() -> Int? {
    if let place = free.popLast() { return Int(place) }
    guard used < capacity else { return nil }
    initializePlace()
    return used - 1
  }

  private func drop(_ start: SessionStart) {
    var record = SessionRecord()
    record.session = start.index
    record.outcome = .dropped
    record.scheduledStart = start.at
    record.isCounted = start.at >= load.warmUp
    if record.isCounted { interval.counters.dropped += 1 }
    finished.append(record)
  }

  func begin(_ place: Int, _ start: SessionStart, _ now: Int64) {
    let session = sessions + place
    session.pointee.prepare(settings, start, origin: origin, isCounted: start.at >= load.warmUp)
    if let cancel = settings.cancel {
      var draw = SeededRandom(seed: settings.seed, purpose: "cancel", index: UInt64(bitPattern: start.index))
      if draw.uniform() < cancel.share {
        switch cancel.after {
        case .tokens(let count): session.pointee.cancelTokens = Int64(count)
        case .time(let time): session.pointee.cancelAt = now + time.value
        }
      }
    }
    changeLive(by: 1, now)
    turnover += 1
    if live > peakLive { peakLive = live }
    started += 1
    if session.pointee.isCounted {
      interval.counters.started += 1
      if now - (origin + start.at) > load.lateAfter { interval.counters.startedLate += 1 }
    }
    connect(place, now)
  }

  /// Sends the session's next request.
  func connect(_ place: Int, _ now: Int64) {
    let session = sessions + place
    var request = TransferRequest()
    if settings.sessionHeader {
      request.headers.append((name: "X-Ssebench-Session", value: String(session.pointee.index)))
    }
    let id = session.pointee.parser.lastEventID
    if settings.client.isEventSource {
      beginTask(session, &request, now)
    } else if !id.isEmpty && settings.policy != .restart {
      request.headers.append((name: "Last-Event-ID", value: String(decoding: id, as: UTF8.self)))
    }
    if settings.usesMock && !settings.isLLM {
      request.url = settings.mockEventsURL(session: session.pointee.index, place: place)
    }
    if let url = session.pointee.movedTo { request.url = url }
    if session.pointee.maxTokens >= 0 { request.body = load.body(maxTokens: Int(session.pointee.maxTokens)) }
    session.pointee.beginConnection(at: now)
    budget.requests += 1
    transport.start(place, request, at: Instant(nanoseconds: now))
    armTimer(place)
  }

  private func overAfterTime() {
    guard !startsAreOver else { return }
    startsAreOver = true
    nextOpenStart = nil
    if let drain = load.drain { drainEnds = Instant.now().nanoseconds + drain }
  }

  private func overAfterBudget() {
    startsAreOver = true
    nextOpenStart = nil
    waiting.removeAll()
    waitingHead = 0
    budget.isSpent = true
  }

  // MARK: After a session

  /// A session is over and recorded: its place goes to the next one.
  func placeIsFree(_ place: Int, _ now: Int64) {
    changeLive(by: -1, now)
    turnover += 1
    budget.sessionEnded(settings, sessions[place].maxTokens, tokens: sessions[place].tokenEvents)
    sessions[place].release(settings)
    wheel.cancel(place)
    switch load.kind {
    case .closed:
      let think = load.thinkTime(&random)
      sessions[place].scheduled = now + think
      if think == 0 {
        placesToStart.append(place)
      } else {
        wheel.set(capacity + place, at: Instant(nanoseconds: now + think))
      }
    case .open:
      if waitingHead < waiting.count {
        let start = waiting[waitingHead]
        waitingHead += 1
        if waitingHead == waiting.count {
          waiting.removeAll(keepingCapacity: true)
          waitingHead = 0
        }
        begin(place, start, now)
      } else {
        free.append(Int32(place))
      }
    }
  }
}
