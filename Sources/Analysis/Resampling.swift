// Values of sessions, or histograms of seconds, become a figure and the figures of resamples of the same data. What
// follows in time stays together: sessions and seconds close to each other share the machine's mood.

package import Primitives
package import Recording

/// A figure of a distribution.
package enum Statistic: String, Sendable, CaseIterable {
  case mean, p50, p90, p95, p99, p999

  package var quantile: Double? { Percentile(rawValue: rawValue)?.quantile }

  package func isSupported(by count: Int64) -> Bool { Percentile(rawValue: rawValue)?.isSupported(by: count) ?? (count > 1) }
}

/// Data that can be drawn again.
package protocol Resampled {
  var count: Int64 { get }
  /// The figures of the data itself.
  func figures(_ statistics: [Statistic]) -> [Double]
  /// The figures of one resample.
  func draw(_ statistics: [Statistic], _ random: inout SeededRandom) -> [Double]
  /// The figures of each repeat alone.
  func repeats(_ statistics: [Statistic]) -> [[Double]]
}

/// One value a session, in the order in which they started, by repeat.
package struct SessionSample: Resampled {
  private let values: [Double]
  /// Places in `values`, smallest value first.
  private let order: [Int32]
  private let blocks: [Range<Int>]

  package var count: Int64 { Int64(values.count) }

  package init(blocks given: [[Double]]) {
    var all: [Double] = []
    var ranges: [Range<Int>] = []
    for block in given where !block.isEmpty {
      ranges.append(all.count..<all.count + block.count)
      all += block
    }
    values = all
    blocks = ranges
    order = all.indices.map { Int32($0) }.sorted { all[Int($0)] < all[Int($1)] }
  }

  package func figures(_ statistics: [Statistic]) -> [Double] {
    read(statistics, weights: [UInt16](repeating: 1, count: values.count), total: values.count)
  }

  package func repeats(_ statistics: [Statistic]) -> [[Double]] {
    blocks.map { SessionSample(blocks: [Array(values[$0])]).figures(statistics) }
  }

  /// Circular blocks of n^(1/3) neighbours, within each repeat, until it is as large as it was.
  package func draw(_ statistics: [Statistic], _ random: inout SeededRandom) -> [Double] {
    var weights = [UInt16](repeating: 0, count: values.count)
    for block in blocks {
      let n = block.count
      let length = max(1, Int(Maths.pow(Double(n), 1.0 / 3).rounded()))
      var left = n
      while left > 0 {
        let from = Int(random.next() % UInt64(n))
        for offset in 0..<min(length, left) {
          var place = from + offset
          if place >= n { place -= n }
          weights[block.lowerBound + place] &+= 1
        }
        left -= length
      }
    }
    return read(statistics, weights: weights, total: values.count)
  }

  /// All figures in one walk over the sorted values.
  private func read(_ statistics: [Statistic], weights: [UInt16], total: Int) -> [Double] {
    var results = [Double](repeating: .nan, count: statistics.count)
    guard total > 0 else { return results }
    var sum = 0.0
    var seen = 0
    let wanted = statistics.map { $0.quantile.map { max(1, Int(($0 * Double(total)).rounded(.up))) } ?? Int.max }
    for place in order {
      let weight = Int(weights[Int(place)])
      if weight == 0 { continue }
      let value = values[Int(place)]
      let before = seen
      seen += weight
      sum += value * Double(weight)
      for index in wanted.indices where wanted[index] > before && wanted[index] <= seen { results[index] = value }
    }
    for index in statistics.indices where statistics[index] == .mean { results[index] = sum / Double(total) }
    return results
  }
}

/// One histogram a second, as the logs keep them, by stretches without a break (which are the repeats).
package struct IntervalSample: Resampled {
  /// Counts by second and bin, over the bins that any second used.
  private let counts: [[Float]]
  private let lows: [Double]
  private let widths: [Double]
  private let stretches: [Range<Int>]
  package let count: Int64
  /// Seconds kept apart; of longer runs neighbours are added up.
  private static let mostRows = 240

  package init(stretches given: [[Histogram]]) {
    var rows: [Histogram] = []
    var ranges: [Range<Int>] = []
    let all = given.reduce(0) { $0 + $1.count }
    let group = max(1, (all + Self.mostRows - 1) / Self.mostRows)
    for stretch in given where !stretch.isEmpty {
      let first = rows.count
      for from in Swift.stride(from: 0, to: stretch.count, by: group) {
        let sum = Histogram()
        for histogram in stretch[from..<min(from + group, stretch.count)] { sum.add(histogram) }
        rows.append(sum)
      }
      ranges.append(first..<rows.count)
    }
    var used: Set<Int> = []
    for row in rows { for index in row.usedIndices where row.count(at: index) > 0 { used.insert(index) } }
    let bins = used.sorted()
    counts = rows.map { row in bins.map { Float(row.count(at: $0)) } }
    lows = bins.map { Double(Histogram.range(at: $0).lowest) }
    widths = bins.map { Double(Histogram.range(at: $0).width) }
    stretches = ranges
    count = rows.reduce(0) { $0 + $1.count }
  }

  package func figures(_ statistics: [Statistic]) -> [Double] {
    read(statistics, weights: [Float](repeating: 1, count: counts.count))
  }

  package func repeats(_ statistics: [Statistic]) -> [[Double]] {
    stretches.map { stretch in
      read(statistics, weights: counts.indices.map { stretch.contains($0) ? 1 : 0 })
    }
  }

  package func draw(_ statistics: [Statistic], _ random: inout SeededRandom) -> [Double] {
    var weights = [Float](repeating: 0, count: counts.count)
    for stretch in stretches {
      let n = stretch.count
      let length = max(1, Int(Maths.pow(Double(n), 1.0 / 3).rounded()))
      var left = n
      while left > 0 {
        let from = Int(random.next() % UInt64(n))
        for offset in 0..<min(length, left) { weights[stretch.lowerBound + (from + offset) % n] += 1 }
        left -= length
      }
    }
    return read(statistics, weights: weights)
  }

  /// Quantiles lie between the edges of their bin by rank, so that the bins' width shows in no comparison.
  private func read(_ statistics: [Statistic], weights: [Float]) -> [Double] {
    var sums = [Double](repeating: 0, count: lows.count)
    for (row, weight) in weights.enumerated() where weight > 0 {
      let counts = counts[row]
      for bin in counts.indices { sums[bin] += Double(counts[bin] * weight) }
    }
    let total = sums.reduce(0, +)
    guard total > 0 else { return statistics.map { _ in .nan } }
    return statistics.map { statistic in
      guard let quantile = statistic.quantile else {
        return zip(sums, zip(lows, widths)).reduce(0) { $0 + $1.0 * ($1.1.0 + $1.1.1 / 2) } / total
      }
      let wanted = quantile * total
      var seen = 0.0
      for bin in sums.indices where sums[bin] > 0 {
        if seen + sums[bin] >= wanted { return lows[bin] + widths[bin] * (wanted - seen) / sums[bin] }
        seen += sums[bin]
      }
      return (lows.last ?? 0) + (widths.last ?? 0)
    }
  }
}
