// Scenarios that the tests of this target make plans from.

import Arrivals
import Primitives
import Scenarios

func scenario(_ model: LoadModel, seed: UInt64 = 42, _ change: (inout Load) -> Void) -> Scenario {
  var scenario = Scenario()
  scenario.seed = seed
  scenario.load.model = model
  change(&scenario.load)
  return scenario
}

func starts(_ plan: Plan) -> [PlannedStart] {
  switch plan.kind {
  case .open(let open): Array(open)
  case .closed(let closed): (0..<closed.places).map { closed.firstStart($0) }
  }
}

func closed(_ plan: Plan) -> ClosedPlan {
  guard case .closed(let closed) = plan.kind else { preconditionFailure("not a closed plan") }
  return closed
}

/// Seconds of the starts of a scenario.
func seconds(_ scenario: Scenario, shard: Shard? = nil) -> [Double] {
  starts(Plan.make(scenario, shard: shard)).map(\.at.seconds)
}

func gaps(_ times: [Double]) -> [Double] { zip(times.dropFirst(), times).map { $0 - $1 } }

struct Moments {
  var mean: Double
  /// Standard deviation ÷ mean.
  var cv: Double
  /// Correlation of a value with the next.
  var lag1: Double

  init(_ values: [Double]) {
    let mean = values.reduce(0, +) / Double(values.count)
    let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)
    self.mean = mean
    cv = variance.squareRoot() / mean
    lag1 =
      variance == 0
      ? 0
      : zip(values, values.dropFirst()).reduce(0) { $0 + ($1.0 - mean) * ($1.1 - mean) }
        / (variance * Double(values.count))
  }
}
