// The loads of a sweep or a search: a variant's document with one key set and the base model in place of `sweep` or
// `search`, as checked as any other.

import Primitives

extension ScenarioSource {
  /// A point of a search.
  func point(of variant: LoadedScenario.Variant, at value: Double) throws(ScenarioFailure)
    -> LoadedScenario.Point
  {
    precondition(variant.scenario.load.search != nil, "only a search has points by value")
    var problems: [ScenarioProblem] = []
    let key = variant.scenario.load.search.map { Self.fullKey($0.key) } ?? ""
    let point = self.point(variant.raw, key, .number(value), "search", TraceFiles(), &problems)
    if let point, problems.isEmpty { return point }
    throw failure(problems)
  }

  /// A key without a point is one of `load`.
  static func fullKey(_ key: String) -> String { key.contains(".") ? key : "load.\(key)" }

  func checkKey(_ key: String, at place: String, _ problems: inout [ScenarioProblem]) -> Kind? {
    if var unknown = Self.unknownKey(key, in: ScenarioDefinition.scenario) {
      unknown.keyPath = place
      add(unknown, to: &problems)
      return nil
    }
    guard case .success(let kind) = Kind.object(ScenarioDefinition.scenario).kind(at: key.keys) else {
      return nil
    }
    return kind
  }

  func point(
    _ raw: JSONValue, _ key: String, _ value: JSONValue, _ model: String, _ traces: TraceFiles,
    _ problems: inout [ScenarioProblem]
  ) -> LoadedScenario.Point? {
    let before = problems.count
    let base = raw.value(at: "load.\(model).base") ?? (key == "load.rate" ? "poisson" : "closed")
    guard case .object(var load)? = raw.value(at: "load"),
      case .success(let kind) = Kind.object(ScenarioDefinition.scenario).kind(at: key.keys)
    else { return nil }
    load[model] = nil
    load["model"] = base
    var own = raw
    let used: JSONValue =
      switch (kind, value.asDouble) {
      case (.rate, let number?): .string(Units.rateText(perSecond: number))
      case (.integer, let number?): number.magnitude < 9e15 ? .integer(Int64(number.rounded())) : value
      default: value
      }
    do throws(KeyPathError) {
      try own.set(["load"], to: .object(load))
      try own.set(key.keys, to: used)
    } catch {
      add(ScenarioProblem("load.\(model).key", error.message), to: &problems)
      return nil
    }
    own = DependentDefaults.fill(own, name: name, varied: [])
    let (scenario, _) = self.scenario(
      own, traces, dropsUnused: true, "In the load \(key) = \(used.asString ?? used.text())", &problems)
    return problems.count == before ? LoadedScenario.Point(key: key, value: used, scenario: scenario) : nil
  }
}
