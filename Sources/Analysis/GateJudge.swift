// Gates and a summary's tree, and where there is one a baseline, become results. A value that was not measured does
// not hold; a baseline gate fails only when its whole confidence interval lies beyond the limit.

package import Primitives

/// The gates of a scenario or of a gates file, as text.
package struct GateList: Sendable, Equatable {
  package var texts: [String]
  /// Of those, which end the run when they fail.
  package var abort: Set<Int> = []

  package init(texts: [String]) { self.texts = texts }

  /// From the `gates` of a scenario as it stands in a report: strings, or objects with `gate` and `abort_on_fail`.
  package static func of(scenario: JSONValue) -> GateList {
    list(scenario["gates"]) ?? GateList(texts: [])
  }

  /// From an array of gates; nil where it is none or a member is no gate.
  package static func list(_ value: JSONValue?) -> GateList? {
    guard let members = value?.asArray else { return nil }
    var list = GateList(texts: [])
    for member in members {
      guard let text = member.asString ?? member["gate"]?.asString else { return nil }
      if member["abort_on_fail"]?.asBool == true { list.abort.insert(list.texts.count) }
      list.texts.append(text)
    }
    return list
  }
}

/// What a baseline knows of one figure of one variant.
package struct BaselineFigure: Sendable {
  package var baseline: Double
  /// The same figure over all candidate runs, where there are several; it then stands for the key in the gate.
  package var candidate: Double?
  /// Resampled values of both sides, of equal length; empty where only the two numbers are known.
  package var candidateReplicates: [Double]
  package var baselineReplicates: [Double]

  package init(
    baseline: Double, candidate: Double? = nil, candidateReplicates: [Double] = [], baselineReplicates: [Double] = []
  ) {
    self.baseline = baseline
    self.candidate = candidate
    self.candidateReplicates = candidateReplicates
    self.baselineReplicates = baselineReplicates
  }
}

/// The figures of a baseline, asked for by key path and variant.
package protocol Baseline {
  func figure(path: [String], variant: String?) -> BaselineFigure?
}

package struct GateJudge {
  /// What becomes of a gate on a baseline where there is none to judge it by.
  package enum WithoutBaseline: Sendable {
    /// It is not judged: `run` cannot know of one yet.
    case waits
    /// It does not hold: a baseline was due and not given.
    case fails
    /// It does not hold: the runs that were given are of another scenario, machine or load.
    case notComparable
  }

  private let tree: JSONValue
  private let baseline: (any Baseline)?
  private let withoutBaseline: WithoutBaseline

  package init(tree: JSONValue, baseline: (any Baseline)? = nil, withoutBaseline: WithoutBaseline = .waits) {
    self.tree = tree
    self.baseline = baseline
    self.withoutBaseline = withoutBaseline
  }

  /// Gates over several runs of one candidate. Those on a baseline are judged once, on all runs together; any other must
  /// hold in each run, and the first run in which it does not is told.
  package static func judge(
    _ list: GateList, candidates: [JSONValue], baseline: (any Baseline)?, withoutBaseline: WithoutBaseline
  ) -> [GateResult] {
    let runs = candidates.map {
      GateJudge(tree: $0, baseline: baseline, withoutBaseline: withoutBaseline).judge(list)
    }
    guard let first = runs.first else { return [] }
    return first.indices.map { index in
      runs.first { $0.indices.contains(index) && $0[index].held == false }?[index] ?? first[index]
    }
  }

  /// One result a gate and variant, in order. A text that is no gate counts as not held, with the problem as reason.
  package func judge(_ list: GateList) -> [GateResult] {
    let variants = tree["variants"]?.asArray ?? []
    let names = variants.compactMap { $0["name"]?.asString }
    let known = KnownKeys(variantNames: names)
    var results: [GateResult] = []
    for text in list.texts {
      do {
        let gate = try GateExpression.parse(text, knownKeys: known)
        if gate.isOfRun {
          results.append(judge(gate, on: nil, name: nil))
        } else {
          for (variant, name) in zip(variants, names) {
            results.append(judge(gate, on: variant, name: variants.count > 1 ? name : nil))
          }
        }
      } catch {
        var result = GateResult(expression: text)
        result.held = false
        result.reason = error.message
        results.append(result)
      }
    }
    return results
  }

  private func judge(_ gate: GateExpression, on variant: JSONValue?, name: String?) -> GateResult {
    var result = GateResult(expression: gate.text)
    result.variant = name
    var figure: BaselineFigure?
    func lookup(_ key: GateKey) -> Double? {
      // A gate on a baseline has one key, so the pooled figure is that key's.
      if let pooled = figure?.candidate { return pooled }
      switch key.scope {
      case .eachVariant: return variant.flatMap { Self.number(key.path, in: $0) }
      case .run: return Self.number(key.path, in: tree)
      case .variant(let wanted):
        let named = (tree["variants"]?.asArray ?? []).first { $0["name"]?.asString == wanted }
        return named.flatMap { Self.number(key.path, in: $0) }
      }
    }

    if gate.usesBaseline, let key = gate.keys.first {
      guard let baseline else {
        result.observed = gate.left.value(lookup, baseline: nil)
        switch withoutBaseline {
        case .waits: (result.held, result.reason) = (nil, "needs_baseline")
        case .fails: (result.held, result.reason) = (false, "not_measured")
        case .notComparable: (result.held, result.reason) = (false, "not_comparable")
        }
        return result
      }
      figure =
        switch key.scope {
        case .run: baseline.figure(path: key.path, variant: nil)
        case .variant(let wanted): baseline.figure(path: key.path, variant: wanted)
        case .eachVariant: baseline.figure(path: key.path, variant: variant?["name"]?.asString)
        }
    }
    result.observed = gate.left.value(lookup, baseline: figure?.baseline)
    result.limit = gate.right.value(lookup, baseline: figure?.baseline)
    guard let observed = result.observed, let limit = result.limit else {
      result.held = false
      result.reason = "not_measured"
      return result
    }
    result.held = gate.relation.holds(observed, limit)
    if let figure, !figure.candidateReplicates.isEmpty { judgeByInterval(gate, figure, &result) }
    if result.held == false, result.reason == nil { result.reason = "beyond_limit" }
    return result
  }

  /// A limit passed by less than the interval of the difference is noise and holds.
  private func judgeByInterval(_ gate: GateExpression, _ figure: BaselineFigure, _ result: inout GateResult) {
    let differences = zip(figure.candidateReplicates, figure.baselineReplicates).compactMap { own, base -> Double? in
      guard
        let left = gate.left.value({ _ in own }, baseline: base),
        let right = gate.right.value({ _ in own }, baseline: base)
      else { return nil }
      return left - right
    }.sorted()
    guard differences.count >= 40 else { return }
    let low = differences[Int(0.025 * Double(differences.count))]
    let high = differences[min(differences.count - 1, Int(0.975 * Double(differences.count)))]
    result.interval = low...high
    let wholeBeyond: Bool
    switch gate.relation {
    case .atMost: wholeBeyond = low > 0
    case .below: wholeBeyond = low >= 0
    case .atLeast: wholeBeyond = high < 0
    case .above: wholeBeyond = high <= 0
    case .equal: wholeBeyond = low > 0 || high < 0
    case .notEqual: wholeBeyond = false
    }
    if result.held == false && !wholeBeyond {
      result.held = true
      result.reason = "within_noise"
    }
  }

  /// The number at a path; truth values are 1 and 0.
  static func number(_ path: [String], in value: JSONValue) -> Double? {
    var value = value
    for part in path {
      if let next = value[part] {
        value = next
      } else if let index = Int(part), let next = value[index] {
        value = next
      } else {
        return nil
      }
    }
    return value.asDouble ?? value.asBool.map { $0 ? 1 : 0 }
  }
}
