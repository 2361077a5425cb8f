// A host's record as JSON in `record.json`, and back.

internal import Primitives

enum HostFile {
  static func tree(_ clock: HostClock?) -> JSONValue {
    guard let clock else { return .null }
    return .object([
      "reference": .string(clock.reference), "is_fine": .bool(clock.isFine), "offset_ns": .integer(clock.offset),
      "uncertainty_ns": .integer(clock.uncertainty), "samples": .integer(Int64(clock.samples)),
    ])
  }

  static func clock(_ tree: JSONValue?) -> HostClock? {
    guard let tree, let offset = RecordFile.whole(tree["offset_ns"]), let uncertainty = RecordFile.whole(tree["uncertainty_ns"])
    else { return nil }
    return HostClock(
      reference: tree["reference"]?.asString ?? "", isFine: tree["is_fine"]?.asBool ?? false, offset: offset,
      uncertainty: uncertainty, samples: tree["samples"]?.asInt ?? 0)
  }

  static func tree(_ starts: [LoadStart]) -> JSONValue {
    .array(
      starts.map {
        .object([
          "variant": .string($0.variant), "repetition": .integer(Int64($0.repetition)), "at_ns": .integer($0.at),
        ])
      })
  }

  static func starts(_ tree: JSONValue?) -> [LoadStart] {
    (tree?.asArray ?? []).compactMap { start in
      guard let variant = start["variant"]?.asString, let at = RecordFile.whole(start["at_ns"]) else { return nil }
      return LoadStart(variant: variant, repetition: Int32(clamping: start["repetition"]?.asInt ?? 0), at: at)
    }
  }

  static func tree(_ host: HostRecord) -> JSONValue {
    .object([
      "shard": .integer(Int64(host.shard)), "host": .string(host.name), "cores": .integer(Int64(host.cores)),
      "memory_bytes": .integer(host.memoryBytes), "clock": tree(host.clock),
      "started_at_ms": .integer(host.startedAtMilliseconds), "duration_s": .number(host.durationSeconds),
      "load_starts": tree(host.loadStarts), "partial_because": RecordFile.text(host.partialBecause),
      "io_error": .bool(host.ioError), "variants": .array(host.variants.map { tree($0) }),
    ])
  }

  static func host(_ tree: JSONValue) -> HostRecord {
    var host = HostRecord()
    host.shard = tree["shard"]?.asInt ?? 0
    host.name = tree["host"]?.asString ?? ""
    host.cores = tree["cores"]?.asInt ?? 0
    host.memoryBytes = RecordFile.whole(tree["memory_bytes"]) ?? 0
    host.clock = clock(tree["clock"])
    host.startedAtMilliseconds = RecordFile.whole(tree["started_at_ms"]) ?? 0
    host.durationSeconds = tree["duration_s"]?.asDouble ?? 0
    host.loadStarts = starts(tree["load_starts"])
    host.partialBecause = tree["partial_because"]?.asString
    host.ioError = tree["io_error"]?.asBool ?? false
    host.variants = (tree["variants"]?.asArray ?? []).map { variant($0) }
    return host
  }

  private static func tree(_ variant: HostVariant) -> JSONValue {
    var object = JSONObject([
      ("name", .string(variant.name)), ("started", .integer(variant.started)), ("completed", .integer(variant.completed)),
      ("failed", .integer(variant.failed)), ("tokens", .integer(variant.tokens)), ("peak_live", .integer(variant.peakLive)),
      ("errors", .object(JSONObject(variant.errors.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) }))),
      ("requested_rate", RecordFile.real(variant.requestedRate)), ("achieved_rate", RecordFile.real(variant.achievedRate)),
      ("requested_concurrency", RecordFile.whole(variant.requestedConcurrency.map(Int64.init))),
      ("steady_live_ratio", RecordFile.real(variant.steadyLiveRatio)), ("instrument", VariantFile.instrument(variant.instrument)),
    ])
    if let memory = variant.memory { object["memory"] = VariantFile.memory(memory) }
    return .object(object)
  }

  private static func variant(_ tree: JSONValue) -> HostVariant {
    var variant = HostVariant()
    variant.name = tree["name"]?.asString ?? ""
    variant.started = RecordFile.whole(tree["started"]) ?? 0
    variant.completed = RecordFile.whole(tree["completed"]) ?? 0
    variant.failed = RecordFile.whole(tree["failed"]) ?? 0
    variant.tokens = RecordFile.whole(tree["tokens"]) ?? 0
    variant.peakLive = RecordFile.whole(tree["peak_live"]) ?? 0
    for (kind, count) in tree["errors"]?.asObject?.pairs ?? [] { variant.errors[kind] = RecordFile.whole(count) ?? 0 }
    variant.requestedRate = tree["requested_rate"]?.asDouble
    variant.achievedRate = tree["achieved_rate"]?.asDouble
    variant.requestedConcurrency = tree["requested_concurrency"]?.asInt
    variant.steadyLiveRatio = tree["steady_live_ratio"]?.asDouble
    variant.instrument = VariantFile.instrument(tree["instrument"] ?? .null)
    if let memory = tree["memory"] { variant.memory = VariantFile.memory(memory) }
    return variant
  }
}
