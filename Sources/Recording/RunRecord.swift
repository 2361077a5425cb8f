// Everything a run knows when it is over (or so far), before any figure is computed: what Analysis reads. One
// VariantRecord a variant; bounded in size whatever the length of the run.

package import Primitives

/// One second of one variant, as it happened: the row of `timeseries.csv`.
package struct TimeSeriesRow: Sendable {
  package var variant: Int32 = 0
  package var repetition: Int32 = 0
  /// Seconds since the run's start, at the end of the interval.
  package var time: Double = 0
  /// Wall clock at that instant, in milliseconds since 1970, so that shards can be aligned.
  package var wallMilliseconds: Int64 = 0
  package var started: Int64 = 0
  package var live: Int64 = 0
  package var completed: Int64 = 0
  package var failed: Int64 = 0
  package var events: Int64 = 0
  package var tokens: Int64 = 0
  package var bytes: Int64 = 0
  /// CPU seconds of the client in this interval ÷ its length; 2.0 is two cores.
  package var cpu: Double = 0
  package var residentBytes: Int64 = 0
  /// jemalloc's `stats.allocated`; −1 without jemalloc.
  package var allocatedBytes: Int64 = -1
  package var ttftP50: Int64 = -1
  package var ttftP99: Int64 = -1

  package init() {}
}

/// One reading of memory: the row of `memory.csv`.
package struct MemorySample: Sendable {
  package var variant: Int32 = 0
  package var repetition: Int32 = 0
  /// Nanoseconds after the run's start.
  package var time: Int64 = 0
  package var live: Int64 = 0
  /// Tokens received so far by the variant, and by the sessions live now.
  package var tokens: Int64 = 0
  package var events: Int64 = 0
  /// Live sessions that have had an event; −1 where not known.
  package var streaming: Int64 = -1
  package var allocated: Int64 = -1
  /// Bytes that the threads of the sessions and the reporting thread hold, to the byte, with the tables' share of each
  /// live session; −1 where the stack works on threads of its own, and the allocator's figure stands for it.
  package var sessionBytes: Int64 = -1
  /// What slope and bytes per session are taken from.
  package var held: Int64 {
    get { sessionBytes >= 0 ? sessionBytes : allocated }
    set { if sessionBytes >= 0 { sessionBytes = newValue } else { allocated = newValue } }
  }
  package var active: Int64 = -1
  package var resident: Int64 = -1
  package var retained: Int64 = -1
  /// The kernel's resident set.
  package var rss: Int64 = -1
  /// Requests to the allocator so far (jemalloc's nrequests), −1 where not read.
  package var requests: Int64 = -1

  package init() {}
}

/// One disconnection of one session: the row of `recovery.csv`. Instants in ns after the run's start, −1 = never.
package struct DisconnectRecord: Sendable {
  package var variant: Int32 = 0
  package var repetition: Int32 = 0
  package var session: Int64 = 0
  /// Count from 1 within the session.
  package var number: Int32 = 0
  /// What ended the connection: a `SessionErrorKind` word, or "end" for a clean end of the body.
  package var cause: String = ""
  package var detected: Int64 = -1
  /// The highest event number held, and the id sent as `Last-Event-ID` (empty: none sent).
  package var highest: Int64 = 0
  package var lastEventID: String = ""
  package var delayAsked: Int64 = -1
  package var delayTaken: Int64 = -1
  package var attempts: Int32 = 0
  /// When the first of them began; `delayTaken` is that of the last.
  package var firstAttempt: Int64 = -1
  package var requestSent: Int64 = -1
  package var firstByte: Int64 = -1
  package var firstNewEvent: Int64 = -1
  package var replayed: Int64 = 0

  package init() {}
}

/// A line from the slope of memory over tokens; nil fields where it could not be computed.
package struct MemoryFigures: Sendable {
  /// Never below 0; nil with the reason beside it.
  package var perSessionBytes: Double?
  package var perSessionAbsentBecause: String?
  package var slopeAbsentBecause: String?
  package var slopeBytesPerToken: Double?
  package var slopeLow: Double?
  package var slopeHigh: Double?
  package var allocationsPerEvent: Double?
  package var allocatedBytesPerEvent: Double?
  /// Whether these two are of every thread of the process, and not of the workers' alone: a stack with threads of its own.
  package var countsWholeProcess: Bool?
  package var peakAllocatedBytes: Int64?
  package var peakRSSBytes: Int64?
  package var afterTeardownBytes: Int64?
  package var idleBytes: Int64?
  /// CPU seconds that the readings of memory took, and how many they were.
  package var samplingCPUSeconds: Double?
  package var samples: Int64 = 0

  package init() {}
}

/// The instrument's own load over one variant.
package struct InstrumentRecord: Sendable {
  /// CPU seconds of the client process while the variant ran, and of its busiest worker thread's share of a core.
  package var cpuSeconds: Double = 0
  package var busiestWorkerRatio: Double = 0
  /// The longest time for which a worker was above 90 % of its core, in seconds.
  package var saturatedSeconds: Double = 0
  /// Time waiting for a core ÷ (running + waiting), from the kernel; nil where it cannot be read.
  package var runQueueWaitRatio: Double?
  package var workers: Int = 1
  package var realtime = false
  /// What the mock reports of itself: CPU seconds, events written, run-queue wait.
  package var mockCPUSeconds: Double?
  package var mockEvents: Int64?
  package var mockRunQueueWaitRatio: Double?
  /// The most bytes seen between the wire and the parser: in the kernel's receive queue, or in that of a stack whose
  /// reads cannot be paused; nil where not read.
  package var receiveQueueBytes: Int64?

  package init() {}
}

/// One variant of a run.
package final class VariantRecord: @unchecked Sendable {
  package let name: String
  /// The client settings of the variant as JSON, for the report.
  package let client: JSONValue
  /// Totals over all counted sessions of all repeats.
  package let total = IntervalRecord()
  /// Planned sessions in all; nil for a closed load with a duration.
  package var planned: Int?
  package var peakLive: Int64 = 0
  /// Seconds in which the variant was measured (warm-up left out), over all repeats.
  package var measuredSeconds: Double = 0
  /// Requested against achieved: what the load asked for, in the load's own unit.
  package var requestedRate: Double?
  package var achievedRate: Double?
  package var requestedConcurrency: Int?
  /// Live sessions over the steady state ÷ requested concurrency; 1 where all places were always taken.
  package var steadyLiveRatio: Double?
  /// The steady stretch: from and to in seconds after the run's start, mean of live sessions, events per second; set by
  /// the run folder from the seconds that it wrote.
  package var steadyState: (from: Double, to: Double, meanLive: Double, eventsPerSecond: Double)?
  /// Models that answered, with counts; at most 64, the rest under "other".
  package var models: [String: Int] = [:]
  package var modelAsked: String?
  package var memory: MemoryFigures?
  package var memoryAbsentBecause: String?
  package var instrument = InstrumentRecord()
  /// Up to three messages for each error kind, already free of secrets.
  package var errorSamples: [SessionErrorKind: [String]] = [:]
  /// Whether requests_sent could be seen by the stack; else latencies count from request_start.
  package var countsFromRequestStart = false
  /// Whether there was a ledger (numbered events) or a reconnect policy: the summary then has `recovery`.
  package var hasLedger = false
  /// Who numbers the events: without, nothing is known of what was lost.
  package var numbering = Numbering.none

  package enum Numbering: String, Sendable {
    case none
    /// Ourselves: the mock, or the load's own producers, so that what was sent is known.
    case known
    /// The server, read by the scenario's rule.
    case rule
  }
  /// Of the largest `StormWatch.Storm`: the p90−p10 spread of the delays before the first tries in ns, and its members;
  /// for the herd warning. nil without a storm.
  package var stormSpread: Int64?
  package var stormSize: Int64 = 0
  /// The sessions that a report spells out.
  package var worst = WorstSessions()
  package var usesMock = false
  /// A load of a search beyond what met the limits: its doubts are the answer, not the run's.
  package var isProbe = false
  /// Counts of a WuKongIM load; nil for every other.
  package var wukongim: WuKongRecord?
  /// Whether the scenario has an `slo`: goodput is null without one.
  package var hasSLO = false
  /// False with the decoder `none`: tokens and TTFT are then null.
  package var tokensKnown = true
  /// Allocations of parser and extractor per event, in the sampled reads; nil where not counted.
  package var parserAllocationsPerEvent: Double?
  /// The share of odd streams that the parser mode reads otherwise than the standard; nil: not tried.
  package var oddStreamsRatio: Double?

  package init(name: String, client: JSONValue) {
    self.name = name
    self.client = client
  }
}

/// The machine a run ran on.
package struct MachineRecord: Sendable {
  package var system = ""
  package var kernel = ""
  package var processor = ""
  package var cores = 0
  package var memoryBytes: Int64 = 0
  package var governor: String?
  package var descriptorLimit: Int = 0
  package var host = ""
  /// Against a common reference; nil where there was none to ask.
  package var clock: HostClock?

  package init() {}
}

/// Which part of a plan a process ran.
package struct RunShard: Sendable, Equatable {
  /// From 0.
  package var index: Int
  package var count: Int

  package init(index: Int, count: Int) {
    self.index = index
    self.count = count
  }
}

/// A whole run.
package struct RunRecord: Sendable {
  package var name = ""
  package var id = ""
  /// Milliseconds since 1970 and the same as ISO 8601 in UTC.
  package var startedAtMilliseconds: Int64 = 0
  package var startedAt = ""
  package var durationSeconds: Double = 0
  package var seed: UInt64 = 0
  package var version = ""
  package var build = ""
  /// Why the run ended early, in a sentence; nil when it ran to its end.
  package var partialBecause: String?
  package var ioError = false
  package var machine = MachineRecord()
  /// The scenario as used, secrets as `${NAME}`.
  package var scenario: JSONValue = .null
  package var variants: [VariantRecord] = []
  /// SLO of the scenario, for the report.
  package var warmUpSeconds: Double = 0
  /// Warnings that the engine itself raised: code, message, hint.
  package var warnings: [RunWarning] = []
  package var command: String = ""
  /// Set where this process ran one shard of a plan.
  package var shard: RunShard?
  /// Of a merged run: the shards that went into it, and those that did not.
  package var mergedShards: [Int] = []
  package var missingShards: [Int] = []
  /// Of a merged run: each process that went into it.
  package var hosts: [HostRecord] = []
  /// The wall-clock time at which all shards were to start, in milliseconds since 1970.
  package var startAtMilliseconds: Int64?
  /// When each load began. In a merged run by the reference's clock, and of the first shard.
  package var loadStarts: [LoadStart] = []

  package init() {}
}

/// A doubt about a run, with what to do about it. Codes are stable words.
package struct RunWarning: Sendable, Equatable {
  package var code: String
  package var message: String
  package var hint: String
  package var variant: String?
  /// Of a merged run: the shard that it is about, where it is about one.
  package var shard: Int?

  package init(code: String, message: String, hint: String, variant: String? = nil, shard: Int? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
    self.variant = variant
    self.shard = shard
  }
}
