// From a document to its variants and their points: overrides, variables, `compare`, `sweep`, and the checks on each.

import Primitives

/// Where a document comes from, and how its parts are read.
struct ScenarioSource: Sendable {
  let file: String
  /// The default of the key `name`.
  let name: String
  let folder: String
  var variables: Variables
  let overrides: [Override]

  /// Variants times points, at most.
  static let mostVariants = 1_000

  /// Keys that are of the run as a whole.
  private static let unvaried = ["$schema", "name", "compare", "gates", "measure.repeats", "budget"]

  mutating func load(
    _ document: JSONValue, endpoint: String?, gateCheck: GateCheck?
  ) throws(ScenarioFailure) -> LoadedScenario {
    var problems: [ScenarioProblem] = []
    var raw = try prepared(document, ScenarioDefinition.scenario, &problems)
    if let endpoint { Self.point(&raw, at: endpoint) }
    problems += variables.collect(raw)

    let compare = comparison(raw, &problems)
    let varied = Set(compare.map(\.key))
    raw = DependentDefaults.fill(raw, name: name, varied: varied)
    var checker = DocumentChecker(environment: variables)
    checker.varied = varied
    let complete = checker.check(raw, as: ScenarioDefinition.scenario)
    for problem in checker.problems { add(problem, to: &problems) }

    let traces = TraceFiles()
    var variants: [LoadedScenario.Variant] = []
    for combination in Self.product(compare) {
      let variant = self.variant(raw, combination, traces, compare.isEmpty, &problems)
      variants.append(variant)
      if problems.count > 1_000 { break }
    }
    let loads = variants.reduce(0) { $0 + max(1, $1.points.count) }
    if loads > Self.mostVariants {
      problems.append(
        ScenarioProblem("compare", "\(loads) variants and loads", expected: "at most \(Self.mostVariants)"))
    }
    var names: Set<String> = []
    for variant in variants where !names.insert(variant.name).inserted {
      add(
        ScenarioProblem(
          "compare", "two variants are named '\(variant.name)'", expected: "values that differ"),
        to: &problems)
    }
    let secrets = Secrets(variables.used)
    // By their places in the file: what is no gate at all has its own problem.
    if let gateCheck, let gates = raw["gates"]?.asArray {
      let loads = variants.flatMap { variant in
        variant.points.isEmpty
          ? [variant.name] : variant.points.map { variant.name(of: $0, isOnly: variants.count == 1) }
      }
      for (index, gate) in gates.enumerated() {
        guard let text = gate.asString ?? gate["gate"]?.asString,
          let found = gateCheck(variables.expand(text), loads)
        else { continue }
        add(ScenarioProblem("gates.\(index)", secrets.scrub(found)), to: &problems)
      }
    }
    if !problems.isEmpty { throw failure(problems) }
    return LoadedScenario(
      // File names follow from it.
      name: secrets.scrub(variants[0].scenario.name), document: complete, variants: variants, secrets: secrets, source: self)
  }

  mutating func mock(_ document: JSONValue) throws(ScenarioFailure) -> MockSettings {
    var problems: [ScenarioProblem] = []
    let raw = try prepared(document, MockDefinition.mock, &problems)
    problems += variables.collect(raw)
    var checker = DocumentChecker(environment: variables)
    let complete = checker.check(raw, as: MockDefinition.mock)
    var builder = ScenarioBuilder(variables: variables, folder: folder, traces: TraceFiles())
    let mock = builder.mock(Reading(complete, variables: variables))
    for problem in checker.problems + builder.problems { add(problem, to: &problems) }
    if !problems.isEmpty { throw failure(problems) }
    return mock
  }

  // MARK: Parts of `load`

  /// The document with the overrides in it. An override of a key that cannot be is a problem; a document that is no
  /// object ends everything.
  private func prepared(
    _ document: JSONValue, _ shape: Shape, _ problems: inout [ScenarioProblem]
  ) throws(ScenarioFailure) -> JSONValue {
    guard case .object = document else {
      throw failure([
        ScenarioProblem("", "is not an object", expected: "{ … } with the keys of a \(shape.name)")
      ])
    }
    var raw = document
    for override in overrides {
      if let unknown = Self.unknownKey(override.keyPath, in: shape) {
        problems.append(unknown)
        continue
      }
      do throws(KeyPathError) {
        try raw.set(override.keyPath.keys, to: override.value)
      } catch {
        problems.append(ScenarioProblem(override.keyPath, error.message))
      }
    }
    return raw
  }

  /// `--endpoint URL` beside a file: the URL in place of the file's mock, with the API that the mock would speak.
  private static func point(_ raw: inout JSONValue, at url: String) {
    let api = raw.value(at: "endpoint.api") ?? raw.value(at: "endpoint.mock.api") ?? "openai-chat"
    guard case .object(var endpoint) = raw.value(at: "endpoint") ?? .object([:]) else { return }
    endpoint["mock"] = nil
    endpoint["url"] = .string(url)
    endpoint["api"] = api
    try? raw.set(["endpoint"], to: .object(endpoint))
  }

  static func unknownKey(_ keyPath: String, in shape: Shape) -> ScenarioProblem? {
    if keyPath.utf8.count > 1_000 || keyPath.keys.count > JSONReader.maximumDepth {
      return ScenarioProblem(
        String(keyPath.prefix(60)), "is too long a key path",
        expected: "at most \(JSONReader.maximumDepth) keys")
    }
    guard case .failure(let unknown) = Kind.object(shape).kind(at: keyPath.keys) else { return nil }
    let near = NearestWord.find(unknown.key, among: unknown.known)
    return ScenarioProblem(
      keyPath, "there is no key \"\(unknown.key)\"",
      expected: unknown.known.isEmpty
        ? "a key path of the \(shape.name)"
        : "one of \(unknown.known.filter { $0 != "$schema" }.joined(separator: ", "))",
      suggestion: near.map { "Did you mean \"\($0)\"?" } ?? "")
  }

  /// The keys of `compare` that can be varied, with their values.
  private func comparison(_ raw: JSONValue, _ problems: inout [ScenarioProblem]) -> [(
    key: String, values: [JSONValue]
  )] {
    guard case .object(let compare)? = raw.value(at: "compare") else { return [] }
    var result: [(key: String, values: [JSONValue])] = []
    var product = 1
    for (key, value) in compare.pairs {
      let place = "compare.\(key)"
      if var unknown = Self.unknownKey(key, in: ScenarioDefinition.scenario) {
        unknown.keyPath = place
        problems.append(unknown)
        continue
      }
      if Self.unvaried.contains(where: { key == $0 || key.hasPrefix("\($0).") }) {
        problems.append(
          ScenarioProblem(
            place, "is of the run as a whole", expected: "a key that can differ between variants"))
        continue
      }
      guard case .array(let values) = value, !values.isEmpty else { continue }
      product = min(product * values.count, Self.mostVariants + 1)
      result.append((key, values))
    }
    if product > Self.mostVariants {
      problems.append(
        ScenarioProblem(
          "compare", "more than \(Self.mostVariants) variants", expected: "at most \(Self.mostVariants)"))
      return []
    }
    return result
  }

  private static func product(_ compare: [(key: String, values: [JSONValue])]) -> [[(
    key: String, value: JSONValue
  )]] {
    compare.reduce([[]]) { combinations, next in
      combinations.flatMap { combination in next.values.map { combination + [(next.key, $0)] } }
    }
  }

  private func variant(
    _ raw: JSONValue, _ combination: [(key: String, value: JSONValue)], _ traces: TraceFiles, _ isOnly: Bool,
    _ problems: inout [ScenarioProblem]
  ) -> LoadedScenario.Variant {
    let name = combination.map { $0.value.asString ?? $0.value.text() }.joined(separator: "+")
    var own = raw
    if !isOnly {
      if case .object(var object) = own {
        object["compare"] = nil
        own = .object(object)
      }
      for (key, value) in combination {
        if case .object(var endpoint)? = own.value(at: "endpoint"), key == "endpoint.url" {
          endpoint["mock"] = nil
          try? own.set(["endpoint"], to: .object(endpoint))
        }
        do throws(KeyPathError) { try own.set(key.keys, to: value) } catch {
          add(ScenarioProblem("compare.\(key)", error.message), to: &problems)
        }
      }
      own = DependentDefaults.fill(own, name: self.name, varied: [])
    }
    let label = isOnly ? nil : "In the variant '\(name)'"
    let (scenario, complete) = self.scenario(own, traces, dropsUnused: !isOnly, label, &problems)
    var variant = LoadedScenario.Variant(
      name: isOnly ? "default" : name, changes: .object(JSONObject(combination.map { ($0.key, $0.value) })),
      scenario: scenario, client: complete["client"] ?? .object([:]), points: [], raw: own)
    if let sweep = scenario.load.sweep {
      let key = Self.fullKey(sweep.key)
      guard checkKey(key, at: "load.sweep.key", &problems) != nil else { return variant }
      for value in sweep.values {
        guard let point = point(own, key, value, "sweep", traces, &problems) else { break }
        variant.points.append(point)
      }
    }
    if let search = scenario.load.search {
      let key = Self.fullKey(search.key)
      guard let kind = checkKey(key, at: "load.search.key", &problems) else { return variant }
      switch kind {
      case .integer, .number, .rate:
        for end in [search.from, search.to] { _ = point(own, key, .number(end), "search", traces, &problems) }
      default:
        problems.append(
          ScenarioProblem(
            "load.search.key", "\"\(search.key)\" is not a number", expected: "a key with a number or a rate")
        )
      }
    }
    return variant
  }

  /// One document becomes a Scenario, beside itself with every default; problems that repeat a known one are left out.
  func scenario(
    _ raw: JSONValue, _ traces: TraceFiles, dropsUnused: Bool, _ label: String?,
    _ problems: inout [ScenarioProblem]
  ) -> (Scenario, complete: JSONValue) {
    var checker = DocumentChecker(environment: variables)
    checker.dropsUnused = dropsUnused
    let complete = checker.check(raw, as: ScenarioDefinition.scenario)
    var builder = ScenarioBuilder(variables: variables, folder: folder, traces: traces)
    let scenario = builder.scenario(complete)
    let checks = ScenarioChecks(scenario, document: raw)
    for var problem in checker.problems + builder.problems + checks.problems {
      if let label {
        problem.suggestion += (problem.suggestion.isEmpty ? "" : ". ") + label
        problem.isRule = true
      }
      add(problem, to: &problems)
    }
    return (scenario, complete)
  }

  /// Adds a problem unless one is known at its key or around it.
  func add(_ problem: ScenarioProblem, to problems: inout [ScenarioProblem]) {
    let known = problems.firstIndex { known in
      known.keyPath == problem.keyPath || known.keyPath.hasPrefix("\(problem.keyPath).")
        || problem.keyPath.hasPrefix("\(known.keyPath).")
    }
    if let known {
      problems[known].isRule = problems[known].isRule && problem.isRule
    } else {
      problems.append(problem)
    }
  }

  func failure(_ problems: [ScenarioProblem]) -> ScenarioFailure {
    let set = overrides.map(\.keyPath)
    return ScenarioFailure(
      .invalid,
      problems.map { problem in
        var problem = problem
        let isSet = set.contains { problem.keyPath == $0 || problem.keyPath.hasPrefix("\($0).") }
        problem.file = isSet ? "--set" : file
        return problem
      })
  }
}
