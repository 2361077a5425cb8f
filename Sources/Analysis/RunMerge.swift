// Records of shards are added to one record: counters and histograms without loss, figures of hosts kept apart. The
// result does not depend on the order. Knows no file.

package import Primitives
package import Recording

package struct RunMerge {
  /// Why a record is none of this run.
  package struct Refusal: Error, Sendable {
    package var message: String
  }

  private var merged: RunRecord?
  private var shards: [Int: String] = [:]
  private var hosts: [(index: Int, json: JSONValue)] = []
  private var starts: [(at: Int64, name: String)] = []
  private var lastEnd: Int64 = 0
  private var warnings: [(index: Int, warning: RunWarning)] = []
  private var partial: [(index: Int, because: String)] = []
  private var liveWeights: [String: (places: Double, taken: Double)] = [:]
  private var memories: [String: [(weight: Double, figures: MemoryFigures)]] = [:]
  private var modelsAsked: [String: String] = [:]
  private var ioError = false

  package init() {}

  /// Adds one shard's record, or a merged one. `name` is what messages call it.
  package mutating func add(_ record: RunRecord, name: String) throws(Refusal) {
    guard let shard = record.shard else {
      throw Refusal(message: "\(name) is no shard: it was run without --shard")
    }
    let indices = record.mergedShards.isEmpty ? [shard.index] : record.mergedShards
    if let merged { try check(record, against: merged, name: name) }
    for index in indices {
      if let other = shards[index] { throw Refusal(message: "\(name) holds shard \(index), and so does \(other)") }
      if index < 0 || index >= shard.count { throw Refusal(message: "\(name): shard \(index) of \(shard.count) cannot be") }
    }
    for index in indices { shards[index] = name }
    let first = indices.min() ?? 0
    let label = indices.count == 1 ? "Shard \(first)" : "Shards \(indices.map(String.init).joined(separator: ", "))"
    starts.append((record.startedAtMilliseconds, label))
    lastEnd = max(lastEnd, record.startedAtMilliseconds + Int64(record.durationSeconds * 1e3))
    ioError = ioError || record.ioError
    if let because = Self.ownReason(record) {
      partial.append((first, record.mergedShards.isEmpty ? "\(label): \(because)" : because))
    }
    for warning in record.warnings { warnings.append((first, relabelled(warning, label, record))) }
    // What makes one shard not to be trusted does so for the whole, though it may vanish in the sum.
    for warning in Warnings.of(record) where Judgement.invalidating.contains(warning.code) && !record.warnings.contains(warning) {
      warnings.append((first, relabelled(warning, label, record)))
    }
    hosts.append((first, host(record, indices)))
    if merged == nil { merged = header(record) }
    for variant in record.variants { add(variant) }
  }

  /// The run of all shards that were added; `unreadable` are folders that could not be read, by name.
  package func finish(unreadable: [String]) -> RunRecord? {
    guard var record = merged else { return nil }
    let count = record.shard?.count ?? shards.count
    record.startedAtMilliseconds = starts.map(\.at).min() ?? 0
    record.durationSeconds = Double(max(0, lastEnd - record.startedAtMilliseconds)) / 1e3
    record.mergedShards = shards.keys.sorted()
    record.missingShards = (0..<count).filter { shards[$0] == nil }
    record.ioError = ioError
    record.warnings = warnings.sorted { ($0.index, $0.warning.message) < ($1.index, $1.warning.message) }.map(\.warning)
    var reasons = partial.sorted { ($0.index, $0.because) < ($1.index, $1.because) }.map(\.because)
    if let missing = Self.missing(record.missingShards, of: count) { reasons.insert(missing, at: 0) }
    for name in unreadable.sorted() { reasons.append("\(name) could not be read.") }
    record.partialBecause = reasons.isEmpty ? nil : reasons.joined(separator: " ")
    if let late = late(record.durationSeconds) { record.warnings.append(late) }
    for variant in record.variants {
      if let weight = liveWeights[variant.name], weight.places > 0 { variant.steadyLiveRatio = weight.taken / weight.places }
      variant.memory = memory(memories[variant.name] ?? [])
    }
    return record
  }

  private static func missing(_ shards: [Int], of count: Int) -> String? {
    if shards.isEmpty { return nil }
    return "\(shards.count == 1 ? "Shard" : "Shards") \(shards.map(String.init).joined(separator: ", ")) of \(count) missing."
  }

  /// Why a record is partial, but for shards that it lacked: those may come with another record.
  private static func ownReason(_ record: RunRecord) -> String? {
    guard let because = record.partialBecause else { return nil }
    guard let missing = missing(record.missingShards, of: record.shard?.count ?? 0), because.hasPrefix(missing) else {
      return because
    }
    let rest = because.dropFirst(missing.count).drop { $0 == " " }
    return rest.isEmpty ? nil : String(rest)
  }

  /// Per shard: where it ran, what it used, how it ended.
  package var hostList: JSONValue { .array(hosts.sorted { $0.index < $1.index }.map(\.json)) }

  private func check(_ record: RunRecord, against first: RunRecord, name: String) throws(Refusal) {
    if record.shard?.count != first.shard?.count {
      throw Refusal(message: "\(name) is of \(record.shard?.count ?? 0) shards; the others are of \(first.shard?.count ?? 0)")
    }
    if record.seed != first.seed { throw Refusal(message: "\(name) has seed \(record.seed); the others have \(first.seed)") }
    if record.version != first.version || record.build != first.build {
      throw Refusal(
        message: "\(name) was run by ssebench \(record.version) (\(record.build)); the others by \(first.version) (\(first.build))")
    }
    if record.scenario != first.scenario { throw Refusal(message: "\(name) ran another scenario than the others") }
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
    header.variants = record.variants.map { VariantRecord(name: $0.name, client: $0.client) }
    return header
  }

  private mutating func add(_ own: VariantRecord) {
    guard let sum = merged?.variants.first(where: { $0.name == own.name }) else { return }
    let isFirst = sum.total.counters.started == 0 && sum.measuredSeconds == 0
    sum.total.add(own.total)
    sum.planned = isFirst ? own.planned : sum.planned.flatMap { planned in own.planned.map { planned + $0 } }
    // The sum of the peaks bounds the peak of the sum; the aligned seconds give the better figure.
    sum.peakLive += own.peakLive
    sum.measuredSeconds = max(sum.measuredSeconds, own.measuredSeconds)
    sum.requestedRate = Self.plus(sum.requestedRate, own.requestedRate)
    sum.achievedRate = Self.plus(sum.achievedRate, own.achievedRate)
    if let places = own.requestedConcurrency {
      sum.requestedConcurrency = (sum.requestedConcurrency ?? 0) + places
      if let ratio = own.steadyLiveRatio {
        let before = liveWeights[own.name] ?? (0, 0)
        liveWeights[own.name] = (before.places + Double(places), before.taken + ratio * Double(places))
      }
    }
    for (model, count) in own.models { sum.models[model, default: 0] += count }
    sum.modelAsked = sum.modelAsked ?? own.modelAsked
    sum.memoryAbsentBecause = sum.memoryAbsentBecause ?? own.memoryAbsentBecause
    if let memory = own.memory {
      memories[own.name, default: []].append((Double(max(1, own.total.counters.tokens)), memory))
    }
    sum.instrument = Self.plus(sum.instrument, own.instrument, isFirst: isFirst)
    for (kind, texts) in own.errorSamples {
      sum.errorSamples[kind] = Array(Set((sum.errorSamples[kind] ?? []) + texts).sorted().prefix(3))
    }
    sum.countsFromRequestStart = sum.countsFromRequestStart || own.countsFromRequestStart
    sum.hasLedger = sum.hasLedger || own.hasLedger
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

  private static func plus(_ a: Double?, _ b: Double?) -> Double? { a == nil && b == nil ? nil : (a ?? 0) + (b ?? 0) }

  private static func plus(_ a: InstrumentRecord, _ b: InstrumentRecord, isFirst: Bool) -> InstrumentRecord {
    if isFirst { return b }
    var sum = a
    sum.cpuSeconds += b.cpuSeconds
    sum.busiestWorkerRatio = max(a.busiestWorkerRatio, b.busiestWorkerRatio)
    sum.saturatedSeconds = max(a.saturatedSeconds, b.saturatedSeconds)
    sum.runQueueWaitRatio = [a.runQueueWaitRatio, b.runQueueWaitRatio].compactMap { $0 }.max()
    sum.workers += b.workers
    sum.realtime = a.realtime && b.realtime
    sum.mockCPUSeconds = plus(a.mockCPUSeconds, b.mockCPUSeconds)
    sum.mockEvents = [a.mockEvents, b.mockEvents].compactMap { $0 }.reduce(nil) { ($0 ?? 0) + $1 }
    sum.mockRunQueueWaitRatio = [a.mockRunQueueWaitRatio, b.mockRunQueueWaitRatio].compactMap { $0 }.max()
    sum.receiveQueueBytes = [a.receiveQueueBytes, b.receiveQueueBytes].compactMap { $0 }.max()
    return sum
  }

  /// Means weighted by tokens; peaks and what is held are of the host where they were highest.
  private func memory(_ parts: [(weight: Double, figures: MemoryFigures)]) -> MemoryFigures? {
    guard !parts.isEmpty else { return nil }
    // Sorted, so that sums of doubles come out the same in any order of the shards.
    let parts = parts.sorted { ($0.weight, $0.figures.slopeBytesPerToken ?? 0) < ($1.weight, $1.figures.slopeBytesPerToken ?? 0) }
    func mean(_ path: KeyPath<MemoryFigures, Double?>) -> Double? {
      let known = parts.compactMap { part in part.figures[keyPath: path].map { (part.weight, $0) } }
      let weight = known.reduce(0) { $0 + $1.0 }
      return weight > 0 ? known.reduce(0) { $0 + $1.0 * $1.1 } / weight : nil
    }
    func most(_ path: KeyPath<MemoryFigures, Int64?>) -> Int64? { parts.compactMap { $0.figures[keyPath: path] }.max() }
    var figures = MemoryFigures()
    figures.perSessionBytes = mean(\.perSessionBytes)
    figures.slopeBytesPerToken = mean(\.slopeBytesPerToken)
    figures.allocationsPerEvent = mean(\.allocationsPerEvent)
    figures.allocatedBytesPerEvent = mean(\.allocatedBytesPerEvent)
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

  private func relabelled(_ warning: RunWarning, _ label: String, _ record: RunRecord) -> RunWarning {
    guard record.mergedShards.isEmpty else { return warning }
    let host = record.machine.host.isEmpty ? "" : " (\(record.machine.host))"
    var own = warning
    own.message = "\(label)\(host): \(warning.message)"
    return own
  }

  /// Shards that began so much later than the first that the load was not the one asked for.
  private func late(_ duration: Double) -> RunWarning? {
    guard let first = starts.map(\.at).min() else { return nil }
    let allowed = max(1, 0.05 * duration)
    let behind = starts.filter { Double($0.at - first) / 1e3 > allowed }.sorted { $0.at < $1.at }
    guard let last = behind.last else { return nil }
    return RunWarning(
      code: "started_late",
      message:
        "\(behind.map(\.name).joined(separator: ", ")) started up to \(Number.text(Double(last.at - first) / 1e3)) s after the first; \(Number.text(allowed)) s are allowed.",
      hint: "Give all shards the same `--start-at`, late enough for the slowest of them.")
  }

  private func host(_ record: RunRecord, _ indices: [Int]) -> JSONValue {
    let rss = record.variants.compactMap { $0.memory?.peakRSSBytes }.max()
    return .object([
      "shards": .array(indices.sorted().map { .integer(Int64($0)) }), "host": .string(record.machine.host),
      "started_at_ms": .integer(record.startedAtMilliseconds), "duration_s": Figure.real(record.durationSeconds),
      "cpu_s": Figure.real(record.variants.reduce(0) { $0 + $1.instrument.cpuSeconds }),
      "peak_rss_bytes": Figure.whole(rss),
      "completed": .integer(record.variants.reduce(0) { $0 + $1.total.counters.completed }),
      "failed": .integer(record.variants.reduce(0) { $0 + $1.total.counters.failed }),
      "partial_because": Figure.word(record.partialBecause),
    ])
  }
}
