// A WuKongIM load, once: the mock where it is asked for, producers and readers on a thread of their own, and what they
// report carried into the variant's record and the run's folder.

import Engine
import Foundation
import Primitives
import Recording
import Reporting
import Scenarios
import Synchronization
import Transports
import WuKongIM

final class WuKongRunner {
  private let scenario: Scenario
  private let load: WuKongIMLoad
  private let variant: VariantRecord
  private let variantNumber: Int
  private let repetition: Int
  private let folder: RunFolder
  private let secrets: Secrets
  private let runOrigin: Instant
  private let runWallMilliseconds: Int64
  private(set) var failure: String?

  private let inbox = WuKongInbox()

  init(
    scenario: Scenario, load: WuKongIMLoad, variant: VariantRecord, variantNumber: Int, repetition: Int,
    folder: RunFolder, secrets: Secrets, runOrigin: Instant, runWallMilliseconds: Int64
  ) {
    self.scenario = scenario
    self.load = load
    self.variant = variant
    self.variantNumber = variantNumber
    self.repetition = repetition
    self.folder = folder
    self.secrets = secrets
    self.runOrigin = runOrigin
    self.runWallMilliseconds = runWallMilliseconds
  }

  func run() throws {
    var mock: MockProcess?
    defer { mock?.end() }
    var url = scenario.endpoint.url
    if url == nil {
      let started = try MockProcess(
        executable: Executable.path, settings: (scenario.endpoint.mock ?? MockSettings()).json.text(), arguments: ["--api", "wukongim", "--seed", String(scenario.seed)])
      mock = started
      url = started.urls[0]
    }
    guard let url, let address = WebAddress(url) else {
      throw EngineError("endpoint.url: a WuKongIM run needs an http or https URL of the server's HTTP API")
    }
    var settings = WuKongWorkloadSettings(load: load, host: address.host, port: address.port)
    settings.isSecure = address.isSecure
    settings.secure = secureSettings
    settings.headers = scenario.endpoint.headers.map { ($0.name, $0.value) }
    settings.total = scenario.client.timeouts.total
    settings.client.connectTimeout = scenario.client.timeouts.connect
    settings.seed = scenario.seed &+ UInt64(repetition)
    settings.variant = Int32(variantNumber)
    settings.repetition = Int32(repetition)
    let origin = Instant.now()
    let cpuBefore = ProcessMeters.cpuSeconds
    let workload = try WuKongWorkload(settings: settings, origin: origin)
    variant.planned = (variant.planned ?? 0) + load.readers
    variant.usesMock = mock != nil
    variant.hasLedger = true
    variant.numbering = .known
    variant.tokensKnown = false
    connect(workload)
    let box = UncheckedBox(workload)
    Thread { [inbox] in
      box.value.run()
      let counts = box.value.counts
      let problems = box.value.problems
      let dialFailures = box.value.dialFailures
      inbox.change {
        $0.counts = counts
        $0.problems = problems
        $0.dialFailures = dialFailures
        $0.isFinished = true
      }
    }.start()
    follow(workload, origin)
    variant.measuredSeconds += (Instant.now() - origin).seconds
    variant.instrument.cpuSeconds += ProcessMeters.cpuSeconds - cpuBefore
  }

  private var secureSettings: SecureSettings {
    var settings = SecureSettings()
    settings.caFile = scenario.endpoint.tls.ca
    settings.certificateFile = scenario.endpoint.tls.cert
    settings.keyFile = scenario.endpoint.tls.key
    settings.verifies = !scenario.endpoint.tls.insecure
    settings.resolve = scenario.endpoint.resolve
    settings.connectTimeout = scenario.client.timeouts.connect
    return settings
  }

  private func connect(_ workload: WuKongWorkload) {
    workload.onSample = { [inbox] sample, time in inbox.change { $0.samples.append((sample, time.value)) } }
    workload.onSession = { [inbox] record in inbox.change { $0.sessions.append(record) } }
    workload.onDisconnect = { [inbox] record in inbox.change { $0.disconnects.append(record) } }
    workload.onTick = { [inbox] counts, live in
      inbox.change {
        $0.counts = counts
        $0.live = live
      }
    }
  }

  private func follow(_ workload: WuKongWorkload, _ origin: Instant) {
    var last = WuKongCounts()
    var second = 1
    let interval = IntervalRecord()
    while true {
      usleep(25_000)
      let taken = inbox.take()
      take(taken, into: interval)
      if Interrupts.seen > 0 || failure != nil { workload.stop() }
      let time = (Instant.now() - origin).seconds
      if time >= Double(second) || taken.isFinished {
        closeSecond(interval, taken, last, time, origin)
        last = taken.counts
        second = Int(time) + 1
      }
      do { try folder.flush(now: false) } catch { failure = failure ?? "\(error)" }
      if taken.isFinished {
        finish(taken)
        return
      }
    }
  }

  private func take(_ taken: WuKongReport, into interval: IntervalRecord) {
    for (sample, time) in taken.samples {
      switch sample {
      case .append: interval.record(.append, time)
      case .fanOut: interval.record(.fanOut, time)
      case .recovery: interval.record(.recoveryTime, time)
      case .history: interval.record(.recoveryFirstByte, time)
      }
    }
    variant.peakLive = max(variant.peakLive, Int64(taken.live))
    do {
      for record in taken.sessions {
        interval.counters.started += 1
        switch record.outcome {
        case .completed: interval.counters.completed += 1
        case .failed:
          interval.counters.failed += 1
          if let kind = record.error { interval.errors[Int(kind.rawValue)] += 1 }
        case .cancelled: interval.counters.cancelled += 1
        case .dropped: break
        }
        interval.counters.good += record.outcome == .completed ? 1 : 0
        interval.counters.expected += max(0, record.expected)
        interval.counters.delivered += record.delivered
        interval.counters.lost += record.lost
        interval.counters.undelivered += record.undelivered
        interval.counters.duplicated += record.duplicated
        interval.counters.reordered += record.reordered
        interval.counters.corrupted += record.corrupted
        interval.counters.disconnects += Int64(record.disconnects)
        interval.counters.reconnects += Int64(record.reconnects)
        interval.counters.bytes += record.bytes
        interval.counters.reads += record.reads
        try folder.append(record, variantName: variant.name)
      }
      for record in taken.disconnects {
        interval.counters.recovered += record.firstNewEvent >= 0 ? 1 : 0
        try folder.append(record, variantName: variant.name)
      }
    } catch { failure = failure ?? "\(error)" }
  }

  private func closeSecond(
    _ interval: IntervalRecord, _ taken: WuKongReport, _ last: WuKongCounts, _ time: Double, _ origin: Instant
  ) {
    interval.counters.events += Int64(taken.counts.eventsReceived - last.eventsReceived)
    variant.total.add(interval)
    let offset = (origin - runOrigin).seconds
    var row = TimeSeriesRow()
    row.variant = Int32(variantNumber)
    row.repetition = Int32(repetition)
    row.time = offset + time
    row.wallMilliseconds = runWallMilliseconds + Int64((offset + time) * 1000)
    row.started = interval.counters.started
    row.live = Int64(taken.live)
    row.completed = interval.counters.completed
    row.failed = interval.counters.failed
    row.events = interval.counters.events
    row.bytes = Int64(taken.counts.bytesReceived - last.bytesReceived)
    row.residentBytes = ProcessMeters.residentBytes
    row.allocatedBytes = ProcessMeters.allocatedBytes
    do { try folder.append(row, variantName: variant.name) } catch { failure = failure ?? "\(error)" }
    interval.clear()
  }

  private func finish(_ taken: WuKongReport) {
    var record = variant.wukongim ?? WuKongRecord()
    record.add(WuKongRecord(taken.counts))
    variant.wukongim = record
    for (kind, detail) in taken.dialFailures {
      variant.errorSamples[kind, default: []].append(secrets.scrub(detail))
    }
    for problem in taken.problems.prefix(3) {
      variant.errorSamples[.streamError, default: []].append(secrets.scrub(problem))
    }
  }
}

/// What the workload's thread has handed over.
private struct WuKongReport: Sendable {
  var samples: [(WuKongSample, Int64)] = []
  var sessions: [SessionRecord] = []
  var disconnects: [DisconnectRecord] = []
  var counts = WuKongCounts()
  var live = 0
  var problems: [String] = []
  var dialFailures: [SessionErrorKind: String] = [:]
  var isFinished = false
}

/// Filled by the workload's thread, emptied by the reporting thread.
private final class WuKongInbox: Sendable {
  private let report = Mutex(WuKongReport())

  func change(_ body: (inout WuKongReport) -> Void) { report.withLock { body(&$0) } }

  func take() -> WuKongReport {
    report.withLock { report in
      let taken = report
      report.samples = []
      report.sessions = []
      report.disconnects = []
      return taken
    }
  }
}

/// A workload goes to the one thread that runs it; only `stop`, which is made for it, is called from another.
private struct UncheckedBox: @unchecked Sendable {
  let value: WuKongWorkload
  init(_ value: WuKongWorkload) { self.value = value }
}

extension WuKongRecord {
  init(_ counts: WuKongCounts) {
    self.init()
    replies = counts.replies
    repliesFailed = counts.repliesFailed
    requests = counts.requests
    retries = counts.retries
    cacheMisses = counts.cacheMisses
    deltasSent = counts.deltasSent
    connects = counts.connects
    histories = counts.histories
    historiesFailed = counts.historiesFailed
    eventsReceived = counts.eventsReceived
    bytesReceived = counts.bytesReceived
    kills = counts.kills
    reopened = counts.reopened
    disconnects = counts.disconnects
    readersCompleted = counts.readersCompleted
    readersFailed = counts.readersFailed
    wrongTexts = counts.wrongTexts
    truncatedTexts = counts.truncatedTexts
    duplicates = counts.timeline.duplicates
    covered = counts.timeline.covered
    gaps = counts.timeline.gaps
    overflow = counts.timeline.overflow
    undecodable = counts.timeline.undecodable
    ignored = counts.timeline.ignored
    staleHistories = counts.timeline.staleHistories
  }
}
