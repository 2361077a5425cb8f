// One thread with one event loop, its own transport, sessions and recorder: starts what the plan says, hands bytes to
// parsers, records instants. Shares nothing but its mailbox and the order to stop.

internal import CPlatform
import EventLoops
import Primitives
import Recording
import Scenarios
import Streams
import Synchronization
import Transports

/// What the reporting thread tells its workers.
enum StopOrder: Int { case none, drain, now }

final class StopSignal: Sendable {
  private let value = Atomic<Int>(0)
  var order: StopOrder {
    get { StopOrder(rawValue: value.load(ordering: .relaxed)) ?? .now }
    set { value.store(newValue.rawValue, ordering: .relaxed) }
  }
}

final class Worker: TransferReceiver {
  let settings: SessionSettings
  let load: WorkerLoad
  let mailbox: WorkerMailbox
  let stop: StopSignal
  let number: Int
  /// The run's start on the monotonic clock.
  let origin: Int64

  let queue: EventQueue
  private(set) var transport: (any Transport)!
  let sessions: UnsafeMutablePointer<Session>
  let capacity: Int
  /// Places that have been used at least once; only they hold an initialised session.
  private(set) var used = 0
  private var free: [Int32] = []
  /// Timers 0..<capacity: a session's next limit; capacity..<2·capacity: the start of a closed load's place.
  var wheel: TimerWheel
  let scratch: ExtractorScratch
  let rules: UnsafeMutablePointer<SinkRules>
  let numberRule: EventNumberRule?
  var random: SeededRandom

  var interval: IntervalRecord
  /// Takes what warm-up sessions would count.
  let uncounted = IntervalRecord()
  private(set) var live: Int64 = 0
  private(set) var peakLive: Int64 = 0
  /// Since when the load has been steady: all places taken, or the ramp over for a second; −1 before.
  private var steadySince: Int64 = -1
  private var liveChangedAt: Int64 = 0
  private var steadyLive = 0.0
  private var steadyTime = 0.0
  private var started: Int64 = 0
  /// Sessions that have had an event.
  var answered: Int64 = 0
  /// Sessions begun and ended.
  private var turnover: Int64 = 0
  /// Of the intervals already handed over, warm-up included.
  private var tokensBefore: Int64 = 0
  private var eventsBefore: Int64 = 0
  private var readCount: UInt64 = 0
  /// Counts calls into the transport: what one of them brings of one session is one read of its socket.
  private var turn: UInt64 = 1
  private var splitsReads = false

  /// Ends to be acted on after the transport has returned: it must not be called from inside itself.
  private var ended: [(place: Int, end: TransferEnd, at: Int64)] = []
  private var closing: [(place: Int, step: NextStep, at: Int64)] = []
  private var pauses: [Int] = []
  private var dueTimers: [Int] = []
  /// Places of a closed load whose time has come; started a few at a time.
  private var placesToStart: [Int] = []
  private var placesToStartHead = 0
  /// One read in 64 is held against the thread's CPU clock, which costs a system call; one in 16, never the same, against
  /// the wall clock.
  private static let sampledCPU: UInt64 = 63
  private static let sampledDwell: UInt64 = 15
  /// Starts between two looks at the sockets: opening a connection costs 100 µs, and answers must not wait for all.
  private static let startsPerTurn = 8
  var finished: [SessionRecord] = []
  var disconnects: [DisconnectRecord] = []
  var errorSamples: [(kind: SessionErrorKind, message: String)] = []
  private var sampledErrors = [Int](repeating: 0, count: SessionErrorKind.allCases.count)
  var modelsSeen: [String] = []
  private var lastModel = ""
  private var nextTick: Int64 = 0
  private var nextPost: Int64 = 0
  private var startsAreOver = false
  private var drainEnds: Int64 = .max
  private var nextOpenStart: SessionStart?
  private var waiting: [SessionStart] = []
  private var waitingHead = 0
  private var places = 0
  private var budget: BudgetShare
  /// The newest of the leaked blocks; each begins with the address of the one before.
  private var leaked: UnsafeMutableRawPointer?
  private var meters: WorkerMeters
  private var allocations = AllocationWindow()
  private var netBefore: Int64 = 0
  /// Not yet handed over.
  private var closedIntervals: [(endsAt: Double, record: IntervalRecord)] = []

  init(
    settings: SessionSettings, load: WorkerLoad, number: Int, origin: Instant, mailbox: WorkerMailbox, stop: StopSignal
  ) throws {
    numberRule = try settings.verify.map { try EventNumberRule($0) }
    scratch = ExtractorScratch(foreignDecoder: settings.foreignDecoder?())
    self.settings = settings
    self.load = load
    self.number = number
    self.origin = origin.nanoseconds
    self.mailbox = mailbox
    self.stop = stop
    queue = try EventQueue(capacity: 1024)
    capacity = load.capacity
    sessions = .allocate(capacity: capacity)
    rules = .allocate(capacity: 1)
    rules.initialize(to: SinkRules(settings))
    wheel = TimerWheel(timers: capacity * 2, now: .now())
    random = SeededRandom(seed: settings.seed, purpose: "engine", index: UInt64(number))
    interval = IntervalRecord()
    budget = load.budget
    meters = WorkerMeters()
    if let makeTransport = settings.transportFactory {
      transport = try makeTransport(settings.endpoint, capacity, queue, self)
    } else if settings.stack == .raw {
      transport = RawTransport(
        endpoint: settings.endpoint, places: capacity, queue: queue, receiver: self, now: .now())
    } else {
      transport = CurlTransport(
        endpoint: settings.endpoint, places: capacity, queue: queue, receiver: self, now: .now())
    }
    splitsReads = transport.splitsReads
  }

  deinit {
    sessions.deinitialize(count: used)
    sessions.deallocate()
    rules.deallocate()
  }

  // MARK: The loop

  /// Runs until the plan is done and every session has ended, or the order to stop.
  func run() {
    EventQueue.useExactTimers()
    if settings.realtime {
      let isRealtime = CPlatform_enter_realtime() == 0
      mailbox.post { $0.isRealtime = isRealtime }
    }
    if settings.measuresMemory { allocations.begin(wholeProcess: !settings.client.seesRequestSent) }
    // The records that go to and fro are made now: made later, they would look like the sessions' memory.
    for _ in 0..<2 { mailbox.giveBack(IntervalRecord()) }
    netBefore = allocations.net ?? 0
    meters.begin()
    nextTick = origin + 1_000_000_000
    nextPost = origin + 50_000_000
    prepareStarts()
    var problem: String?
    while !isDone {
      do {
        let ready = try queue.wait(until: nextDeadline())
        let woke = Instant.now()
        var lastPause = woke
        for (index, readiness) in ready.enumerated() {
          turn &+= 1
          transport.handle(readiness)
          if index & 15 == 15 { pause(&lastPause) }
        }
        let now = ready.isEmpty ? woke : Instant.now()
        turn &+= 1
        transport.expire(now)
        fireTimers(now)
        settle()
        startDue(.now())
        if !ready.isEmpty || started > 0 {
          interval.record(.loopIteration, Instant.now().nanoseconds - woke.nanoseconds)
        }
      } catch {
        problem = "the event queue failed: \(error.call), errno \(error.errno)"
        stop.order = .now
      }
      obeyStop()
      tick()
    }
    transport.shutDown()
    closeInterval(at: Instant.now().nanoseconds)
    postAll(finishing: true, problem: problem)
    meters.end()
    while let block = leaked {
      leaked = block.load(as: UnsafeMutableRawPointer?.self)
      block.deallocate()
    }
  }

  /// Between reads that take long (streams at full speed), what is due is done all the same. The rest of the batch is read
  /// afterwards and not reported anew: the streams at its end would never have their turn.
  private func pause(_ last: inout Instant) {
    let now = Instant.now()
    guard now - last > .milliseconds(10) else { return }
    last = now
    fireTimers(now)
    settle()
    startDue(now)
    tick()
  }

  private var isDone: Bool {
    live == 0 && startsAreOver && waitingHead == waiting.count && ended.isEmpty && closing.isEmpty
  }

  private func nextDeadline() -> Instant {
    if placesToStartHead < placesToStart.count { return Instant(nanoseconds: 0) }
    var deadline = min(nextTick, nextPost)
    if let timer = wheel.nextDeadline() { deadline = min(deadline, timer.nanoseconds) }
    if let timer = transport.nextDeadline() { deadline = min(deadline, timer.nanoseconds) }
    if let start = nextOpenStart { deadline = min(deadline, origin + start.at) }
    if drainEnds != .max { deadline = min(deadline, drainEnds) }
    if !startsAreOver, let end = load.startsEnd { deadline = min(deadline, origin + end) }
    return Instant(nanoseconds: deadline)
  }

  private func fireTimers(_ now: Instant) {
    // A slow consumer that reads on gets what waited.
    turn &+= 1
    dueTimers.removeAll(keepingCapacity: true)
    wheel.expire(now) { timer, _ in dueTimers.append(timer) }
    for timer in dueTimers {
      if timer < capacity { checkLimits(timer, now.nanoseconds) } else { placesToStart.append(timer - capacity) }
    }
  }

  /// Acts on what the transport reported, until nothing is left.
  private func settle() {
    while !ended.isEmpty || !closing.isEmpty || !pauses.isEmpty {
      let ends = ended
      ended.removeAll(keepingCapacity: true)
      for entry in ends { connectionEnded(entry.place, entry.end, entry.at) }
      let closes = closing
      closing.removeAll(keepingCapacity: true)
      for entry in closes where sessions[entry.place].phase == .closing {
        transport.cancel(entry.place)
        act(on: entry.step, entry.place, entry.at)
      }
      let paused = pauses
      pauses.removeAll(keepingCapacity: true)
      for place in paused where sessions[place].phase == .streaming && sessions[place].resumeAt > 0 {
        sessions[place].isPaused = true
        transport.setPaused(place, true)
      }
    }
  }

  // MARK: Starting

  private func prepareStarts() {
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

  private func startDue(_ now: Instant) {
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

  private func begin(_ place: Int, _ start: SessionStart, _ now: Int64) {
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

  // MARK: What the transport reports

  func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes) {
    let session = sessions + place
    let now = at.nanoseconds
    session.pointee.connectionSent = now
    if session.pointee.requestSent < 0 {
      session.pointee.requestSent = now
      session.pointee.connect = connection.connect.value
      session.pointee.tls = connection.tls.value
    }
    session.pointee.lastActivity = now
    let record = session.pointee.isCounted ? interval : uncounted
    if connection.isReused {
      record.counters.reusedConnections += 1
    } else {
      record.counters.newConnections += 1
      if connection.connect.value >= 0 { record.record(.connect, connection.connect.value) }
      if connection.tls.value >= 0 { record.record(.tls, connection.tls.value) }
      if let isResumed = connection.isResumed {
        if isResumed { record.counters.resumedTLS += 1 } else { record.counters.fullTLS += 1 }
      }
    }
    if let recovery = session.pointee.recovery, recovery.record.requestSent < 0 {
      recovery.record.requestSent = now - origin
    }
  }

  func headReceived(_ place: Int, _ head: ResponseHead, at: Instant) {
    let session = sessions + place
    session.pointee.status = Int32(head.status)
    session.pointee.retryAfter = head.retryAfter
    if let url = head.finalURL, settings.remembers(url) { session.pointee.movedTo = url }
    session.pointee.lastActivity = at.nanoseconds
    let essence = MediaType.essence(head.contentType)
    let typeIsRight = settings.contentTypes.isEmpty || settings.contentTypes.contains(essence)
    let signal = session.pointee.task?.head(status: head.status, at: at)
    if settings.client.opensAnyType ? signal == .open : head.status == 200 && typeIsRight {
      session.pointee.phase = .streaming
      session.pointee.connectionOpened = at.nanoseconds
    } else {
      session.pointee.contentType = head.contentType
      session.pointee.contentTypeIsWrong = head.status == 200
    }
  }

  func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant) {
    let session = sessions + place
    // Decided, and the transport is told at the next safe point: what it hands over until then is nobody's.
    guard session.pointee.phase != .closing else { return }
    let now = at.nanoseconds
    session.pointee.lastActivity = now
    session.pointee.bytes += Int64(bytes.count)
    let record = session.pointee.isCounted ? interval : uncounted
    record.hot.pointee.bytes += Int64(bytes.count)
    if !splitsReads || session.pointee.readTurn != turn {
      endRead(session, record)
      session.pointee.readTurn = turn
      session.pointee.reads += 1
      record.hot.pointee.reads += 1
    }
    session.pointee.readBytes += Int64(bytes.count)
    if session.pointee.connectionFirstByte < 0 {
      session.pointee.connectionFirstByte = now
      if session.pointee.firstByte < 0 {
        session.pointee.firstByte = now
        record.record(.ttfb, now - session.pointee.latencyStart)
        record.record(.scheduledTTFB, now - session.pointee.scheduled)
      }
      if let recovery = session.pointee.recovery, recovery.record.firstByte < 0 {
        recovery.record.firstByte = now - origin
      }
    }
    switch session.pointee.phase {
    case .streaming, .finished: break
    case .requesting:
      if session.pointee.errorBody.count < 512 {
        session.pointee.errorBody.append(contentsOf: bytes.prefix(512 - session.pointee.errorBody.count))
      }
      return
    default: return
    }
    readCount &+= 1
    let before = session.pointee.events
    let tokensBefore = session.pointee.readTokens
    var sink = SessionSink(
      worker: self, session: session, hot: record.hot, cells: record.cells, rules: rules, now: now)
    do {
      if readCount & Self.sampledCPU == 0 {
        let start = CPlatform_thread_cpu_ns()
        try session.pointee.parser.feed(bytes, into: &sink)
        let spent = CPlatform_thread_cpu_ns() - start
        record.counters.sampledParseNanoseconds += max(0, spent - meters.clockCost)
        record.counters.sampledEvents += session.pointee.events - before
        record.counters.sampledBytes += Int64(bytes.count)
      } else {
        try session.pointee.parser.feed(bytes, into: &sink)
      }
      if readCount & Self.sampledDwell == Self.sampledDwell { record.record(.callbackDwell, Instant.now().nanoseconds - now) }
    } catch {
      session.pointee.streamFailed = .tooLarge
      close(place, .fail(.tooLarge, error.description), now)
      return
    }
    let burst = session.pointee.readTokens
    if burst > session.pointee.largestBurst { session.pointee.largestBurst = burst }
    // The first token of a read is of a burst once a second one has come.
    if burst > 1 { record.hot.pointee.burstTokens += burst - (tokensBefore > 1 ? tokensBefore : 0) }
    let events = session.pointee.events - before
    if case .slow(let time) = settings.consumer, events > 0 {
      session.pointee.resumeAt = max(session.pointee.resumeAt, now) + time.value * events
      pauses.append(place)
      armTimer(place)
    }
    if session.pointee.phase == .finished { armTimer(place) }
  }

  /// The read that was being counted is whole.
  func endRead(_ session: UnsafeMutablePointer<Session>, _ record: IntervalRecord) {
    if session.pointee.readBytes > 0 { record.cells[IntervalRecord.readBytesIndex].record(session.pointee.readBytes) }
    session.pointee.readBytes = 0
    session.pointee.readTokens = 0
  }

  func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant) {
    ended.append((place, end, at.nanoseconds))
  }

  /// Decides a session's end while its transfer is still going on; the transport is told at the next safe point.
  func close(_ place: Int, _ step: NextStep, _ at: Int64) {
    guard sessions[place].phase != .closing else { return }
    sessions[place].phase = .closing
    closing.append((place, step, at))
  }

  func cancelSession(_ place: Int, _ now: Int64) {
    guard sessions[place].cancelledAt < 0 else { return }
    sessions[place].cancelledAt = now
    sessions[place].isCancelled = true
    sessions[place].task?.cancel()
    if settings.client.leaksOnCancel && sessions[place].phase == .streaming { return }
    close(place, .complete, now)
  }

  func noteModel(_ name: UnsafeRawBufferPointer) {
    if !name.elementsEqual(lastModel.utf8) { lastModel = String(decoding: name.prefix(256), as: UTF8.self) }
    modelsSeen.append(lastModel)
  }

  /// Keeps memory for ever: the test-only consumer that must be found out.
  func leak(_ bytes: Int) {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(8, bytes), alignment: 8)
    block.storeBytes(of: leaked, as: UnsafeMutableRawPointer?.self)
    leaked = block
  }

  func noteError(_ kind: SessionErrorKind, _ message: String) {
    guard sampledErrors[Int(kind.rawValue)] < 3, !message.isEmpty else { return }
    sampledErrors[Int(kind.rawValue)] += 1
    errorSamples.append((kind, String(message.prefix(300))))
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

  // MARK: Stopping and reporting

  private func obeyStop() {
    let now = Instant.now().nanoseconds
    switch stop.order {
    case .none:
      if drainEnds != .max && now >= drainEnds { endAll(now) { $0.isStopping = true } }
    case .drain, .now:
      if !startsAreOver || drainEnds == .max || stop.order == .now {
        startsAreOver = true
        nextOpenStart = nil
        waiting.removeAll()
        waitingHead = 0
        endAll(now) { $0.streamFailed = .interrupted }
      }
    }
  }

  private func endAll(_ now: Int64, _ mark: (inout Session) -> Void) {
    drainEnds = .max
    waiting.removeAll()
    waitingHead = 0
    for place in 0..<used {
      switch sessions[place].phase {
      case .free, .closing: break
      case .finished: close(place, .complete, now)
      default:
        mark(&sessions[place])
        if let kind = sessions[place].streamFailed {
          close(place, .fail(kind, ""), now)
        } else {
          sessions[place].isCancelled = true
          close(place, .complete, now)
        }
      }
    }
    settle()
  }

  private func tick() {
    let now = Instant.now().nanoseconds
    if now >= nextTick {
      meters.second(now)
      meters.read(now)
      closeInterval(at: nextTick)
      if settings.measuresMemory { allocations.second(events: eventsBefore, turnover: turnover) }
      while nextTick <= now { nextTick += 1_000_000_000 }
    }
    if now >= nextPost {
      postAll(finishing: false, problem: nil)
      nextPost = now + 50_000_000
    }
  }

  /// Adds up live sessions × time over the steady state of a closed load: from when ramp and warm-up are over and all
  /// places are taken (or a second has passed) until no place is filled any more.
  private func changeLive(by change: Int64, _ now: Int64) {
    if steadySince >= 0 && !startsAreOver && now > liveChangedAt {
      steadyLive += Double(live) * Double(now - liveChangedAt) / 1e9
      steadyTime += Double(now - liveChangedAt) / 1e9
    }
    liveChangedAt = max(now, liveChangedAt)
    live += change
    guard steadySince < 0, let concurrency = load.concurrency else { return }
    let settled = now - origin - max(load.rampUp, load.warmUp)
    if settled >= 0 && (live == Int64(concurrency) || settled > 1_000_000_000) { steadySince = now }
  }

  private func closeInterval(at instant: Int64) {
    let record = interval
    tokensBefore += record.counters.tokenEvents
    eventsBefore += record.counters.events
    interval = mailbox.takeSpare() ?? IntervalRecord()
    closedIntervals.append((Double(instant - origin) / 1e9, record))
  }

  private func postAll(finishing: Bool, problem: String?) {
    let now = Instant.now().nanoseconds
    if finishing { meters.read(now) }
    let fill: (inout WorkerReport) -> Void = { [self] report in
      report.intervals.append(contentsOf: closedIntervals)
      report.sessions.append(contentsOf: finished)
      report.disconnects.append(contentsOf: disconnects)
      report.errorSamples.append(contentsOf: errorSamples)
      report.models.append(contentsOf: modelsSeen)
      report.receiveQueue = max(report.receiveQueue, Int64(transport.peakQueuedBytes))
      report.live = live
      report.peakLive = peakLive
      report.started = started
      report.answered = answered
      report.tokens = tokensBefore + interval.counters.tokenEvents + uncounted.counters.tokenEvents
      report.events = eventsBefore + interval.counters.events + uncounted.counters.events
      meters.fill(&report)
      report.liveTime = steadyLive
      report.steadyTime = steadyTime
      if let net = allocations.net, let table = transport.bytesPerPlace {
        let place = table + MemoryLayout<Session>.stride + 2 * TimerWheel.bytesPerTimer
        report.sessionBytes = net - netBefore + live * Int64(place)
      }
      if let counted = allocations.result {
        report.allocations = counted.requests
        report.allocatedBytes = counted.bytes
        report.allocatedEvents = counted.events
      }
      report.budgetIsSpent = budget.isSpent
      report.hasPosted = true
      report.isFinished = finishing
      report.failure = problem ?? report.failure
    }
    if finishing {
      mailbox.post(fill)
    } else if !mailbox.tryPost(fill) {
      return
    }
    closedIntervals.removeAll(keepingCapacity: true)
    finished.removeAll(keepingCapacity: true)
    disconnects.removeAll(keepingCapacity: true)
    errorSamples.removeAll(keepingCapacity: true)
    modelsSeen.removeAll(keepingCapacity: true)
  }
}
