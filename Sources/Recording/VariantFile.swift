// One variant's record as JSON and back: counters by name, histograms as Base64 with their exact sums.

internal import Primitives

enum VariantFile {
  static func tree(_ variant: VariantRecord, withHistograms: Bool) -> JSONValue {
    var object = JSONObject([
      ("name", .string(variant.name)), ("client", variant.client), ("planned", RecordFile.whole(variant.planned.map(Int64.init))),
      ("peak_live", .integer(variant.peakLive)), ("measured_s", .number(variant.measuredSeconds)),
      ("requested_rate", RecordFile.real(variant.requestedRate)), ("achieved_rate", RecordFile.real(variant.achievedRate)),
      ("requested_concurrency", RecordFile.whole(variant.requestedConcurrency.map(Int64.init))),
      ("steady_live_ratio", RecordFile.real(variant.steadyLiveRatio)),
      ("models", .object(JSONObject(variant.models.sorted { $0.key < $1.key }.map { ($0.key, .integer(Int64($0.value))) }))),
      ("model_asked", RecordFile.text(variant.modelAsked)),
      ("memory_absent_because", RecordFile.text(variant.memoryAbsentBecause)),
      ("counts_from_request_start", .bool(variant.countsFromRequestStart)), ("has_ledger", .bool(variant.hasLedger)), ("numbering", .string(variant.numbering.rawValue)),
      ("storm_spread_ns", RecordFile.whole(variant.stormSpread)), ("storm_size", .integer(variant.stormSize)),
      ("uses_mock", .bool(variant.usesMock)), ("has_slo", .bool(variant.hasSLO)),
      ("tokens_known", .bool(variant.tokensKnown)),
      ("parser_allocations_per_event", RecordFile.real(variant.parserAllocationsPerEvent)),
      ("odd_streams_ratio", RecordFile.real(variant.oddStreamsRatio)),
    ])
    object["is_probe"] = .bool(variant.isProbe)
    if let counts = variant.wukongim { object["wukongim"] = .object(counts.json) }
    if let memory = variant.memory { object["memory"] = self.memory(memory) }
    object["instrument"] = instrument(variant.instrument)
    var samples = JSONObject()
    for kind in SessionErrorKind.allCases {
      if let texts = variant.errorSamples[kind] { samples[kind.word] = .array(texts.map { .string($0) }) }
    }
    object["error_samples"] = .object(samples)
    object["worst_sessions"] = .array(variant.worst.all.map(\.json))
    guard withHistograms else { return .object(object) }
    object["counters"] = .object(
      JSONObject(Counters.fields.map { ($0.name, .integer(variant.total.counters[keyPath: $0.path])) }))
    object["errors"] = .object(
      JSONObject(SessionErrorKind.allCases.map { ($0.word, .integer(variant.total.errors[Int($0.rawValue)])) }))
    var histograms = JSONObject()
    for metric in Metric.allCases where variant.total[metric].count > 0 {
      histograms["\(metric)"] = self.histogram(variant.total[metric])
    }
    object["histograms"] = .object(histograms)
    if variant.total.readBytes.count > 0 { object["read_bytes"] = histogram(variant.total.readBytes) }
    return .object(object)
  }

  static func variant(_ tree: JSONValue) throws(RecordFile.Problem) -> VariantRecord {
    guard let name = tree["name"]?.asString else { throw RecordFile.Problem(message: "a variant without a name") }
    let variant = VariantRecord(name: name, client: tree["client"] ?? .null)
    variant.planned = tree["planned"]?.asInt
    variant.peakLive = RecordFile.whole(tree["peak_live"]) ?? 0
    variant.measuredSeconds = tree["measured_s"]?.asDouble ?? 0
    variant.requestedRate = tree["requested_rate"]?.asDouble
    variant.achievedRate = tree["achieved_rate"]?.asDouble
    variant.requestedConcurrency = tree["requested_concurrency"]?.asInt
    variant.steadyLiveRatio = tree["steady_live_ratio"]?.asDouble
    for (model, count) in (tree["models"]?.asObject?.pairs ?? []).prefix(65) { variant.models[model] = count.asInt ?? 0 }
    variant.modelAsked = tree["model_asked"]?.asString
    variant.memoryAbsentBecause = tree["memory_absent_because"]?.asString
    variant.countsFromRequestStart = tree["counts_from_request_start"]?.asBool ?? false
    variant.hasLedger = tree["has_ledger"]?.asBool ?? false
    variant.stormSpread = RecordFile.whole(tree["storm_spread_ns"])
    variant.stormSize = RecordFile.whole(tree["storm_size"]) ?? 0
    for session in tree["worst_sessions"]?.asArray ?? [] {
      if let session = WorstSession(json: session) { variant.worst.add(session) }
    }
    variant.usesMock = tree["uses_mock"]?.asBool ?? false
    variant.numbering =
      tree["numbering"]?.asString.flatMap { VariantRecord.Numbering(rawValue: $0) } ?? (variant.usesMock ? .known : .none)
    variant.hasSLO = tree["has_slo"]?.asBool ?? false
    variant.tokensKnown = tree["tokens_known"]?.asBool ?? true
    variant.parserAllocationsPerEvent = tree["parser_allocations_per_event"]?.asDouble
    variant.oddStreamsRatio = tree["odd_streams_ratio"]?.asDouble
    variant.isProbe = tree["is_probe"]?.asBool ?? false
    if let counts = tree["wukongim"] { variant.wukongim = WuKongRecord(json: counts) }
    if let memory = tree["memory"] { variant.memory = self.memory(memory) }
    variant.instrument = instrument(tree["instrument"] ?? .null)
    for kind in SessionErrorKind.allCases {
      if let texts = tree["error_samples"]?[kind.word]?.asArray { variant.errorSamples[kind] = texts.compactMap(\.asString) }
      variant.total.errors[Int(kind.rawValue)] = RecordFile.whole(tree["errors"]?[kind.word]) ?? 0
    }
    for field in Counters.fields {
      variant.total.counters[keyPath: field.path] = RecordFile.whole(tree["counters"]?[field.name]) ?? 0
    }
    for metric in Metric.allCases {
      if let stored = tree["histograms"]?["\(metric)"] { variant.total[metric].add(try histogram(stored, of: "\(metric)")) }
    }
    if let stored = tree["read_bytes"] { variant.total.readBytes.add(try histogram(stored, of: "read_bytes")) }
    return variant
  }

  private static func histogram(_ histogram: Histogram) -> JSONValue {
    let exact = histogram.exactSums
    var object = JSONObject([
      ("sum", .number(exact.sum)), ("sum_of_squares", .number(exact.sumOfSquares)),
      ("lowest", .integer(exact.lowest)), ("largest", .integer(exact.largest)), ("counts", .string(histogram.base64)),
    ])
    if exact.sumRest != 0 { object["sum_rest"] = .number(exact.sumRest) }
    if exact.sumOfSquaresRest != 0 { object["sum_of_squares_rest"] = .number(exact.sumOfSquaresRest) }
    return .object(object)
  }

  private static func histogram(_ tree: JSONValue, of name: String) throws(RecordFile.Problem) -> Histogram {
    guard
      let counts = tree["counts"]?.asString, let sum = tree["sum"]?.asDouble,
      let squares = tree["sum_of_squares"]?.asDouble, let lowest = RecordFile.whole(tree["lowest"]),
      let largest = RecordFile.whole(tree["largest"])
    else { throw RecordFile.Problem(message: "histogram \(name): a field is missing") }
    var exact = Histogram.ExactSums(sum: sum, sumOfSquares: squares, lowest: lowest, largest: largest)
    exact.sumRest = tree["sum_rest"]?.asDouble ?? 0
    exact.sumOfSquaresRest = tree["sum_of_squares_rest"]?.asDouble ?? 0
    do {
      return try Histogram(base64: counts[...], exact: exact)
    } catch {
      throw RecordFile.Problem(message: "histogram \(name): \(error)")
    }
  }

  static func memory(_ memory: MemoryFigures) -> JSONValue {
    .object([
      "per_session_bytes": RecordFile.real(memory.perSessionBytes),
      "per_session_absent_because": RecordFile.text(memory.perSessionAbsentBecause), "slope": RecordFile.real(memory.slopeBytesPerToken),
      "slope_absent_because": RecordFile.text(memory.slopeAbsentBecause),
      "slope_low": RecordFile.real(memory.slopeLow), "slope_high": RecordFile.real(memory.slopeHigh),
      "allocations_per_event": RecordFile.real(memory.allocationsPerEvent),
      "allocated_bytes_per_event": RecordFile.real(memory.allocatedBytesPerEvent),
      "counts_whole_process": memory.countsWholeProcess.map { .bool($0) } ?? .null,
      "peak_allocated_bytes": RecordFile.whole(memory.peakAllocatedBytes),
      "peak_rss_bytes": RecordFile.whole(memory.peakRSSBytes),
      "after_teardown_bytes": RecordFile.whole(memory.afterTeardownBytes), "idle_bytes": RecordFile.whole(memory.idleBytes),
      "sampling_cpu_s": RecordFile.real(memory.samplingCPUSeconds), "samples": .integer(memory.samples),
    ])
  }

  static func memory(_ tree: JSONValue) -> MemoryFigures {
    var memory = MemoryFigures()
    memory.perSessionBytes = tree["per_session_bytes"]?.asDouble
    memory.perSessionAbsentBecause = tree["per_session_absent_because"]?.asString
    memory.slopeAbsentBecause = tree["slope_absent_because"]?.asString
    memory.slopeBytesPerToken = tree["slope"]?.asDouble
    memory.slopeLow = tree["slope_low"]?.asDouble
    memory.slopeHigh = tree["slope_high"]?.asDouble
    memory.allocationsPerEvent = tree["allocations_per_event"]?.asDouble
    memory.allocatedBytesPerEvent = tree["allocated_bytes_per_event"]?.asDouble
    memory.countsWholeProcess = tree["counts_whole_process"]?.asBool
    memory.peakAllocatedBytes = RecordFile.whole(tree["peak_allocated_bytes"])
    memory.peakRSSBytes = RecordFile.whole(tree["peak_rss_bytes"])
    memory.afterTeardownBytes = RecordFile.whole(tree["after_teardown_bytes"])
    memory.idleBytes = RecordFile.whole(tree["idle_bytes"])
    memory.samplingCPUSeconds = tree["sampling_cpu_s"]?.asDouble
    memory.samples = RecordFile.whole(tree["samples"]) ?? 0
    return memory
  }

  static func instrument(_ instrument: InstrumentRecord) -> JSONValue {
    .object([
      "cpu_s": .number(instrument.cpuSeconds), "busiest_worker_ratio": .number(instrument.busiestWorkerRatio),
      "saturated_s": .number(instrument.saturatedSeconds),
      "run_queue_wait_ratio": RecordFile.real(instrument.runQueueWaitRatio), "workers": .integer(Int64(instrument.workers)),
      "realtime": .bool(instrument.realtime), "mock_cpu_s": RecordFile.real(instrument.mockCPUSeconds),
      "mock_events": RecordFile.whole(instrument.mockEvents),
      "mock_run_queue_wait_ratio": RecordFile.real(instrument.mockRunQueueWaitRatio),
      "receive_queue_bytes": RecordFile.whole(instrument.receiveQueueBytes),
    ])
  }

  static func instrument(_ tree: JSONValue) -> InstrumentRecord {
    var instrument = InstrumentRecord()
    instrument.cpuSeconds = tree["cpu_s"]?.asDouble ?? 0
    instrument.busiestWorkerRatio = tree["busiest_worker_ratio"]?.asDouble ?? 0
    instrument.saturatedSeconds = tree["saturated_s"]?.asDouble ?? 0
    instrument.runQueueWaitRatio = tree["run_queue_wait_ratio"]?.asDouble
    instrument.workers = tree["workers"]?.asInt ?? 1
    instrument.realtime = tree["realtime"]?.asBool ?? false
    instrument.mockCPUSeconds = tree["mock_cpu_s"]?.asDouble
    instrument.mockEvents = RecordFile.whole(tree["mock_events"])
    instrument.mockRunQueueWaitRatio = tree["mock_run_queue_wait_ratio"]?.asDouble
    instrument.receiveQueueBytes = RecordFile.whole(tree["receive_queue_bytes"])
    return instrument
  }
}

extension Counters {
  /// Every counter with the name under which it is kept.
  static let fields: [(name: String, path: any WritableKeyPath<Counters, Int64> & Sendable)] = [
    ("started", \.started), ("completed", \.completed), ("failed", \.failed), ("cancelled", \.cancelled),
    ("dropped", \.dropped), ("cancelled_at_end", \.cancelledAtEnd), ("started_late", \.startedLate), ("events", \.events),
    ("token_events", \.tokenEvents), ("tokens", \.tokens), ("tokens_from_usage", \.tokensFromUsage),
    ("tokens_from_events", \.tokensFromEvents), ("bytes", \.bytes), ("reads", \.reads), ("stalls", \.stalls),
    ("undecodable", \.undecodable), ("unnumbered", \.unnumbered), ("fake_streaming", \.fakeStreaming), ("burst_tokens", \.burstTokens), ("new_connections", \.newConnections),
    ("reused_connections", \.reusedConnections), ("resumed_tls", \.resumedTLS), ("full_tls", \.fullTLS), ("good", \.good), ("disconnects", \.disconnects),
    ("reconnects", \.reconnects), ("recovered", \.recovered), ("never_recovered", \.neverRecovered), ("expected", \.expected), ("delivered", \.delivered),
    ("lost", \.lost), ("undelivered", \.undelivered), ("duplicated", \.duplicated), ("reordered", \.reordered),
    ("corrupted", \.corrupted), ("restarted_tokens", \.restartedTokens), ("tokens_after_cancel", \.tokensAfterCancel),
    ("sampled_parse_ns", \.sampledParseNanoseconds), ("sampled_events", \.sampledEvents), ("sampled_bytes", \.sampledBytes),
  ]
}
