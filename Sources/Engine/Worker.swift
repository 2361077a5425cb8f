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

final class Worker {
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
  var used = 0
  var free: [Int32] = []
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
  var peakLive: Int64 = 0
  /// Since when the load has been steady: all places taken, or the ramp over for a second; −1 before.
  private var steadySince: Int64 = -1
  private var liveChangedAt: Int64 = 0
  private var steadyLive = 0.0
  private var steadyTime = 0.0
  var started: Int64 = 0
  /// Sessions that have had an event.
  var answered: Int64 = 0
  /// Sessions begun and ended.
  var turnover: Int64 = 0
  /// Of the intervals already handed over, warm-up included.
  private var tokensBefore: Int64 = 0
  private var eventsBefore: Int64 = 0
  var readCount: UInt64 = 0
  /// Counts calls into the transport: what one of them brings of one session is one read of its socket.
  var turn: UInt64 = 1
  var splitsReads = false

  /// Ends to be acted on after the transport has returned: it must not be called from inside itself.
  var ended: [(place: Int, end: TransferEnd, at: Int64)] = []
  var closing: [(place: Int, step: NextStep, at: Int64)] = []
  var pauses: [Int] = []
  private var dueTimers: [Int] = []
  /// Places of a closed load whose time has come; started a few at a time.
  var placesToStart: [Int] = []
  var placesToStartHead = 0
  /// One read in 64 is held against the thread's CPU clock, which costs a system call; one in 16, never the same, against
  /// the wall clock.
  static let sampledCPU: UInt64 = 63
  static let sampledDwell: UInt64 = 15
  /// Starts between two looks at the sockets: opening a connection costs 100 µs, and answers must not wait for all.
  static let startsPerTurn = 8
  var finished: [SessionRecord] = []
  var disconnects: [DisconnectRecord] = []
  var errorSamples: [(kind: SessionErrorKind, message: String)] = []
  var sampledErrors = [Int](repeating: 0, count: SessionErrorKind.allCases.count)
  var modelsSeen: [String] = []
  var lastModel = ""
  private var nextTick: Int64 = 0
  private var nextPost: Int64 = 0
  var startsAreOver = false
  var drainEnds: Int64 = .max
  var nextOpenStart: SessionStart?
  var waiting: [SessionStart] = []
  var waitingHead = 0
  var places = 0
  var budget: BudgetShare
  /// The newest of the leaked blocks; each begins with the address of the one before.
  var leaked: UnsafeMutableRawPointer?
  var meters: WorkerMeters
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
    meters.begin(cpuClock: settings.cpuClock)
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
  func changeLive(by change: Int64, _ now: Int64) {
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
