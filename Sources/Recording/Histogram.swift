// Values become counts in HdrHistogram's layout: constant size, constant time, a relative error of at most 0.1 %.

package import Primitives

/// What a histogram holds, at a fixed address: the hot path writes here through a pointer, with no class between.
package struct HistogramCells {
  @usableFromInline let counts: UnsafeMutablePointer<Int64>
  @usableFromInline var count: Int64 = 0
  @usableFromInline var sum: Double = 0
  @usableFromInline var sumOfSquares: Double = 0
  /// What the two sums lost to rounding when histograms were added: with it a sum of shards is the same in any order.
  var sumRest: Double = 0
  var sumOfSquaresRest: Double = 0
  @usableFromInline var lowest: Int64 = .max
  @usableFromInline var largest: Int64 = 0

  init() { counts = zeroedCounts(Histogram.size) }

  func release() { releaseCounts(counts) }

  @inlinable
  static func index(of value: Int64) -> Int {
    let bucket = 64 - (value | Int64(2047)).leadingZeroBitCount - 11
    return bucket &* 1024 &+ Int(truncatingIfNeeded: value &>> Int64(bucket))
  }

  @inlinable
  package mutating func record(_ raw: Int64) { record(raw, times: 1) }

  @inlinable
  package mutating func record(_ raw: Int64, times: Int64) {
    let value = min(max(raw, 0), Histogram.highest)
    counts[Self.index(of: value)] &+= times
    count &+= times
    let real = Double(value)
    sum += real * Double(times)
    sumOfSquares += real * real * Double(times)
    if value < lowest { lowest = value }
    if value > largest { largest = value }
  }
}

/// Cells side by side, released with the last that looks at them.
final class HistogramBlock {
  let cells: UnsafeMutablePointer<HistogramCells>
  private let count: Int

  init(count: Int) {
    self.count = count
    cells = .allocate(capacity: count)
    for index in 0..<count { (cells + index).initialize(to: HistogramCells()) }
  }

  deinit {
    for index in 0..<count { cells[index].release() }
    cells.deallocate()
  }
}

/// A histogram of nanoseconds with three significant digits, mergeable without loss, in HdrHistogram's bucket layout
/// (unit magnitude 0, 2,048 sub-buckets). Values above `highest` are counted as `highest`; negative ones as 0.
///
/// Owned by one thread at a time. Its memory is taken zeroed, so untouched parts cost no resident pages.
package final class Histogram: @unchecked Sendable {
  /// The highest value told apart: 2^43 − 1 ns, some 2.4 hours.
  @inlinable package static var highest: Int64 { (1 << 43) - 1 }
  static let subBucketHalf = 1 << 10
  /// Number of counts: one full bucket and a half for each further power of two.
  package static let size = (43 - 11 + 2) * subBucketHalf

  package let cells: UnsafeMutablePointer<HistogramCells>
  /// What the cells lie in; held as long as anybody looks at them.
  private let block: HistogramBlock

  package convenience init() { self.init(in: HistogramBlock(count: 1), at: 0) }

  /// The histogram at a place of a block.
  init(in block: HistogramBlock, at index: Int) {
    self.block = block
    cells = block.cells + index
  }

  /// A histogram read back: counts by index of the layout, and the exact sums where they were kept (else computed from
  /// the middles of the counts). Indices out of the layout are ignored.
  package convenience init(counts read: [(index: Int, count: Int64)], exact: ExactSums? = nil) {
    self.init()
    for (index, times) in read where index >= 0 && index < Self.size && times > 0 {
      let (low, width) = Self.range(at: index)
      let middle = Double(low) + Double(width - 1) / 2
      cells.pointee.counts[index] += times
      cells.pointee.count += times
      cells.pointee.sum += middle * Double(times)
      cells.pointee.sumOfSquares += middle * middle * Double(times)
      cells.pointee.lowest = min(lowest, low)
      cells.pointee.largest = max(largest, low + width - 1)
    }
    guard let exact, count > 0 else { return }
    cells.pointee.sum = exact.sum
    cells.pointee.sumOfSquares = exact.sumOfSquares
    cells.pointee.sumRest = exact.sumRest
    cells.pointee.sumOfSquaresRest = exact.sumOfSquaresRest
    if Self.inLayout(exact.lowest), Self.index(of: exact.lowest) == Self.index(of: lowest) {
      cells.pointee.lowest = exact.lowest
    }
    if Self.inLayout(exact.largest), Self.index(of: exact.largest) == Self.index(of: largest) {
      cells.pointee.largest = exact.largest
    }
  }

  /// What a histogram knows beside its counts.
  package struct ExactSums: Sendable {
    package var sum: Double
    package var sumOfSquares: Double
    package var lowest: Int64
    package var largest: Int64
    /// Parts of the sums that a double beside its larger part has no room for.
    package var sumRest: Double = 0
    package var sumOfSquaresRest: Double = 0

    package init(sum: Double, sumOfSquares: Double, lowest: Int64, largest: Int64) {
      self.sum = sum
      self.sumOfSquares = sumOfSquares
      self.lowest = lowest
      self.largest = largest
    }
  }

  package var exactSums: ExactSums {
    var sums = ExactSums(sum: sum, sumOfSquares: sumOfSquares, lowest: lowest, largest: largest)
    sums.sumRest = cells.pointee.sumRest
    sums.sumOfSquaresRest = cells.pointee.sumOfSquaresRest
    return sums
  }

  private static func inLayout(_ value: Int64) -> Bool { value >= 0 && value <= highest }

  /// The indices that may hold counts; empty when nothing was recorded.
  package var usedIndices: Range<Int> {
    count > 0 ? Self.index(of: lowest)..<Self.index(of: largest) + 1 : 0..<0
  }

  package var count: Int64 { cells.pointee.count }
  /// Sum of the recorded values, for the exact mean; in double since a run of hours overflows nothing then.
  package var sum: Double { cells.pointee.sum }
  package var sumOfSquares: Double { cells.pointee.sumOfSquares }
  package var lowest: Int64 { cells.pointee.lowest }
  package var largest: Int64 { cells.pointee.largest }

  /// The place of a value in the layout.
  package static func index(of value: Int64) -> Int { HistogramCells.index(of: value) }

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

  package func record(_ value: Nanoseconds) { cells.pointee.record(value.value) }

  package func record(_ raw: Int64, times: Int64) { cells.pointee.record(raw, times: times) }

  package func add(_ other: Histogram) {
    guard other.count > 0 else { return }
    let counts = cells.pointee.counts
    let others = other.cells.pointee.counts
    for index in Self.index(of: other.lowest)...Self.index(of: other.largest) { counts[index] += others[index] }
    cells.pointee.count += other.count
    let theirs = other.exactSums
    (cells.pointee.sum, cells.pointee.sumRest) = Self.plus(sum, cells.pointee.sumRest, theirs.sum, theirs.sumRest)
    (cells.pointee.sumOfSquares, cells.pointee.sumOfSquaresRest) = Self.plus(
      sumOfSquares, cells.pointee.sumOfSquaresRest, theirs.sumOfSquares, theirs.sumOfSquaresRest)
    cells.pointee.lowest = min(lowest, other.lowest)
    cells.pointee.largest = max(largest, other.largest)
  }

  /// The sum of two numbers of two parts each, exact for whole numbers below 2^105 (Knuth's two-sum): whatever the order
  /// of many, the result is the same.
  private static func plus(_ a: Double, _ aRest: Double, _ b: Double, _ bRest: Double) -> (Double, Double) {
    func twoSum(_ x: Double, _ y: Double) -> (sum: Double, rest: Double) {
      let sum = x + y
      let part = sum - x
      return (sum, (x - (sum - part)) + (y - part))
    }
    let high = twoSum(a, b)
    let low = twoSum(aRest, bRest)
    let first = twoSum(high.sum, high.rest + low.sum)
    return twoSum(first.sum, first.rest + low.rest)
  }

  package func clear() {
    guard count > 0 else { return }
    let counts = cells.pointee.counts
    for index in Self.index(of: lowest)...Self.index(of: largest) { counts[index] = 0 }
    cells.pointee.count = 0
    cells.pointee.sum = 0
    cells.pointee.sumOfSquares = 0
    cells.pointee.sumRest = 0
    cells.pointee.sumOfSquaresRest = 0
    cells.pointee.lowest = .max
    cells.pointee.largest = 0
  }

  /// Count at one index of the layout, for encoders.
  package func count(at index: Int) -> Int64 { cells.pointee.counts[index] }

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
      seen += cells.pointee.counts[index]
      if seen >= wanted {
        let (low, width) = Self.range(at: index)
        return min(low + width - 1, largest)
      }
    }
    return largest
  }
}
