// A summary has the contract's keys, says null where nothing was measured, and doubts itself where it should.

import Testing
import Analysis
import Primitives
import Recording
import TestSupport

@Suite struct SummaryTests {
  private static func record(_ change: (inout RunRecord) -> Void) -> Summary {
    var record = SyntheticRun.make { $0.sessions = 700 }.record
    change(&record)
    return Summary(record)
  }

  private static func codes(_ summary: Summary) -> [String] { summary.warnings.map(\.code) }

  @Test func variant_HoldsTheKeysOfTheContract() throws {
    let run = SyntheticRun.make { $0.withRecovery = true; $0.sessions = 700 }
    run.record.variants[0].memory = MemoryFigures()
    let variant = try #require(Summary(run.record).variants.first)

    let keys = [
      "name", "client", "sessions", "errors", "errors_ratio", "events", "tokens", "bytes", "reads", "ttfb_ms", "ttft_ms",
      "first_event_ms", "first_output_ms", "event_gap_ms", "itl_ms", "tpot_ms", "e2e_ms", "max_gap_ms", "send_lag_ms",
      "connect_ms", "tls_ms", "from_scheduled", "goodput", "streaming", "models", "memory", "recovery", "parser", "instrument",
    ]
    for key in keys { #expect(variant[key] != nil, "\(key) is missing") }
    #expect(variant["ttft_ms"]?.asObject?.keys == Figure.latencyFields)
    #expect(
      variant["sessions"]?.asObject?.keys == ["planned", "started", "completed", "failed", "cancelled", "dropped", "peak_live"])
    #expect(
      variant["errors"]?.asObject?.keys == [
        "dns", "refused", "timeout_connect", "tls", "reset", "protocol", "http_3xx", "redirect_loop", "http_4xx",
        "http_429", "http_5xx", "content_type", "unsupported_encoding", "timeout_first_event", "timeout_idle",
        "timeout_total", "truncated", "stream_error", "parse", "too_large", "interrupted",
      ])
    #expect(variant["tokens"]?["source"]?.asString == "usage")
  }

  @Test(arguments: [(10, 0), (11, 1), (63, 1), (64, 2), (129, 2), (130, 3), (661, 3), (662, 4), (6_635, 4), (6_636, 5)])
  func percentiles_StandOnlyWhereTheSampleSupportsThem(count: Int, supported: Int) {
    let histogram = Histogram()
    for value in 1...count { histogram.record(Int64(value) * 1_000_000, times: 1) }

    let figures = Figure.latency(histogram)

    let known = ["p50", "p90", "p95", "p99", "p999"].filter { figures[$0]?.asDouble != nil }
    #expect(known.count == supported)
    #expect(figures["max"]?.asDouble == Double(count))
  }

  @Test func unmeasured_IsNullAndNeverZero() throws {
    let record = RunRecord()
    var run = record
    run.variants = [VariantRecord(name: "x", client: .null)]
    run.variants[0].tokensKnown = false
    let variant = try #require(Summary(run).variants.first)

    for key in ["errors_ratio", "tokens", "ttft_ms", "itl_ms", "tpot_ms", "delivery_ms", "memory", "recovery"] {
      #expect(variant[key] == .null, "\(key)")
    }
    #expect(variant["goodput"]?["ratio"] == .null)
    #expect(variant["events"]?["per_s"] == .null)
    #expect(variant["e2e_ms"]?["p50"] == .null && variant["e2e_ms"]?["mean"] == .null)
    #expect(variant["parser"]?["cpu_ns_per_event"] == .null)
    #expect(variant["instrument"]?["ttft_error_ms"] == .null)
  }

  @Test func smallSample_IsWarnedOfWithTheSizeNeeded() {
    let summary = Self.record { _ in }

    let warning = summary.warnings.first { $0.code == "sample_too_small" }
    #expect(warning?.message.contains("6636") == true)
    #expect(summary.verdict == .passed)
  }

  @Test func ownLagAboveItsLimit_IsInvalid() {
    let summary = Self.record { record in
      for _ in 0..<20_000 { record.variants[0].total.record(.loopIteration, 2_000_000) }
    }

    #expect(Self.codes(summary).first == "client_bottleneck")
    #expect(summary.verdict == .invalid && summary.exitStatus == 3)
    #expect(summary.variants[0]["instrument"]?["bottleneck"]?.asString?.isEmpty == false)
  }

  @Test func lagWithinFivePercentOfSlowTokens_IsNoBottleneck() {
    let run = SyntheticRun.make { $0.sessions = 700; $0.gap = 100; $0.ttft = 400 }
    for _ in 0..<90_000 { run.record.variants[0].total.record(.loopIteration, 4_000_000) }

    #expect(Summary(run.record).verdict == .passed)
  }

  @Test func saturatedWorker_IsInvalid() {
    let summary = Self.record { $0.variants[0].instrument.saturatedSeconds = 3 }

    #expect(summary.verdict == .invalid)
  }

  @Test func openLoadStartedLate_IsInvalid() {
    let summary = Self.record { record in
      record.variants[0].requestedConcurrency = nil
      record.variants[0].planned = 700
      record.variants[0].total.counters.startedLate = 8
    }

    #expect(Self.codes(summary).contains("load_not_reached"))
    #expect(summary.verdict == .invalid)
  }

  @Test func emptyPlacesOfAClosedLoad_AreInvalid() {
    #expect(Self.record { $0.variants[0].steadyLiveRatio = 0.98 }.verdict == .invalid)
    #expect(Self.record { $0.variants[0].steadyLiveRatio = 0.99 }.verdict == .passed)
  }

  @Test func mockBehindItsSchedule_IsInvalid() {
    let summary = Self.record { record in
      for _ in 0..<5_000 { record.variants[0].total.record(.mockPace, 30_000_000) }
    }

    #expect(summary.verdict == .invalid)
  }

  @Test func verdicts_ComeInTheirOrder() {
    func verdict(_ change: (inout RunRecord) -> Void) -> (Verdict, Int32) {
      let summary = Self.record(change)
      return (summary.verdict, summary.exitStatus)
    }
    let failing: JSONValue = .object(["gates": .array([.string("ttft_ms.p50 < 1")])])

    #expect(verdict { $0.scenario = failing } == (.failed, 1))
    #expect(verdict { $0.scenario = failing; $0.variants[0].steadyLiveRatio = 0.5 } == (.invalid, 3))
    #expect(verdict { $0.scenario = failing; $0.partialBecause = "Interrupted."; $0.variants[0].steadyLiveRatio = 0.5 } == (.partial, 130))
    #expect(verdict { $0.partialBecause = "Disk full."; $0.ioError = true } == (.partial, 74))
  }

  @Test func noSessionConnected_Is69AndNoneCompletedIs1() {
    func run(_ kind: SessionErrorKind, disconnects: Int64 = 0) -> Int32 {
      var record = RunRecord()
      record.variants = [VariantRecord(name: "x", client: .null)]
      record.variants[0].total.counters.started = 20
      record.variants[0].total.counters.failed = 20
      record.variants[0].total.counters.disconnects = disconnects
      record.variants[0].total.errors[Int(kind.rawValue)] = 20
      return Summary(record).exitStatus
    }

    #expect(run(.refused) == 69)
    #expect(run(.http5xx) == 1)
    // They had connected, and could not again.
    #expect(run(.refused, disconnects: 20) == 1)
  }

  @Test func failedSessionsWithoutAGate_ArePassedWithAWarning() {
    let run = SyntheticRun.make { $0.sessions = 700; $0.errorShare = 0.05 }
    let summary = Summary(run.record)

    #expect(summary.verdict == .passed)
    #expect(Self.codes(summary).contains("errors_seen"))
    #expect(Self.codes(summary).contains("truncated_streams"))
  }

  @Test func doubts_HaveTheirWords() {
    let summary = Self.record { record in
      let variant = record.variants[0]
      variant.total.counters.fakeStreaming = 100
      variant.stormSpread = 1_000_000
      variant.stormSize = 50
      variant.memory = MemoryFigures()
      variant.memory?.slopeLow = 0.5
      variant.memory?.slopeHigh = 0.7
      variant.models = ["other": 3]
      variant.countsFromRequestStart = true
      record.build = "debug"
    }

    for code in ["buffered", "herd", "memory_growth", "model_mismatch", "origin_request_start", "debug_build"] {
      #expect(Self.codes(summary).contains(code), "\(code)")
    }
    #expect(summary.warnings.allSatisfy { !$0.hint.isEmpty && $0.message.hasSuffix(".") })
  }

  @Test func burstsOfASlowConsumer_AreNotThePaths() {
    var record = RunRecord()
    let variant = VariantRecord(name: "x", client: .object(["consumer": .object(["slow": .string("10ms")])]))
    variant.total.counters.tokenEvents = 100
    variant.total.counters.burstTokens = 80
    variant.total.counters.completed = 10
    variant.total.counters.fakeStreaming = 10
    variant.total[.maxGap].record(200_000_000, times: 1)
    record.variants = [variant]

    let summary = Summary(record)

    #expect(summary.variants[0]["streaming"]?["burst_ratio"] == .null)
    #expect(!Self.codes(summary).contains("bursts") && !Self.codes(summary).contains("buffered"))
  }

  /// Half a stream in bursts with pauses between is no single piece, and no stream at full speed either.
  @Test(arguments: [(pause: Int64(200_000_000), isNamed: true), (pause: 1_000_000, isNamed: false)])
  func tokensInBursts_AreNamedWhereThePathPauses(pause: Int64, isNamed: Bool) throws {
    let summary = Self.record { record in
      let total = record.variants[0].total
      total.counters.fakeStreaming = 0
      total.counters.tokenEvents = 100
      total.counters.burstTokens = 80
      total[.maxGap].clear()
      total[.maxGap].record(pause, times: 1)
    }

    #expect(summary.variants[0]["streaming"]?["burst_ratio"]?.asDouble == 0.8)
    #expect(Self.codes(summary).contains("bursts") == isNamed)
    if isNamed { #expect(summary.warnings.first { $0.code == "bursts" }?.hint.contains("Nagle") == true) }
  }
}

@Suite struct MemoryAnalysisTests {
  private static func figures(slope: Double) -> MemoryFigures {
    let run = SyntheticRun.make(seed: 5) { $0.withMemory = true; $0.slope = slope; $0.tokens = 2_000; $0.sessions = 200 }
    return MemoryAnalysis.figures(run.memory.map(\.sample))
  }

  @Test func noGrowth_IsFlat() throws {
    let figures = Self.figures(slope: 0)

    let low = try #require(figures.slopeLow)
    let high = try #require(figures.slopeHigh)
    #expect(low <= 0 && high >= 0 && low > -1 && high < 1)
  }

  @Test(arguments: [0.64, 5, 64])
  func growth_IsFoundWithItsSize(slope: Double) throws {
    let figures = Self.figures(slope: slope)

    let found = try #require(figures.slopeBytesPerToken)
    #expect(abs(found - slope) / slope < 0.05)
    #expect(try #require(figures.slopeLow) > 0)
  }

  @Test func perSession_IsTheStepFromIdleToPlateau() throws {
    #expect(abs(try #require(Self.figures(slope: 0).perSessionBytes) - 9_000) < 100)
  }

  /// What the process gives back meanwhile, and what it does otherwise, are no session's.
  @Test(arguments: [-5_000, 0, 900, 9_000])
  func perSession_IsNeverNegativeNorNoise(bytes: Int) throws {
    let samples = (0..<100).map { index -> MemorySample in
      var sample = MemorySample()
      sample.time = Int64(index) * 50_000_000
      sample.live = index < 10 ? 0 : 20
      sample.tokens = Int64(index) * 100
      sample.allocated = 2_000_000 + sample.live * Int64(bytes) + Int64(index % 2) * 200_000
      return sample
    }

    let figures = MemoryAnalysis.figures(samples)

    if bytes == 9_000 {
      #expect(abs(try #require(figures.perSessionBytes) - 9_000) < 3_000 && figures.perSessionAbsentBecause == nil)
    } else {
      #expect(figures.perSessionBytes == nil && figures.perSessionAbsentBecause != nil)
    }
  }

  /// At full speed the first events of some sessions come late, and each takes its buffers then: no growth over tokens.
  @Test func buffersTakenWithLateFirstEvents_AreNoGrowth() throws {
    let samples = (0..<200).map { index -> MemorySample in
      var sample = MemorySample()
      sample.time = Int64(index) * 100_000_000
      sample.live = 1_000
      sample.streaming = min(1_000, Int64(index) * 12)
      sample.tokens = Int64(index) * 10_000
      sample.allocated = 1_000_000 + sample.streaming * 600 + Int64(index % 3)
      return sample
    }

    let figures = MemoryAnalysis.figures(samples)

    #expect(abs(try #require(figures.slopeBytesPerToken)) < 0.01)
    #expect(try #require(figures.slopeLow) <= 0)
  }

  /// Rows on their way to the disk, in waves that grow with the load's own: what lies beneath them counts.
  @Test(arguments: [0.0, 0.5]) func wavesAreNoGrowth(slope: Double) throws {
    var random = SeededRandom(seed: 9, purpose: "waves")
    let samples = (0..<6_000).map { index -> MemorySample in
      var sample = MemorySample()
      sample.time = Int64(index) * 50_000_000
      sample.live = 2_000
      sample.streaming = 2_000
      sample.tokens = Int64(index) * 1_000
      let height = 140_000 + 40 * Double(index)
      sample.allocated = Int64(36_000_000 + slope * Double(sample.tokens) + height * Double(index % 20) / 20 + random.uniform() * 2_000)
      return sample
    }

    let figures = MemoryAnalysis.figures(samples)

    let low = try #require(figures.slopeLow)
    let found = try #require(figures.slopeBytesPerToken)
    if slope == 0 {
      #expect(low <= 0 && abs(found) < 0.01)
    } else {
      #expect(low > 0 && abs(found - slope) < 0.05 * slope)
    }
  }

  @Test func tooFewSamples_GiveNoSlope() {
    #expect(MemoryAnalysis.figures([]).slopeBytesPerToken == nil)
  }
}

@Suite struct ChangePointTests {
  @Test func step_IsFoundWhereItIs() {
    var random = SeededRandom(seed: 2, purpose: "trend")
    let values = (0..<40).map { ($0 < 25 ? 100 : 110) + 2 * random.normal() }

    let found = ChangePoints.of(values)

    #expect(found.count == 1)
    #expect(found.first.map { abs($0 - 25) <= 1 } == true)
  }

  @Test func noise_HasNoChange() {
    var random = SeededRandom(seed: 3, purpose: "trend")
    var alarms = 0
    for _ in 0..<40 where !ChangePoints.of((0..<30).map { _ in random.normal() }).isEmpty { alarms += 1 }

    #expect(alarms <= 3, "seed 3")
  }
}

@Suite struct MergeTests {
  private static func shards() -> [RunRecord] {
    (0..<4).map { index in
      var record = SyntheticRun.make(seed: 7 + UInt64(index)) { $0.sessions = 300; $0.errorShare = 0.05 }.record
      record.seed = 42
      record.scenario = .object(["name": .string("merge")])
      record.shard = RunShard(index: index, count: 4)
      return record
    }
  }

  private static func merged(_ records: [RunRecord]) throws -> RunRecord {
    var merge = RunMerge()
    for record in records { try merge.add(record, name: "shard-\(record.shard?.index ?? 0)") }
    return try #require(merge.finish(unreadable: []))
  }

  @Test func merge_IsTheSumAndOrderDoesNotMatter() throws {
    let shards = Self.shards()
    let one = Summary(try Self.merged(shards)).tree.text()
    let other = Summary(try Self.merged(shards.reversed())).tree.text()
    let ofMerges = Summary(
      try Self.merged([Self.merged(Array(shards[0...1])), Self.merged(Array(shards[2...3]))])).tree.text()

    #expect(one == other)
    #expect(one == ofMerges)
    let sum = try Self.merged(shards)
    #expect(sum.variants[0].total.counters.started == 1_200)
    #expect(sum.variants[0].total[.ttft].count == shards.reduce(0) { $0 + $1.variants[0].total[.ttft].count })
    #expect(Summary(sum).verdict == .passed)
  }

  @Test func missingShard_MakesItPartialAndIsNamed() throws {
    let summary = Summary(try Self.merged(Array(Self.shards()[0...2])))

    #expect(summary.verdict == .partial)
    #expect(summary.reasons.first?.contains("Shard 3 of 4 missing") == true)
  }

  @Test func otherSeedScenarioOrCount_IsRefused() throws {
    for change: (inout RunRecord) -> Void in [
      { $0.seed = 1 }, { $0.scenario = .null }, { $0.shard?.count = 5 }, { $0.version = "9" }, { $0.shard?.index = 0 },
      { $0.shard = nil },
    ] {
      var shards = Self.shards()
      change(&shards[1])
      #expect(throws: RunMerge.Refusal.self) { try Self.merged(shards) }
    }
  }
}
