// A run's record becomes the JSON of `record.json` and back: full counts and sums, so that shards are merged and
// reports made again without loss. Unlike `summary.json` it is for ssebench itself.

package import Primitives

package enum RecordFile {
  package static let schemaVersion = 1

  /// Why a document is not a record.
  package struct Problem: Error, Sendable {
    package var message: String
  }

  /// The record as JSON; without histograms it is the header that stands in a folder while the run goes on.
  package static func tree(_ record: RunRecord, withHistograms: Bool = true) -> JSONValue {
    var run = JSONObject([
      ("name", .string(record.name)), ("id", .string(record.id)),
      ("started_at_ms", .integer(record.startedAtMilliseconds)), ("started_at", .string(record.startedAt)),
      ("duration_s", .number(record.durationSeconds)), ("seed", .string(String(record.seed))),
      ("version", .string(record.version)), ("build", .string(record.build)),
      ("partial_because", text(record.partialBecause)), ("io_error", .bool(record.ioError)),
      ("warm_up_s", .number(record.warmUpSeconds)), ("command", .string(record.command)),
      ("merged_shards", .array(record.mergedShards.map { .integer(Int64($0)) })),
      ("missing_shards", .array(record.missingShards.map { .integer(Int64($0)) })),
    ])
    run["start_at_ms"] = whole(record.startAtMilliseconds)
    run["load_starts"] = HostFile.tree(record.loadStarts)
    if let shard = record.shard {
      run["shard"] = .object(["index": .integer(Int64(shard.index)), "count": .integer(Int64(shard.count))])
    }
    let machine = record.machine
    var tree = JSONObject([
      ("record_version", .integer(Int64(schemaVersion))), ("run", .object(run)), ("machine", self.machine(machine)),
      ("scenario", record.scenario), ("warnings", .array(record.warnings.map { warning($0) })),
      ("variants", .array(record.variants.map { VariantFile.tree($0, withHistograms: withHistograms) })),
    ])
    if !record.hosts.isEmpty { tree["hosts"] = .array(record.hosts.map { HostFile.tree($0) }) }
    return .object(tree)
  }

  private static func machine(_ machine: MachineRecord) -> JSONValue {
    .object([
      "system": .string(machine.system), "kernel": .string(machine.kernel), "processor": .string(machine.processor),
      "cores": .integer(Int64(machine.cores)), "memory_bytes": .integer(machine.memoryBytes),
      "governor": text(machine.governor), "descriptor_limit": .integer(Int64(machine.descriptorLimit)),
      "host": .string(machine.host), "clock": HostFile.tree(machine.clock),
    ])
  }

  private static func warning(_ warning: RunWarning) -> JSONValue {
    .object([
      "code": .string(warning.code), "message": .string(warning.message), "hint": .string(warning.hint),
      "variant": text(warning.variant), "shard": whole(warning.shard.map(Int64.init)),
    ])
  }

  /// Reads a record back. What an older or newer version does not have is left as it is in an empty record.
  package static func record(_ tree: JSONValue) throws(Problem) -> RunRecord {
    guard let version = tree["record_version"]?.asInt else { throw Problem(message: "no record of a run: `record_version` is missing") }
    guard version == schemaVersion else {
      throw Problem(message: "record version \(version); this ssebench reads version \(schemaVersion)")
    }
    var record = RunRecord()
    let run = tree["run"] ?? .null
    record.name = run["name"]?.asString ?? ""
    record.id = run["id"]?.asString ?? ""
    record.startedAtMilliseconds = whole(run["started_at_ms"]) ?? 0
    record.startedAt = run["started_at"]?.asString ?? ""
    record.durationSeconds = run["duration_s"]?.asDouble ?? 0
    record.seed = run["seed"]?.asString.flatMap { UInt64($0) } ?? 0
    record.version = run["version"]?.asString ?? ""
    record.build = run["build"]?.asString ?? ""
    record.partialBecause = run["partial_because"]?.asString
    record.ioError = run["io_error"]?.asBool ?? false
    record.warmUpSeconds = run["warm_up_s"]?.asDouble ?? 0
    record.command = run["command"]?.asString ?? ""
    record.mergedShards = (run["merged_shards"]?.asArray ?? []).compactMap(\.asInt)
    record.missingShards = (run["missing_shards"]?.asArray ?? []).compactMap(\.asInt)
    record.startAtMilliseconds = whole(run["start_at_ms"])
    record.loadStarts = HostFile.starts(run["load_starts"])
    record.hosts = (tree["hosts"]?.asArray ?? []).map { HostFile.host($0) }
    if let index = run["shard"]?["index"]?.asInt, let count = run["shard"]?["count"]?.asInt {
      record.shard = RunShard(index: index, count: count)
    }
    let machine = tree["machine"] ?? .null
    record.machine.system = machine["system"]?.asString ?? ""
    record.machine.kernel = machine["kernel"]?.asString ?? ""
    record.machine.processor = machine["processor"]?.asString ?? ""
    record.machine.cores = machine["cores"]?.asInt ?? 0
    record.machine.memoryBytes = whole(machine["memory_bytes"]) ?? 0
    record.machine.governor = machine["governor"]?.asString
    record.machine.descriptorLimit = machine["descriptor_limit"]?.asInt ?? 0
    record.machine.host = machine["host"]?.asString ?? ""
    record.machine.clock = HostFile.clock(machine["clock"])
    record.scenario = tree["scenario"] ?? .null
    record.warnings = (tree["warnings"]?.asArray ?? []).map {
      RunWarning(
        code: $0["code"]?.asString ?? "", message: $0["message"]?.asString ?? "", hint: $0["hint"]?.asString ?? "",
        variant: $0["variant"]?.asString, shard: $0["shard"]?.asInt)
    }
    for variant in tree["variants"]?.asArray ?? [] { record.variants.append(try VariantFile.variant(variant)) }
    return record
  }

  static func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
  static func real(_ value: Double?) -> JSONValue { value.map { .number($0) } ?? .null }
  static func whole(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }
  static func whole(_ value: JSONValue?) -> Int64? { value?.asInt.map { Int64($0) } }
}
