// A seed becomes a run that looks like a real one: sessions with instants, intervals, seconds, memory, disconnections.
// No engine and no clock; the same seed gives the same run.

internal import Primitives
package import Recording

package struct SyntheticRun {
  package var record = RunRecord()
  package var sessions: [(variant: String, session: SessionRecord)] = []
  package var seconds: [(variant: String, row: TimeSeriesRow)] = []
  package var intervals: [(variant: String, second: Int, interval: IntervalRecord)] = []
  package var memory: [(variant: String, sample: MemorySample)] = []
  package var disconnects: [(variant: String, disconnect: DisconnectRecord)] = []

  /// What differs from run to run.
  package struct Shape {
    package var name = "synthetic"
    package var variants = ["whatwg"]
    package var sessions = 1_000
    package var repeats = 1
    package var tokens: Int64 = 64
    /// Median time to first token, and mean gap, in ms; a factor for each variant after the first.
    package var ttft = 200.0
    package var gap = 20.0
    package var factor = 1.0
    package var errorShare = 0.0
    package var withMemory = false
    package var slope = 0.0
    package var withRecovery = false
    package var gates: [String] = []

    package init() {}
  }

  package static func make(seed: UInt64 = 1, _ change: (inout Shape) -> Void = { _ in }) -> SyntheticRun {
    var shape = Shape()
    change(&shape)
    return SyntheticRun(seed: seed, shape)
  }

  private init(seed: UInt64, _ shape: Shape) {
    record.name = shape.name
    record.id = "0123456789abcdef"
    record.startedAtMilliseconds = 1_796_052_414_123
    record.startedAt = "2026-11-30T15:26:54.123Z"
    record.seed = seed
    record.version = "0.1.0"
    record.build = "release"
    record.command = "ssebench run Scenarios/synthetic.json"
    record.machine.system = "Debian GNU/Linux 12"
    record.machine.kernel = "6.18.0"
    record.machine.processor = "Xeon"
    record.machine.cores = 2
    record.machine.memoryBytes = 25_769_803_776
    record.machine.descriptorLimit = 20_000
    record.machine.host = "bench"
    record.scenario = .object([
      "name": .string(shape.name), "seed": .integer(Int64(seed)),
      "load": .object(["model": .string("closed"), "concurrency": .integer(200), "sessions": .integer(Int64(shape.sessions))]),
      "gates": .array(shape.gates.map { .string($0) }),
    ])
    var random = SeededRandom(seed: seed, purpose: "synthetic run")
    var clock = 0.0
    for (index, name) in shape.variants.enumerated() {
      record.variants.append(
        VariantRecord(name: name, client: .object(["stack": .string("curl"), "parser": .string(name)])))
      record.variants[index].usesMock = true
      record.variants[index].planned = shape.sessions * shape.repeats
      record.variants[index].requestedConcurrency = 200
      record.variants[index].steadyLiveRatio = 1
      record.variants[index].modelAsked = "mock-1"
      record.variants[index].models = ["mock-1": shape.sessions * shape.repeats]
      record.variants[index].hasLedger = shape.withRecovery
    }
    for repetition in 0..<shape.repeats {
      for (index, name) in shape.variants.enumerated() {
        let length = block(name, index, repetition, from: clock, shape, &random)
        clock += length
        record.variants[index].measuredSeconds += length
        record.variants[index].instrument.cpuSeconds += 0.08 * length
      }
    }
    record.durationSeconds = clock
  }

  /// One repeat of one variant: its sessions in a closed loop of 200 places, then what they leave in each second.
  private mutating func block(
    _ name: String, _ index: Int, _ repetition: Int, from origin: Double, _ shape: Shape, _ random: inout SeededRandom
  ) -> Double {
    let variant = record.variants[index]
    let factor = index == 0 ? 1.0 : shape.factor
    var places = (0..<min(200, shape.sessions)).map { Double($0) * 0.004 }
    var intervals: [Int: IntervalRecord] = [:]
    var rows: [Int: TimeSeriesRow] = [:]
    var last = 0.0
    for number in 0..<shape.sessions {
      let place = places.indices.min { places[$0] < places[$1] } ?? 0
      let start = places[place]
      var session = SessionRecord()
      session.variant = Int32(index)
      session.repetition = Int32(repetition)
      session.session = Int64(number)
      let ns = { (seconds: Double) in Int64((origin + seconds) * 1e9) }
      session.scheduledStart = ns(start)
      session.requestStart = ns(start + 0.000_05 + 0.000_1 * random.exponential())
      session.requestSent = session.requestStart + 60_000
      let first = shape.ttft / 1e3 * factor * Maths.exp(0.15 * random.normal())
      session.firstByte = session.requestSent + Int64(first * 0.98e9)
      session.firstEvent = session.firstByte + 20_000
      session.firstToken = session.requestSent + Int64(first * 1e9)
      session.firstOutput = session.firstToken
      var at = session.firstToken
      var longest: Int64 = 0
      var gaps: [Int64] = []
      for _ in 1..<max(2, shape.tokens) {
        let gap = Int64(shape.gap * 1e6 * factor * Maths.exp(0.1 * random.normal()))
        gaps.append(gap)
        longest = max(longest, gap)
        at += gap
      }
      session.lastToken = at
      session.maxGap = longest
      session.events = shape.tokens + 1
      session.tokenEvents = shape.tokens
      session.tokens = shape.tokens
      session.tokenSource = .usage
      session.bytes = shape.tokens * 210
      session.reads = shape.tokens
      session.largestBurst = 1
      session.httpStatus = 200
      session.end = at + 100_000
      if random.uniform() < shape.errorShare {
        session.outcome = .failed
        session.error = .truncated
      }
      let end = Double(session.end) / 1e9 - origin
      places[place] = end
      last = max(last, end)
      let second = Int(end)
      let interval = intervals[second] ?? IntervalRecord()
      intervals[second] = interval
      count(session, gaps, in: interval, &random)
      var row = rows[second] ?? TimeSeriesRow()
      row.completed += session.outcome == .completed ? 1 : 0
      row.failed += session.outcome == .failed ? 1 : 0
      row.events += session.events
      row.tokens += session.tokens
      row.bytes += session.bytes
      rows[second] = row
      rows[Int(start), default: TimeSeriesRow()].started += 1
      if shape.withRecovery && number % 5 == 0 { disconnect(name, &session, interval, &random) }
      sessions.append((name, session))
    }
    var live: Int64 = 0
    for second in 0...Int(last) {
      if let interval = intervals[second] {
        variant.total.add(interval)
        self.intervals.append((name, Int(origin) + second, interval))
      }
      var row = rows[second] ?? TimeSeriesRow()
      live += row.started
      row.variant = Int32(index)
      row.repetition = Int32(repetition)
      row.time = origin + Double(second + 1)
      row.wallMilliseconds = record.startedAtMilliseconds + Int64(row.time * 1e3)
      row.live = live
      row.cpu = 0.08 + 0.02 * random.uniform()
      row.residentBytes = 40_000_000 + live * 12_000
      row.allocatedBytes = 8_000_000 + live * 9_000
      if let ttft = intervals[second]?[.ttft], ttft.count > 0 {
        row.ttftP50 = ttft.value(atQuantile: 0.5)
        row.ttftP99 = ttft.value(atQuantile: 0.99)
      }
      seconds.append((name, row))
      live -= row.completed + row.failed
      variant.peakLive = max(variant.peakLive, row.live)
    }
    if shape.withMemory { samples(name, repetition, origin, last, shape, &random) }
    return last.rounded(.up)
  }

  private func count(_ session: SessionRecord, _ gaps: [Int64], in interval: IntervalRecord, _ random: inout SeededRandom) {
    for metric in Metric.allCases {
      if let value = session.latency(metric) { interval.record(metric, value) }
    }
    for gap in gaps {
      interval.record(.itl, gap)
      interval.record(.eventGap, gap)
      interval.record(.itlError, Int64(30_000 * random.exponential()))
      interval.record(.mockPace, Int64(50_000 * random.exponential()))
      interval.record(.loopIteration, Int64(20_000 * random.exponential()))
      interval.record(.callbackDwell, Int64(5_000 * random.exponential()))
      interval.readBytes.record(210, times: 1)
    }
    interval.record(.ttftError, Int64(40_000 * random.exponential()))
    interval.counters.started += 1
    interval.counters.completed += session.outcome == .completed ? 1 : 0
    interval.counters.failed += session.outcome == .failed ? 1 : 0
    if let error = session.error { interval.errors[Int(error.rawValue)] += 1 }
    interval.counters.events += session.events
    interval.counters.tokenEvents += session.tokenEvents
    interval.counters.tokens += session.tokens
    interval.counters.tokensFromUsage += session.tokens
    interval.counters.bytes += session.bytes
    interval.counters.reads += session.reads
    interval.counters.sampledEvents += 4
    interval.counters.sampledParseNanoseconds += 4 * 220
    interval.counters.sampledBytes += 4 * 210
  }

  private mutating func disconnect(
    _ name: String, _ session: inout SessionRecord, _ interval: IntervalRecord, _ random: inout SeededRandom
  ) {
    var disconnect = DisconnectRecord()
    disconnect.session = session.session
    disconnect.repetition = session.repetition
    disconnect.number = 1
    disconnect.cause = "reset"
    disconnect.detected = session.firstToken + 200_000_000
    disconnect.highest = 10
    disconnect.lastEventID = "10"
    disconnect.delayAsked = 50_000_000
    disconnect.delayTaken = 50_000_000 + Int64(2_000_000 * random.exponential())
    disconnect.attempts = 1
    disconnect.requestSent = disconnect.detected + disconnect.delayTaken + 300_000
    disconnect.firstByte = disconnect.requestSent + 900_000
    disconnect.firstNewEvent = disconnect.firstByte + 400_000
    session.disconnects = 1
    session.reconnects = 1
    session.expected = session.tokens
    session.delivered = session.tokens
    interval.counters.disconnects += 1
    interval.counters.reconnects += 1
    interval.counters.recovered += 1
    interval.counters.expected += session.tokens
    interval.counters.delivered += session.tokens
    interval.record(.recoveryTime, disconnect.firstNewEvent - disconnect.detected)
    interval.record(.recoveryDelay, disconnect.delayTaken)
    interval.record(.recoveryConnect, 300_000)
    interval.record(.recoveryFirstByte, 900_000)
    interval.record(.recoveryReplay, 400_000)
    disconnects.append((name, disconnect))
  }

  private mutating func samples(
    _ name: String, _ repetition: Int, _ origin: Double, _ last: Double, _ shape: Shape, _ random: inout SeededRandom
  ) {
    let count = 200
    for index in 0..<count {
      let share = Double(index) / Double(count - 1)
      var sample = MemorySample()
      sample.repetition = Int32(repetition)
      sample.time = Int64((origin + share * last) * 1e9)
      sample.live = share < 0.05 || share > 0.97 ? Int64(share * 100) : 200
      sample.tokens = Int64(share * Double(shape.tokens) * 200)
      sample.events = sample.tokens
      sample.allocated =
        8_000_000 + sample.live * 9_000 + Int64(shape.slope * Double(sample.tokens)) + Int64(400 * random.normal())
      sample.active = sample.allocated + 200_000
      sample.resident = sample.allocated + 900_000
      sample.retained = 4_000_000
      sample.rss = sample.allocated + 30_000_000
      sample.requests = 50_000 + sample.events / 100
      memory.append((name, sample))
    }
  }
}
