// A value that varies: a constant or a distribution, sampled with the caller's generator. Durations are in
// nanoseconds, counts and sizes plain numbers; the unit is the owner's.

package import Primitives

/// What a scenario may write wherever a value can vary.
package enum Distribution: Sendable, Equatable {
  case constant(Double)
  /// Log-normal by its median and 99th percentile: ln x is normal with mean ln median and deviation
  /// ln(p99 ÷ median) ÷ 2.3263.
  case lognormal(median: Double, p99: Double)
  /// Uniform in [low, high].
  case uniform(low: Double, high: Double)
  case exponential(mean: Double)
  /// The values of a file, in order, again from the start when used up.
  case trace(file: String, values: [Double])

  /// The value for the `index`-th draw; only a trace looks at `index`.
  package func sample(_ random: inout SeededRandom, index: Int) -> Double {
    switch self {
    case .constant(let value): value
    case .lognormal(let median, let p99):
      Maths.exp(Maths.log(median) + Maths.log(p99 / median) / 2.3263478740408408 * random.normal())
    case .uniform(let low, let high): low + (high - low) * random.uniform()
    case .exponential(let mean): mean * random.exponential()
    case .trace(_, let values): values.isEmpty ? 0 : values[index % values.count]
    }
  }

  package var mean: Double {
    switch self {
    case .constant(let value): value
    case .lognormal(let median, let p99):
      { s in median * Maths.exp(s * s / 2) }(Maths.log(p99 / median) / 2.3263478740408408)
    case .uniform(let low, let high): (low + high) / 2
    case .exponential(let mean): mean
    case .trace(_, let values): values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count)
    }
  }

  package var constantValue: Double? { if case .constant(let value) = self { value } else { nil } }
}
