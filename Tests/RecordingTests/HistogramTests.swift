// Histograms count as HdrHistogram does, keep their promise of three digits, and survive their coding.

import Testing
import Primitives
import Recording

@Suite struct HistogramTests {
  /// Values over the whole range, near powers of two and in between.
  private static func values(seed: UInt64) -> [Int64] {
    var random = SeededRandom(seed: seed, purpose: "histogram values")
    return (0..<4_000).map { index in
      index % 4 == 0 ? (Int64(1) << Int64(random.next() % 43)) + Int64(random.next() % 3) - 1
        : Int64(Maths.exp(random.uniform() * 29))
    }
  }

  @Test func everyValue_LiesInTheRangeOfItsIndex() {
    for value in Self.values(seed: 3) {
      let index = Histogram.index(of: value)
      let (lowest, width) = Histogram.range(at: index)

      #expect(lowest <= value && value < lowest + width)
      #expect(width == 1 || Double(width) / Double(lowest) <= 0.001, "0.1 % at most: \(value)")
    }
  }

  @Test func quantiles_AreTheSortedSampleToThreeDigits() {
    let values = Self.values(seed: 4).sorted()
    let histogram = Histogram()
    for value in values { histogram.record(value, times: 1) }

    for quantile in [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1] {
      let rank = max(1, Int((quantile * Double(values.count)).rounded(.up)))
      let exact = values[rank - 1]
      let found = histogram.value(atQuantile: quantile)
      #expect(found >= exact && Double(found - exact) <= max(1, Double(exact) * 0.001), "q \(quantile)")
    }
    #expect(histogram.value(atQuantile: 1) == values.last)
    #expect(histogram.count == 4_000)
  }

  @Test func mergedHistograms_EqualOneHistogram() {
    let values = Self.values(seed: 5)
    let whole = Histogram()
    let parts = [Histogram(), Histogram(), Histogram()]
    for (index, value) in values.enumerated() {
      whole.record(value, times: 1)
      parts[index % 3].record(value, times: 1)
    }
    let merged = Histogram()
    for part in parts { merged.add(part) }

    #expect(merged.base64 == whole.base64)
    #expect(merged.count == whole.count && merged.lowest == whole.lowest && merged.largest == whole.largest)
  }

  @Test func valuesOutOfRange_CountAtTheEdges() {
    let histogram = Histogram()
    histogram.record(-5, times: 1)
    histogram.record(.max, times: 1)

    #expect(histogram.lowest == 0)
    #expect(histogram.largest == Histogram.highest)
  }

  @Test func cleared_IsEmptyAndCountsAgain() {
    let histogram = Histogram()
    for value in Self.values(seed: 6) { histogram.record(value, times: 1) }
    histogram.clear()
    histogram.record(7, times: 2)

    #expect(histogram.count == 2)
    #expect(histogram.value(atQuantile: 1) == 7)
    #expect((0..<Histogram.size).reduce(0) { $0 + histogram.count(at: $1) } == 2)
  }

  @Test func coding_KeepsCountsAndExactSums() throws {
    let histogram = Histogram()
    for value in Self.values(seed: 7) { histogram.record(value, times: 3) }
    let exact = Histogram.ExactSums(
      sum: histogram.sum, sumOfSquares: histogram.sumOfSquares, lowest: histogram.lowest, largest: histogram.largest)

    let read = try Histogram(base64: histogram.base64[...], exact: exact)

    #expect(read.base64 == histogram.base64)
    #expect(read.mean == histogram.mean && read.largest == histogram.largest && read.lowest == histogram.lowest)
  }

  /// Made by PyPI's hdrhistogram 0.10 with HdrHistogram(1, 2^43 − 1, 3).encode().
  @Test func textOfThePublicLibrary_ReadsAsItsValues() throws {
    let text = "HISTFAAAADh4nJNpmSzMwMAgzgABzFCakYGB/T8I2H+ACLAx/ZRn4frLz7S/ju+yywX+v9OYmB6LsgAAf0IPow=="

    let histogram = try Histogram(base64: text[...])

    #expect(histogram.count == 1_022)
    #expect(histogram.value(atQuantile: 0.5) == 20_135_935)
    #expect(histogram.value(atQuantile: 0.999) == 8_796_093_022_207)
    #expect(histogram.count(at: Histogram.index(of: 2_048)) == 5)
    let again = try Histogram(base64: histogram.base64[...])
    #expect(again.base64 == histogram.base64)
  }

  @Test func damagedText_IsRefusedAndNeverRead() throws {
    let histogram = Histogram()
    for value in Self.values(seed: 8) { histogram.record(value, times: 1) }
    let text = histogram.base64
    var random = SeededRandom(seed: 9, purpose: "damage")

    for _ in 0..<500 {
      var letters = Array(text.utf8)
      let at = Int(random.next() % UInt64(letters.count))
      switch random.next() % 3 {
      case 0: letters[at] = UInt8(truncatingIfNeeded: random.next())
      case 1: letters.removeSubrange(at...)
      default: letters.insert(UInt8(ascii: "A"), at: at)
      }
      let damaged = String(decoding: letters, as: UTF8.self)
      if damaged == text { continue }
      // Bits of the last letter that stand for nothing may change; the checksum sees all others.
      if let read = try? Histogram(base64: damaged[...]) { #expect(read.base64 == text) }
    }
  }
}
