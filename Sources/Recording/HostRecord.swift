// What is kept of each process of a sharded run when their records become one: where it ran, how its clock stood, what it
// used. Sums of reals are made anew from these, so that they do not depend on the order of a merge.

/// How far a host's wall clock stood from a reference's.
package struct HostClock: Sendable, Equatable {
  /// The URL that was asked, without its query.
  package var reference: String
  /// Whether the reference said nanoseconds (ssebench's own mock) or whole seconds (an HTTP `Date`).
  package var isFine: Bool
  /// This host's clock minus the reference's, in nanoseconds: positive where it is ahead.
  package var offset: Int64
  /// The true offset lies within ± this many nanoseconds.
  package var uncertainty: Int64
  /// Answers that the bounds come from.
  package var samples: Int

  package init(reference: String, isFine: Bool, offset: Int64, uncertainty: Int64, samples: Int) {
    self.reference = reference
    self.isFine = isFine
    self.offset = offset
    self.uncertainty = uncertainty
    self.samples = samples
  }
}

/// When a load of a run began: the instant 0 of its sessions.
package struct LoadStart: Sendable, Equatable {
  package var variant: String
  package var repetition: Int32
  /// Nanoseconds since 1970 on the clock of the record that holds it.
  package var at: Int64

  package init(variant: String, repetition: Int32, at: Int64) {
    self.variant = variant
    self.repetition = repetition
    self.at = at
  }
}

/// One process of a sharded run.
package struct HostRecord: Sendable {
  package var shard = 0
  package var name = ""
  package var cores = 0
  package var memoryBytes: Int64 = 0
  package var clock: HostClock?
  /// By the host's own clock.
  package var startedAtMilliseconds: Int64 = 0
  package var durationSeconds: Double = 0
  package var loadStarts: [LoadStart] = []
  package var partialBecause: String?
  package var ioError = false
  package var variants: [HostVariant] = []

  package init() {}

  /// The start in nanoseconds since 1970 by the reference's clock, where it is known.
  package var correctedStart: Int64 { startedAtMilliseconds * 1_000_000 - (clock?.offset ?? 0) }
  package func corrected(_ start: LoadStart) -> Int64 { start.at - (clock?.offset ?? 0) }
}

/// What one process had of one variant, as far as it is no plain count.
package struct HostVariant: Sendable {
  package var name = ""
  package var started: Int64 = 0
  package var completed: Int64 = 0
  package var failed: Int64 = 0
  /// Tokens received: the weight of the memory figures.
  package var tokens: Int64 = 0
  package var peakLive: Int64 = 0
  package var errors: [String: Int64] = [:]
  package var requestedRate: Double?
  package var achievedRate: Double?
  package var requestedConcurrency: Int?
  package var steadyLiveRatio: Double?
  package var instrument = InstrumentRecord()
  package var memory: MemoryFigures?

  package init() {}
}

extension HostRecord {
  /// The process that a record of one shard is of.
  package init(_ record: RunRecord) {
    shard = record.shard?.index ?? 0
    name = record.machine.host
    cores = record.machine.cores
    memoryBytes = record.machine.memoryBytes
    clock = record.machine.clock
    startedAtMilliseconds = record.startedAtMilliseconds
    durationSeconds = record.durationSeconds
    loadStarts = record.loadStarts
    partialBecause = record.partialBecause
    ioError = record.ioError
    variants = record.variants.map { HostVariant($0) }
  }
}

extension HostVariant {
  init(_ variant: VariantRecord) {
    let total = variant.total
    name = variant.name
    started = total.counters.started
    completed = total.counters.completed
    failed = total.counters.failed
    tokens = total.counters.tokens
    peakLive = variant.peakLive
    for kind in SessionErrorKind.allCases where total.errors[Int(kind.rawValue)] > 0 {
      errors[kind.word] = total.errors[Int(kind.rawValue)]
    }
    requestedRate = variant.requestedRate
    achievedRate = variant.achievedRate
    requestedConcurrency = variant.requestedConcurrency
    steadyLiveRatio = variant.steadyLiveRatio
    instrument = variant.instrument
    memory = variant.memory
  }
}
