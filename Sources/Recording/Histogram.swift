// Values become counts in HdrHistogram's layout: constant size, constant time, a relative error of at most 0.1 %.

package import Primitives

/// A histogram of nanoseconds with three significant digits, mergeable without loss, in HdrHistogram's bucket layout
/// (unit magnitude 0, 2,048 sub-buckets). Values above `highest` are counted as `highest`; negative ones as 0.
///
/// Owned by one thread at a time. Its memory is taken zeroed, so untouched parts cost no resident pages.
package final class Histogram: @unchecked Sendable {
  /// The highest value told apart: 2^43 − 1 ns, some 2.4 hours.
  package static let highest: Int64 = (1 << 43) - 1
  static let subBucketMagnitude = 11
  static let subBucketHalf = 1 << (subBucketMagnitude - 1)
  static let subBucketMask = Int64((1 << subBucketMagnitude) - 1)
  /// Number of counts: one full bucket and a half for each further power of two.
  package static let size = (43 - subBucketMagnitude + 2) * subBucketHalf

  @usableFromInline let counts: UnsafeMutablePointer<Int64>
  package private(set) var count: Int64 = 0
  /// Sum of the recorded values, for the exact mean; in double since a run of hours overflows nothing then.
  package private(set) var sum: Double = 0
  package private(set) var sumOfSquares: Double = 0
  package private(set) var lowest: Int64 = .max
  package private(set) var largest: Int64 = 0

  package init() {
    counts = zeroedCounts(Self.size)
  }

  deinit { releaseCounts(counts) }

  static func index(of value: Int64) -> Int {
    let bucket = 64 - (value | subBucketMask).leadingZeroBitCount - subBucketMagnitude
    let sub = Int(value >> Int64(bucket))
    return (bucket + 1) * subBucketHalf + sub - subBucketHalf
  }

  /// The lowest value that shares the count at `index`, and how many values share it.
  package static func range(at index: Int) -> (lowest: Int64, width: Int64) {
    var bucket = index / subBucketHalf - 1
    var sub = index % subBucketHalf + subBucketHalf
    if bucket < 0 {
      sub -= subBucketHalf
      bucket = 0
    }
    return (Int64(sub) << Int64(bucket), 1 << Int64(bucket))
  }

  package func record(_ value: Nanoseconds) { record(value.value, times: 1) }

  package func record(_ raw: Int64, times: Int64) {
    let value = min(max(raw, 0), Self.highest)
    counts[Self.index(of: value)] += times
    count += times
    let real = Double(value)
    sum += real * Double(times)
    sumOfSquares += real * real * Double(times)
    if value < lowest { lowest = value }
    if value > largest { largest = value }
  }

  package func add(_ other: Histogram) {
    guard other.count > 0 else { return }
    for index in Self.index(of: other.lowest)...Self.index(of: other.largest) { counts[index] += other.counts[index] }
    count += other.count
    sum += other.sum
    sumOfSquares += other.sumOfSquares
    lowest = min(lowest, other.lowest)
    largest = max(largest, other.largest)
  }

  package func clear() {
    guard count > 0 else { return }
    for index in Self.index(of: lowest)...Self.index(of: largest) { counts[index] = 0 }
    count = 0
    sum = 0
    sumOfSquares = 0
    lowest = .max
    largest = 0
  }

  /// Count at one index of the layout, for encoders.
  package func count(at index: Int) -> Int64 { counts[index] }

  package var mean: Double { count > 0 ? sum / Double(count) : 0 }

  package var standardDeviation: Double {
    guard count > 1 else { return 0 }
    return max(0, sumOfSquares / Double(count) - mean * mean).squareRoot()
  }

  /// The value at a quantile in 0...1: the highest value that is equivalent to the one at that rank, as
  /// HdrHistogram's `valueAtPercentile` gives it, but never above the largest recorded. 0 when empty.
  package func value(atQuantile quantile: Double) -> Int64 {
    guard count > 0 else { return 0 }
    let wanted = max(1, Int64((min(max(quantile, 0), 1) * Double(count)).rounded(.up)))
    var seen: Int64 = 0
    for index in Self.index(of: lowest)...Self.index(of: largest) {
      seen += counts[index]
      if seen >= wanted {
        let (low, width) = Self.range(at: index)
        return min(low + width - 1, largest)
      }
    }
    return largest
  }
}
