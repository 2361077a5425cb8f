// What is known of a load only as a whole, before it and after it: what was asked for and reached, the instrument's own account and the
// mock's, allocations.

import Analysis
import Arrivals
import Engine
import Foundation
import Primitives
import Recording
import Reporting
import Scenarios
import Streams

extension VariantRunner {
  // MARK: Figures of the whole load

  func fillVariant(_ settings: SessionSettings, _ plan: Plan) {
    variant.usesMock = settings.usesMock
    variant.countsFromRequestStart = !settings.client.seesRequestSent
    variant.hasLedger = settings.hasLedger || scenario.client.reconnect.policy != .none
    variant.numbering = settings.verify != nil ? .rule : settings.usesMock ? .known : .none
    if comparesClients, variant.oddStreamsRatio == nil { variant.oddStreamsRatio = OddStreams.ratio(of: settings.parser) }
    variant.hasSLO = !scenario.slo.isEmpty
    variant.modelAsked = settings.model.map { secrets.scrub($0) }
    variant.tokensKnown = settings.decoder != .none || !settings.isLLM
    variant.planned = plan.planned.map { $0 + (variant.planned ?? 0) }
    // Of this process: a shard has its share of the places.
    if case .closed(let closed) = plan.kind { variant.requestedConcurrency = closed.places }
    if case .open = plan.kind {
      let time = plan.end ?? .zero
      if let count = plan.planned, time.value > 0 {
        variant.requestedRate = Double(count) / time.seconds
      } else {
        variant.requestedRate = scenario.load.rate
      }
    }
    if scenario.measure.memory && !ProcessMeters.hasJemalloc {
      variant.memoryAbsentBecause = "this process allocates without jemalloc"
    }
  }

  func closeFigures(
    _ reports: [WorkerReport], cpuBefore: Double, idle: Int64, plan: Plan, length: Double
  ) {
    var instrument = variant.instrument
    instrument.cpuSeconds += ProcessMeters.cpuSeconds - cpuBefore
    instrument.workers = reports.count
    instrument.realtime = reports.allSatisfy(\.isRealtime)
    for report in reports where report.wall > 0 {
      instrument.busiestWorkerRatio = max(instrument.busiestWorkerRatio, Double(report.cpu) / Double(report.wall))
      instrument.saturatedSeconds = max(instrument.saturatedSeconds, report.saturatedSeconds)
      if report.receiveQueue > 0 {
        instrument.receiveQueueBytes = max(instrument.receiveQueueBytes ?? 0, report.receiveQueue)
      }
      if report.runQueueWait >= 0, report.running + report.runQueueWait > 0 {
        let ratio = Double(report.runQueueWait) / Double(report.running + report.runQueueWait)
        instrument.runQueueWaitRatio = max(instrument.runQueueWaitRatio ?? 0, ratio)
      }
    }
    if let storm = storms.largest(over: Nanoseconds.seconds(length).value), storm.size > variant.stormSize {
      variant.stormSize = storm.size
      variant.stormSpread = storm.spread
    }
    if let stats = mock?.ask("stats")?["stats"] { readMock(stats, &instrument) }
    variant.instrument = instrument
    let steady = reports.reduce(0) { $0 + $1.steadyTime }
    // Under a second there is no steady state to speak of; and where sessions fail, the server empties the places.
    if let concurrency = variant.requestedConcurrency, steady >= Double(reports.count),
      totals.completed > totals.failed, scenario.load.thinkTime == .constant(0)
    {
      let mean = reports.reduce(0) { $0 + $1.liveTime } / (steady / Double(reports.count))
      variant.steadyLiveRatio = min(variant.steadyLiveRatio ?? 1, mean / Double(concurrency))
    }
    if variant.requestedRate != nil, length > 0 {
      let time = plan.end?.seconds ?? length
      variant.achievedRate = Double(totals.started) / max(0.001, min(length, time))
    }
    if scenario.measure.memory && ProcessMeters.hasJemalloc {
      var memory = variant.memory ?? MemoryFigures()
      memory.idleBytes = idle
      let events = reports.reduce(0) { $0 + $1.allocatedEvents }
      if events > 0 {
        // Each worker of a URLSession stack has counted the whole process.
        let counts = scenario.client.stack.isURLSession ? reports.count : 1
        let divisor = Double(events * Int64(counts))
        memory.allocationsPerEvent = Double(reports.reduce(0) { $0 + max(0, $1.allocations) }) / divisor
        if reports.allSatisfy({ $0.allocatedBytes >= 0 }) {
          memory.allocatedBytesPerEvent = Double(reports.reduce(0) { $0 + $1.allocatedBytes }) / divisor
        }
        memory.countsWholeProcess = scenario.client.stack.isURLSession
      }
      memory.samplingCPUSeconds = (memory.samplingCPUSeconds ?? 0) + sampling.seconds
      memory.samples += sampling.samples
      variant.memory = memory
    }
  }

  /// The mock's account of itself.
  private func readMock(_ stats: JSONValue, _ instrument: inout InstrumentRecord) {
    instrument.mockCPUSeconds = (instrument.mockCPUSeconds ?? 0) + (stats["cpu_s"]?.asDouble ?? 0)
    instrument.mockEvents = (instrument.mockEvents ?? 0) + Int64(stats["events"]?.asInt ?? 0)
    if let wait = stats["run_queue_wait_s"]?.asDouble, let cpu = stats["cpu_s"]?.asDouble, wait + cpu > 0 {
      instrument.mockRunQueueWaitRatio = max(instrument.mockRunQueueWaitRatio ?? 0, wait / (wait + cpu))
    }
    for entry in stats["pace"]?["counts"]?.asArray ?? [] {
      guard let index = entry[0]?.asInt, let count = entry[1]?.asInt, index >= 0, index < Histogram.size else { continue }
      let (lowest, width) = Histogram.range(at: index)
      variant.total[.mockPace].record(lowest + width / 2, times: Int64(count))
    }
  }

  func progress(_ reports: [WorkerReport], _ origin: Instant) -> LiveProgress {
    var progress = LiveProgress()
    progress.variant = variant.name
    progress.live = live
    progress.started = started
    progress.completed = totals.completed
    progress.failed = totals.failed
    progress.events = reports.reduce(0) { $0 + $1.events }
    progress.planned = variant.planned
    progress.elapsed = (Instant.now() - origin).seconds
    progress.duration = scenario.load.duration.map { ($0 + scenario.measure.warmUp).seconds }
    if variant.total[.ttft].count > 0 { progress.ttftP50 = variant.total[.ttft].value(atQuantile: 0.5) }
    return progress
  }
}
