// Records of shards are added to one record: counters and histograms without loss, figures of hosts kept apart. The
// result does not depend on the order. Knows no file.

internal import Primitives
package import Recording

package struct RunMerge {
  /// Why a record is none of this run.
  package struct Refusal: Error, Sendable {
    package var message: String
  }

  private var merged: RunRecord?
  /// Whose folder a shard came from.
  private var names: [Int: String] = [:]
  private var hosts: [HostRecord] = []
  private var warnings: [RunWarning] = []
  private var counted: Set<String> = []

  package init() {}

  /// Adds one shard's record, or a merged one. `name` is what messages call it.
  package mutating func add(_ record: RunRecord, name: String) throws(Refusal) {
    guard let shard = record.shard else {
      throw Refusal(message: "\(name) is no shard: it was run without --shard")
    }
    let isMerged = !record.mergedShards.isEmpty
    if isMerged && record.hosts.map(\.shard).sorted() != record.mergedShards {
      throw Refusal(message: "\(name) does not say what its shards had; merge those shards themselves")
    }
    let own = isMerged ? record.hosts : [HostRecord(record)]
    if let merged { try check(record, against: merged, name: name) }
    for host in own {
      if let other = names[host.shard] { throw Refusal(message: "\(name) holds shard \(host.shard), and so does \(other)") }
      if host.shard < 0 || host.shard >= shard.count {
        throw Refusal(message: "\(name): shard \(host.shard) of \(shard.count) cannot be")
      }
    }
    for host in own { names[host.shard] = name }
    hosts += own
    if isMerged {
      warnings += record.warnings.filter { !Self.ofTheWhole.contains($0.code) || $0.shard != nil }
    } else {
      // What makes one shard not to be trusted does so for the whole, though it may vanish in the sum.
      let doubts = Warnings.of(record).filter { Judgement.invalidating.contains($0.code) && !record.warnings.contains($0) }
      warnings += (record.warnings + doubts).map { Self.labelled($0, own[0]) }
    }
    if merged == nil { merged = header(record) }
    if let asked = merged?.startAtMilliseconds, asked != record.startAtMilliseconds { merged?.startAtMilliseconds = nil }
    for variant in record.variants { add(variant) }
  }

  /// Warnings that `finish` finds by looking at all shards.
  private static let ofTheWhole: Set<String> = ["started_late", "clock_uncertain"]

  /// The run of all shards that were added; `unreadable` are folders that could not be read, by name.
  package func finish(unreadable: [String]) -> RunRecord? {
    guard var record = merged else { return nil }
    let hosts = hosts.sorted { $0.shard < $1.shard }
    let count = record.shard?.count ?? hosts.count
    let start = hosts.map(\.correctedStart).min() ?? 0
    let end = hosts.map { $0.correctedStart + Int64(($0.durationSeconds * 1e9).rounded()) }.max() ?? start
    // Rounded down, so that no instant of a shard comes before it.
    record.startedAtMilliseconds = start >= 0 ? start / 1_000_000 : 0
    record.durationSeconds = Double(max(0, end - start)) / 1e9
    record.loadStarts = MergeClock.firstStarts(hosts)
    record.hosts = hosts
    record.mergedShards = hosts.map(\.shard)
    record.missingShards = (0..<count).filter { names[$0] == nil }
    record.ioError = hosts.contains(where: \.ioError)
    record.warnings = warnings.sorted { ($0.shard ?? -1, $0.code, $0.message) < ($1.shard ?? -1, $1.code, $1.message) }
    record.warnings += MergeClock(hosts, duration: record.durationSeconds).warnings
    record.partialBecause = Self.partial(hosts, record.missingShards, of: count, unreadable)
    for variant in record.variants { addReals(to: variant, hosts) }
    return record
  }

  private static func partial(
    _ hosts: [HostRecord], _ missing: [Int], of count: Int, _ unreadable: [String]
  ) -> String? {
    var reasons: [String] = []
    if !missing.isEmpty {
      reasons.append("\(missing.count == 1 ? "Shard" : "Shards") \(missing.map(String.init).joined(separator: ", ")) of \(count) missing.")
    }
    for host in hosts {
      if let because = host.partialBecause {
        reasons.append("Shard \(host.shard): \(because)")
      } else if host.ioError {
        reasons.append("Shard \(host.shard): an output could not be written.")
      }
    }
    for name in unreadable.sorted() { reasons.append("\(name) could not be read.") }
    return reasons.isEmpty ? nil : reasons.joined(separator: " ")
  }

  private func check(_ record: RunRecord, against first: RunRecord, name: String) throws(Refusal) {
    if record.shard?.count != first.shard?.count {
      throw Refusal(message: "\(name) is of \(record.shard?.count ?? 0) shards; the others are of \(first.shard?.count ?? 0)")
    }
    if record.seed != first.seed { throw Refusal(message: "\(name) has seed \(record.seed); the others have \(first.seed)") }
    if record.version != first.version || record.build != first.build {
      throw Refusal(
        message: "\(name) was run by ssebench \(record.version) (\(record.build)); the others by \(first.version) (\(first.build))")
    }
    if let difference = ScenarioDifference.first(record.scenario, first.scenario) {
      throw Refusal(message: "\(name) ran another scenario than the others: \(difference)")
    }
    if record.variants.map(\.name) != first.variants.map(\.name) {
      throw Refusal(message: "\(name) has other variants than the others")
    }
  }

  private func header(_ record: RunRecord) -> RunRecord {
    var header = record
    header.partialBecause = nil
    header.warnings = []
    header.id = "merged-\(record.seed)-\(record.shard?.count ?? 0)"
    header.command = "ssebench merge"
    header.shard = record.shard.map { RunShard(index: 0, count: $0.count) }
    header.machine.host = ""
    header.machine.clock = nil
    header.variants = record.variants.map { VariantRecord(name: $0.name, client: $0.client) }
    return header
  }

  /// Adds what can be added in any order: whole numbers, histograms, maxima.
  private mutating func add(_ own: VariantRecord) {
    guard let sum = merged?.variants.first(where: { $0.name == own.name }) else { return }
    let isFirst = counted.insert(own.name).inserted
    sum.total.add(own.total)
    sum.planned = isFirst ? own.planned : sum.planned.flatMap { planned in own.planned.map { planned + $0 } }
    sum.measuredSeconds = max(sum.measuredSeconds, own.measuredSeconds)
    for (model, count) in own.models { sum.models[model, default: 0] += count }
    sum.modelAsked = sum.modelAsked ?? own.modelAsked
    sum.memoryAbsentBecause = sum.memoryAbsentBecause ?? own.memoryAbsentBecause
    for (kind, texts) in own.errorSamples {
      sum.errorSamples[kind] = Array(Set((sum.errorSamples[kind] ?? []) + texts).sorted().prefix(3))
    }
    sum.countsFromRequestStart = sum.countsFromRequestStart || own.countsFromRequestStart
    sum.hasLedger = sum.hasLedger || own.hasLedger
    if sum.numbering == .none { sum.numbering = own.numbering }
    sum.oddStreamsRatio = sum.oddStreamsRatio ?? own.oddStreamsRatio
    sum.hasSLO = sum.hasSLO || own.hasSLO
    sum.isProbe = sum.isProbe || own.isProbe
    if let counts = own.wukongim {
      var all = sum.wukongim ?? WuKongRecord()
      all.add(counts)
      sum.wukongim = all
    }
    sum.usesMock = sum.usesMock || own.usesMock
    sum.tokensKnown = isFirst ? own.tokensKnown : sum.tokensKnown && own.tokensKnown
    for session in own.worst.all { sum.worst.add(session) }
    if let spread = own.stormSpread {
      sum.stormSpread = max(sum.stormSpread ?? 0, spread)
      sum.stormSize += own.stormSize
    }
  }

  /// Adds what is real, in the order of the shards.
  private func addReals(to sum: VariantRecord, _ hosts: [HostRecord]) {
    let parts = hosts.compactMap { host in host.variants.first { $0.name == sum.name } }
    func total(_ value: (HostVariant) -> Double?) -> Double? {
      let known = parts.compactMap(value)
      return known.isEmpty ? nil : known.reduce(0, +)
    }
    sum.requestedRate = total(\.requestedRate)
    sum.achievedRate = total(\.achievedRate)
    let places = parts.compactMap(\.requestedConcurrency)
    sum.requestedConcurrency = places.isEmpty ? nil : places.reduce(0, +)
    let weighed = parts.compactMap { part in part.steadyLiveRatio.map { ($0, Double(part.requestedConcurrency ?? 0)) } }
    let weight = weighed.reduce(0) { $0 + $1.1 }
    sum.steadyLiveRatio = weight > 0 ? weighed.reduce(0) { $0 + $1.0 * $1.1 } / weight : nil
    // The sum of the peaks bounds the peak of the sum; the aligned seconds give the better figure.
    sum.peakLive = parts.reduce(0) { $0 + $1.peakLive }
    sum.instrument = Self.instrument(parts.map(\.instrument))
    sum.memory = memory(parts.compactMap { part in part.memory.map { (Double(max(1, part.tokens)), $0) } })
  }

  private static func instrument(_ parts: [InstrumentRecord]) -> InstrumentRecord {
    guard var sum = parts.first else { return InstrumentRecord() }
    for part in parts.dropFirst() {
      sum.cpuSeconds += part.cpuSeconds
      sum.busiestWorkerRatio = max(sum.busiestWorkerRatio, part.busiestWorkerRatio)
      sum.saturatedSeconds = max(sum.saturatedSeconds, part.saturatedSeconds)
      sum.runQueueWaitRatio = [sum.runQueueWaitRatio, part.runQueueWaitRatio].compactMap { $0 }.max()
      sum.workers += part.workers
      sum.realtime = sum.realtime && part.realtime
      sum.mockCPUSeconds = plus(sum.mockCPUSeconds, part.mockCPUSeconds)
      sum.mockEvents = [sum.mockEvents, part.mockEvents].compactMap { $0 }.reduce(nil) { ($0 ?? 0) + $1 }
      sum.mockRunQueueWaitRatio = [sum.mockRunQueueWaitRatio, part.mockRunQueueWaitRatio].compactMap { $0 }.max()
      sum.receiveQueueBytes = [sum.receiveQueueBytes, part.receiveQueueBytes].compactMap { $0 }.max()
    }
    return sum
  }

  private static func plus(_ a: Double?, _ b: Double?) -> Double? { a == nil && b == nil ? nil : (a ?? 0) + (b ?? 0) }

  /// Means weighted by tokens; peaks and what is held are of the host where they were highest.
  private func memory(_ parts: [(weight: Double, figures: MemoryFigures)]) -> MemoryFigures? {
    guard !parts.isEmpty else { return nil }
    func mean(_ path: KeyPath<MemoryFigures, Double?>) -> Double? {
      let known = parts.compactMap { part in part.figures[keyPath: path].map { (part.weight, $0) } }
      let weight = known.reduce(0) { $0 + $1.0 }
      return weight > 0 ? known.reduce(0) { $0 + $1.0 * $1.1 } / weight : nil
    }
    func most(_ path: KeyPath<MemoryFigures, Int64?>) -> Int64? { parts.compactMap { $0.figures[keyPath: path] }.max() }
    var figures = MemoryFigures()
    figures.perSessionBytes = mean(\.perSessionBytes)
    if figures.perSessionBytes == nil {
      figures.perSessionAbsentBecause = parts.lazy.compactMap(\.figures.perSessionAbsentBecause).first
    }
    figures.slopeAbsentBecause = parts.lazy.compactMap(\.figures.slopeAbsentBecause).first
    figures.slopeBytesPerToken = mean(\.slopeBytesPerToken)
    figures.allocationsPerEvent = mean(\.allocationsPerEvent)
    figures.allocatedBytesPerEvent = mean(\.allocatedBytesPerEvent)
    figures.countsWholeProcess = parts.lazy.compactMap(\.figures.countsWholeProcess).first
    figures.peakAllocatedBytes = most(\.peakAllocatedBytes)
    figures.peakRSSBytes = most(\.peakRSSBytes)
    figures.afterTeardownBytes = most(\.afterTeardownBytes)
    figures.idleBytes = most(\.idleBytes)
    let costs = parts.compactMap(\.figures.samplingCPUSeconds)
    figures.samplingCPUSeconds = costs.isEmpty ? nil : costs.reduce(0, +)
    figures.samples = parts.reduce(0) { $0 + $1.figures.samples }
    let known = parts.compactMap { part -> (Double, Double)? in
      guard let low = part.figures.slopeLow, let high = part.figures.slopeHigh else { return nil }
      return (part.weight, (high - low) / 2)
    }
    let weight = known.reduce(0) { $0 + $1.0 }
    if let slope = figures.slopeBytesPerToken, weight > 0 {
      let half = known.reduce(0) { $0 + ($1.0 * $1.1) * ($1.0 * $1.1) }.squareRoot() / weight
      figures.slopeLow = slope - half
      figures.slopeHigh = slope + half
    }
    return figures
  }

  private static func labelled(_ warning: RunWarning, _ host: HostRecord) -> RunWarning {
    let place = host.name.isEmpty ? "" : " (\(host.name))"
    var own = warning
    own.message = "Shard \(host.shard)\(place): \(warning.message)"
    own.shard = host.shard
    return own
  }
}
