// Numbers become the JSON of a figure: rounded to what was measured, null where nothing was.

package import Primitives
package import Recording

package enum Figure {
  /// A real figure to six decimals; null where it is absent or not finite.
  package static func real(_ value: Double?) -> JSONValue {
    guard let value, value.isFinite else { return .null }
    let rounded = (value * 1e6).rounded() / 1e6
    return .number(abs(value) < 1e9 ? rounded : value.rounded())
  }

  package static func whole(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }
  package static func whole(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
  package static func word(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
  package static func yes(_ value: Bool?) -> JSONValue { value.map { .bool($0) } ?? .null }

  /// `a ÷ b`; nil where there is nothing to divide by.
  package static func ratio(_ a: Double, _ b: Double) -> Double? { b > 0 ? a / b : nil }
  package static func ratio(_ a: Int64, _ b: Int64) -> Double? { ratio(Double(a), Double(b)) }

  /// Nanoseconds as milliseconds.
  package static func milliseconds(_ nanoseconds: Double?) -> JSONValue { real(nanoseconds.map { $0 / 1e6 }) }

  /// The fields of a latency, in order.
  package static let latencyFields = ["count", "mean", "stddev", "min", "p50", "p90", "p95", "p99", "p999", "max"]

  /// `count, mean, stddev, min, p50 … max` in milliseconds. Percentiles that the sample cannot support are null.
  package static func latency(_ histogram: Histogram) -> JSONValue {
    let some = histogram.count > 0
    var object = JSONObject([
      ("count", .integer(histogram.count)),
      ("mean", milliseconds(some ? histogram.mean : nil)),
      ("stddev", milliseconds(histogram.count > 1 ? histogram.standardDeviation : nil)),
      ("min", milliseconds(some ? Double(histogram.lowest) : nil)),
    ])
    for percentile in Percentile.allCases {
      let value = percentile.isSupported(by: histogram.count)
        ? Double(histogram.value(atQuantile: percentile.quantile)) : nil
      object[percentile.key] = milliseconds(value)
    }
    object["max"] = milliseconds(some ? Double(histogram.largest) : nil)
    return .object(object)
  }
}

/// The percentiles of a report and the samples that each needs.
///
/// Source: MLPerf's early stopping at confidence 0.99 and tolerance 0: the smallest n for which a run without a single
/// sample beyond its limit shows the percentile, from the binomial distribution.
package enum Percentile: String, CaseIterable, Sendable {
  case p50, p90, p95, p99, p999

  package var key: String { rawValue }

  package var quantile: Double {
    switch self {
    case .p50: 0.5
    case .p90: 0.9
    case .p95: 0.95
    case .p99: 0.99
    case .p999: 0.999
    }
  }

  package var minimumSamples: Int64 {
    switch self {
    case .p50: 11
    case .p90: 64
    case .p95: 130
    case .p99: 662
    case .p999: 6_636
    }
  }

  /// As it stands in a sentence.
  package var name: String { self == .p999 ? "p99.9" : rawValue }

  package func isSupported(by count: Int64) -> Bool { count >= minimumSamples }
}
