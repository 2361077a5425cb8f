// A run's record becomes the tree of `summary.json`, from which every report is told. Knows no file.

package import Primitives
package import Recording

/// The figures, gates, warnings and verdict of a run: CONTRACT, section 3. `tree` is `summary.json` itself.
package struct Summary: Sendable {
  package static let schemaVersion = 1

  package let tree: JSONValue

  /// A summary read back from a file.
  package init(tree: JSONValue) { self.tree = tree }

  /// Figures, warnings, the scenario's gates and the verdict of a record.
  package init(_ record: RunRecord, baseline: (any Baseline)? = nil) {
    let warnings = Warnings.of(record)
    let variants = record.variants.map { VariantFigures.tree($0) }
    var object = JSONObject([
      ("schema_version", .integer(Int64(Self.schemaVersion))),
      ("run", Self.run(record)),
      ("machine", Self.machine(record.machine)),
      ("scenario", record.scenario),
      ("variants", .array(variants)),
    ])
    if !record.hosts.isEmpty { object["hosts"] = HostFigures.tree(record.hosts, duration: record.durationSeconds) }
    let gates = GateJudge(tree: .object(object), baseline: baseline).judge(GateList.of(scenario: record.scenario))
    let judgement = Judgement(record, warnings: warnings, gates: gates)
    object["gates"] = .array(gates.map(\.json))
    object["warnings"] = .array(warnings.map(Self.json))
    object["verdict"] = .string(judgement.verdict.rawValue)
    object["verdict_reasons"] = .array(judgement.reasons.map { .string($0) })
    object["exit_code"] = .integer(Int64(judgement.exitStatus))
    object["definitions"] = Self.definitions
    tree = .object(object)
  }

  package var verdict: Verdict { tree["verdict"]?.asString.flatMap(Verdict.init) ?? .partial }
  package var exitStatus: Int32 { Int32(clamping: tree["exit_code"]?.asInt ?? 1) }
  package var reasons: [String] { (tree["verdict_reasons"]?.asArray ?? []).compactMap(\.asString) }
  package var variants: [JSONValue] { tree["variants"]?.asArray ?? [] }
  package var gates: [GateResult] { (tree["gates"]?.asArray ?? []).compactMap { GateResult($0) } }

  package var warnings: [RunWarning] {
    (tree["warnings"]?.asArray ?? []).compactMap { warning in
      guard let code = warning["code"]?.asString else { return nil }
      return RunWarning(
        code: code, message: warning["message"]?.asString ?? "", hint: warning["hint"]?.asString ?? "",
        variant: warning["variant"]?.asString, shard: warning["shard"]?.asInt)
    }
  }

  static func run(_ record: RunRecord) -> JSONValue {
    var run = JSONObject([
      ("name", .string(record.name)), ("id", .string(record.id)), ("started_at", .string(record.startedAt)),
      ("started_at_ms", .integer(record.startedAtMilliseconds)), ("duration_s", Figure.real(record.durationSeconds)),
      ("seed", Int64(exactly: record.seed).map { .integer($0) } ?? .string(String(record.seed))),
      ("version", .string(record.version)), ("build", .string(record.build)),
      ("partial", .bool(record.partialBecause != nil || record.ioError)),
      ("partial_because", Figure.word(record.partialBecause)), ("command", .string(record.command)),
      ("warm_up_s", Figure.real(record.warmUpSeconds)),
    ])
    run["start_at_ms"] = Figure.whole(record.startAtMilliseconds)
    run["shard"] = record.shard.map { .object(["index": Figure.whole($0.index), "count": Figure.whole($0.count)]) } ?? .null
    if !record.mergedShards.isEmpty {
      run["merged_shards"] = .array(record.mergedShards.map { .integer(Int64($0)) })
      run["missing_shards"] = .array(record.missingShards.map { .integer(Int64($0)) })
      run["alignment"] = MergeClock(record.hosts, duration: record.durationSeconds).tree
    }
    return .object(run)
  }

  static func machine(_ machine: MachineRecord) -> JSONValue {
    .object([
      "system": .string(machine.system), "kernel": .string(machine.kernel), "processor": .string(machine.processor),
      "cores": .integer(Int64(machine.cores)), "memory_bytes": .integer(machine.memoryBytes),
      "governor": Figure.word(machine.governor), "descriptor_limit": .integer(Int64(machine.descriptorLimit)),
      "host": .string(machine.host), "clock": HostFigures.clock(machine.clock),
    ])
  }

  /// The same figures under other gates: verdict, reasons and exit code follow. A run that is partial or not to be
  /// trusted stays so whatever its gates say.
  package func judged(by gates: [GateResult]) -> Summary {
    guard case .object(var object) = tree else { return self }
    object["gates"] = .array(gates.map(\.json))
    let completed = variants.reduce(0) { $0 + ($1["sessions"]?["completed"]?.asInt ?? 0) }
    if verdict == .passed || verdict == .failed, completed > 0 {
      let started = variants.reduce(0) { $0 + ($1["sessions"]?["started"]?.asInt ?? 0) }
      let judgement = Judgement(completed: Int64(completed), started: Int64(started), gates: gates)
      object["verdict"] = .string(judgement.verdict.rawValue)
      object["verdict_reasons"] = .array(judgement.reasons.map { .string($0) })
      object["exit_code"] = .integer(Int64(judgement.exitStatus))
    }
    return Summary(tree: .object(object))
  }

  private static func json(_ warning: RunWarning) -> JSONValue {
    .object([
      "code": .string(warning.code), "message": .string(warning.message), "hint": .string(warning.hint),
      "variant": Figure.word(warning.variant), "shard": Figure.whole(warning.shard),
    ])
  }

  /// Key → definition of every latency, so that a figure never stands without it.
  private static let definitions: JSONValue = .object(
    JSONObject(Metric.allCases.map { (VariantFigures.path($0), .string($0.definition)) }))
}
