// One variant, once: starts the mock where it is asked for, lets the engine run the plan, and carries what the workers
// hand over into the variant's record and the run's folder, as it comes.

import Analysis
import Arrivals
import Engine
import Foundation
import Primitives
import Recording
import Reporting
import Scenarios
import Streams

final class VariantRunner {
  let scenario: Scenario
  let variant: VariantRecord
  private let variantNumber: Int
  private let repetition: Int
  private let folder: RunFolder
  private let options: RunOptions
  let secrets: Secrets
  private let runOrigin: Instant
  private let runWallMilliseconds: Int64
  private let panel: LivePanel?
  private let observer: (any RunObserver)?
  /// When the load is to begin; nil: at once.
  var startAt: Instant?
  /// Whether the run has variants whose parsers are held against the standard.
  var comparesClients = false
  /// Told the instant 0 of the load before it comes.
  var willBegin: ((Instant) -> Void)?

  var mock: MockProcess?
  private var seconds: [Int: (record: IntervalRecord, reports: Int, endsAt: Double)] = [:]
  private var lastCPU = 0.0
  private var lastCPUInstant = Instant.now()
  var live: Int64 = 0
  var started: Int64 = 0
  var totals = Counters()
  private var unsettled: [SessionRecord] = []
  private var cancellations = CancellationAccount()
  var storms = StormWatch()
  private var nextMemorySample = Instant.now()
  var sampling = SamplingCost()
  private let cpuAtStart = ProcessMeters.cpuSeconds

  /// What kept the engine from running to its end, in a sentence.
  private(set) var failure: String?
  private(set) var budgetIsSpent = false

  init(
    scenario: Scenario, variant: VariantRecord, variantNumber: Int, repetition: Int, folder: RunFolder,
    options: RunOptions, secrets: Secrets, runOrigin: Instant, runWallMilliseconds: Int64, panel: LivePanel?,
    observer: (any RunObserver)?
  ) {
    self.scenario = scenario
    self.variant = variant
    self.variantNumber = variantNumber
    self.repetition = repetition
    self.folder = folder
    self.options = options
    self.secrets = secrets
    self.runOrigin = runOrigin
    self.runWallMilliseconds = runWallMilliseconds
    self.panel = panel
    self.observer = observer
  }

  // MARK: The run of one load

  /// Runs to the end of the plan, or until an interrupt or an I/O error ends it.
  func run(mockSettings: JSONValue?) throws {
    if let mockSettings { try startMock(mockSettings) }
    defer { mock?.end() }
    var settings = try SessionSettings(scenario, mockURLs: mock?.urls)
    settings.useFoundation(scenario)
    let seed = scenario.seed &+ UInt64(repetition)
    let plan = Plan.make(scenario, seed: seed, shard: options.shard)
    fillVariant(settings, plan)
    if scenario.measure.memory { folder.expectMemory(of: variant.name) }
    let idle = ProcessMeters.heldBytes
    let cpuBefore = ProcessMeters.cpuSeconds
    _ = mock?.ask("stats reset")
    let (finals, length) = try runEngine(settings, plan)
    settle(settings)
    for record in cancellations.settle(mock, isLast: true) { write(record) }
    closeFigures(finals, cpuBefore: cpuBefore, idle: idle, plan: plan, length: length)
    // The engine is gone by now: what is still held is held for good.
    if scenario.measure.memory && ProcessMeters.hasJemalloc {
      do { try folder.flush() } catch { failure = failure ?? "\(error)" }
      variant.memory?.afterTeardownBytes = ProcessMeters.heldBytes
    }
  }

  /// The engine's life: its last reports, and how long the load took.
  private func runEngine(_ settings: SessionSettings, _ plan: Plan) throws -> (finals: [WorkerReport], length: Double) {
    let threads = WorkerThreads.count(scenario, plan, mostLive: PlanFeed.openCapacity(scenario, plan, options.shard))
    let loads = PlanFeed.loads(scenario, plan: plan, threads: threads, only: options.session, shard: options.shard)
    DescriptorLimit.reserve(loads.reduce(128) { $0 + $1.capacity })
    let origin = startInstant()
    willBegin?(origin)
    cancellations.origin = origin
    let engine = try EngineRun(settings: settings, loads: loads, origin: origin)
    lastCPU = ProcessMeters.cpuSeconds
    lastCPUInstant = .now()
    engine.start()
    let finals = follow(engine, threads, origin, settings)
    engine.join()
    let length = (Instant.now() - origin).seconds
    variant.measuredSeconds += max(0, length - scenario.measure.warmUp.seconds)
    return (finals, length)
  }

  private func startMock(_ settings: JSONValue) throws {
    let executable = Executable.path
    let mock = try MockProcess(
      executable: executable, settings: settings.text(),
      arguments: ["--seed", String(scenario.seed), "--folder", FileManager.default.currentDirectoryPath])
    self.mock = mock
    if scenario.measure.priority == .realtime { _ = mock.ask("priority realtime") }
  }

  /// A few milliseconds of lead, so that the first start is not late; or the instant that was asked for.
  private func startInstant() -> Instant {
    let lead = Instant.now() + .milliseconds(2)
    return max(lead, startAt ?? lead)
  }

  /// Carries reports until every worker is done; the last reports are the result.
  private func follow(
    _ engine: EngineRun, _ threads: Int, _ origin: Instant, _ settings: SessionSettings
  ) -> [WorkerReport] {
    var stopping = false
    var polls = 0
    while true {
      // Short waits at first, so that a run of one session is over when it is over.
      usleep(polls < 40 ? 2_000 : 25_000)
      polls += 1
      let reports = engine.take()
      for (worker, report) in reports.enumerated() {
        for interval in report.intervals { take(interval, worker, threads, engine, origin) }
        take(report, settings)
      }
      live = reports.reduce(0) { $0 + $1.live }
      started = reports.reduce(0) { $0 + $1.started }
      variant.peakLive = max(variant.peakLive, live, reports.reduce(0) { $0 + $1.peakLive })
      sampleMemory(reports, origin)
      settleSome(settings)
      panel?.show(progress(reports, origin))
      do { try folder.flush(now: false) } catch { failure = failure ?? "\(error)" }
      if let problem = reports.compactMap(\.failure).first { failure = failure ?? problem }
      if let mock, !mock.isRunning { failure = failure ?? "The mock ended before the run did." }
      if !stopping, Interrupts.seen > 0 || failure != nil || observer?.wantsEnd == true {
        stopping = true
        engine.stop()
      }
      if reports.allSatisfy(\.isFinished) {
        budgetIsSpent = reports.contains { $0.budgetIsSpent }
        flushSeconds(engine, threads, origin, all: true)
        return reports
      }
    }
  }

  // MARK: What workers hand over

  private func take(
    _ interval: (endsAt: Double, record: IntervalRecord), _ worker: Int, _ threads: Int, _ engine: EngineRun,
    _ origin: Instant
  ) {
    let second = Int(interval.endsAt.rounded(.up))
    if let known = seconds[second] {
      known.record.add(interval.record)
      seconds[second] = (known.record, known.reports + 1, max(known.endsAt, interval.endsAt))
      engine.giveBack(interval.record, toWorker: worker)
    } else {
      seconds[second] = (interval.record, 1, interval.endsAt)
    }
    flushSeconds(engine, threads, origin, all: false)
  }

  /// Writes the seconds that every worker has reported, oldest first.
  private func flushSeconds(_ engine: EngineRun, _ threads: Int, _ origin: Instant, all: Bool) {
    for second in seconds.keys.sorted() {
      guard let entry = seconds[second], all || entry.reports == threads else { continue }
      seconds[second] = nil
      write(entry.record, endsAt: entry.endsAt, second: second, origin)
      engine.giveBack(entry.record, toWorker: 0)
    }
  }

  private func write(_ record: IntervalRecord, endsAt: Double, second: Int, _ origin: Instant) {
    variant.total.add(record)
    totals.add(record.counters)
    let offset = (origin - runOrigin).seconds
    var row = TimeSeriesRow()
    row.variant = Int32(variantNumber)
    row.repetition = Int32(repetition)
    row.time = offset + endsAt
    row.wallMilliseconds = runWallMilliseconds + Int64((offset + endsAt) * 1000)
    row.started = record.counters.started
    row.live = live
    row.completed = record.counters.completed
    row.failed = record.counters.failed
    row.events = record.counters.events
    row.tokens = record.counters.tokenEvents
    row.bytes = record.counters.bytes
    let now = Instant.now()
    let cpu = ProcessMeters.cpuSeconds
    let length = (now - lastCPUInstant).seconds
    row.cpu = length > 0 ? (cpu - lastCPU) / length : 0
    lastCPU = cpu
    lastCPUInstant = now
    row.residentBytes = ProcessMeters.residentBytes
    row.allocatedBytes = ProcessMeters.allocatedBytes
    if record[.ttft].count > 0 {
      row.ttftP50 = record[.ttft].value(atQuantile: 0.5)
      row.ttftP99 = record[.ttft].value(atQuantile: 0.99)
    }
    observer?.second(row, variant: variant, record: record)
    let endsMilliseconds = row.wallMilliseconds
    do {
      try folder.append(row, variantName: variant.name)
      try folder.appendInterval(
        variantName: variant.name, interval: record,
        startMilliseconds: runWallMilliseconds + Int64((offset + Double(second - 1)) * 1000),
        endMilliseconds: endsMilliseconds)
    } catch { failure = failure ?? "\(error)" }
  }

  private func take(_ report: WorkerReport, _ settings: SessionSettings) {
    unsettled.append(contentsOf: report.sessions)
    for sample in report.errorSamples {
      var samples = variant.errorSamples[sample.kind] ?? []
      if samples.count < 3 { samples.append(secrets.scrub(cut: sample.message)) }
      variant.errorSamples[sample.kind] = samples
    }
    for model in report.models {
      let name = secrets.scrub(cut: model)
      let key = variant.models[name] != nil || variant.models.count < 64 ? name : "other"
      variant.models[key, default: 0] += 1
    }
    for var disconnect in report.disconnects {
      disconnect.variant = Int32(variantNumber)
      disconnect.repetition = Int32(repetition)
      disconnect.lastEventID = secrets.scrub(cut: disconnect.lastEventID)
      storms.add(disconnect)
      if variant.hasLedger { variant.worst.add(disconnect) }
      observer?.disconnected(disconnect)
      do { try folder.append(disconnect, variantName: variant.name) } catch { failure = failure ?? "\(error)" }
    }
  }

  // MARK: Settling the ledger

  private func settleSome(_ settings: SessionSettings) {
    if !unsettled.isEmpty { settle(settings) }
    for record in cancellations.settle(mock, isLast: false) { write(record) }
  }

  /// Fills in what the server had sent, which only the mock knows, and writes the finished sessions.
  private func settle(_ settings: SessionSettings) {
    let records = unsettled
    unsettled = []
    for start in stride(from: 0, to: records.count, by: 256) {
      let batch = records[start..<min(start + 256, records.count)]
      let sent = settings.usesMock ? sentNumbers(batch) : [:]
      for record in batch {
        let settled = settled(record, sent, settings)
        if !cancellations.takes(settled, settings) { write(settled) }
      }
    }
  }

  /// The highest number that the mock has sent to each of these sessions. Without faults a completed session has it all.
  private func sentNumbers(_ records: ArraySlice<SessionRecord>) -> [Int64: Int64] {
    let hasFaults = scenario.endpoint.mock?.faults.isEmpty == false
    let asked = records.filter { $0.outcome != .dropped && (hasFaults || $0.outcome != .completed) }
    guard let mock, mock.isRunning, !asked.isEmpty else { return [:] }
    guard let answer = mock.ask("sent " + asked.map { String($0.session) }.joined(separator: " "))?["sent"]?.asObject
    else { return [:] }
    var numbers: [Int64: Int64] = [:]
    for pair in answer.pairs {
      if let session = Int64(pair.key), let number = pair.value.asInt { numbers[session] = Int64(number) }
    }
    return numbers
  }

  private func settled(
    _ record: SessionRecord, _ sent: [Int64: Int64], _ settings: SessionSettings
  ) -> SessionRecord {
    var record = record
    record.variant = Int32(variantNumber)
    record.repetition = Int32(repetition)
    guard variant.hasLedger, record.outcome != .dropped, record.requestStart >= 0 else { return record }
    var top = max(record.highest, sent[record.session] ?? record.highest)
    if let expected = scenario.verify?.expected {
      // Of a session that failed it is not known what the server had sent.
      let (last, overflows) = record.lowest.addingReportingOverflow(expected - 1)
      if record.outcome == .completed, !overflows { top = max(top, last) }
    }
    record.expected = max(0, top - record.lowest + 1)
    let tail = max(0, top - record.highest)
    // What a client no longer waited for is not lost.
    if record.outcome == .completed && !endsBeforeTheStream { record.lost += tail } else { record.undelivered = tail }
    return record
  }

  /// Whether sessions end themselves, whatever the server has still to say.
  private var endsBeforeTheStream: Bool {
    switch scenario.until {
    case .events, .duration: true
    case .event, .data, nil: false
    }
  }

  private func write(_ record: SessionRecord) {
    if record.isCounted && variant.hasLedger {
      variant.total.counters.expected += max(0, record.expected)
      variant.total.counters.delivered += record.delivered
      variant.total.counters.lost += record.lost
      variant.total.counters.undelivered += record.undelivered
      variant.total.counters.duplicated += record.duplicated
      variant.total.counters.reordered += record.reordered
      variant.total.counters.corrupted += record.corrupted
      variant.worst.add(record)
    }
    if record.isCounted && record.cancelToClose >= 0 && variant.usesMock {
      variant.total.record(.cancelToClose, record.cancelToClose)
    }
    observer?.session(record)
    do { try folder.append(record, variantName: variant.name) } catch { failure = failure ?? "\(error)" }
  }

  // MARK: Memory

  /// Twenty readings a second where memory is measured, two where they would take 1 % of the client's CPU; what they cost is added up.
  private func sampleMemory(_ reports: [WorkerReport], _ origin: Instant) {
    // Not before every worker has spoken: a reading without its account would be on another scale.
    guard scenario.measure.memory, Instant.now() >= nextMemorySample, reports.allSatisfy(\.hasPosted) else { return }
    let isDear = sampling.seconds > 0.008 * (ProcessMeters.cpuSeconds - cpuAtStart)
    nextMemorySample = Instant.now() + .milliseconds(isDear ? 500 : 50)
    let start = CPUTime.ofThisThread
    var sample = ProcessMeters.sample()
    // This thread frees what workers hand over, so its account belongs to theirs.
    let held = reports.compactMap(\.sessionBytes)
    if held.count == reports.count, let own = ProcessMeters.threadNetBytes {
      sample.sessionBytes = held.reduce(own, +)
    }
    sample.variant = Int32(variantNumber)
    sample.repetition = Int32(repetition)
    sample.time = (Instant.now() - runOrigin).value
    sample.live = reports.reduce(0) { $0 + $1.live }
    sample.streaming = sample.live - reports.reduce(0) { $0 + $1.started - $1.answered }
    sample.tokens = reports.reduce(0) { $0 + $1.tokens }
    sample.events = reports.reduce(0) { $0 + $1.events }
    do { try folder.append(sample, variantName: variant.name) } catch { failure = failure ?? "\(error)" }
    sampling.add(nanoseconds: CPUTime.ofThisThread - start)
  }
}
