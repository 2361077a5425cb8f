// Sums of many histograms are the same in any order and grouping; a decoder and pages of counts lose nothing.

import Primitives
import Recording
import Testing

@Suite struct MergeArithmeticTests {
  private static func histograms(_ count: Int) -> [Histogram] {
    var random = SeededRandom(seed: 5, purpose: "merge")
    return (0..<count).map { _ in
      let histogram = Histogram()
      for _ in 0..<200 { histogram.record(Int64(4e11 * random.uniform()), times: 1 + Int64(1e5 * random.uniform())) }
      return histogram
    }
  }

  private static func sum(_ parts: [Histogram]) -> Histogram {
    let sum = Histogram()
    for part in parts { sum.add(part) }
    return sum
  }

  @Test func sumsAreTheSameInAnyOrderAndGrouping() {
    let parts = Self.histograms(300)
    let one = Self.sum(parts)

    let backwards = Self.sum(parts.reversed())
    let grouped = Self.sum(stride(from: 0, to: 300, by: 7).map { Self.sum(Array(parts[$0..<min($0 + 7, 300)])) })

    for other in [backwards, grouped] {
      #expect(one.sum == other.sum && one.sumOfSquares == other.sumOfSquares)
      #expect(one.exactSums.sumOfSquaresRest == other.exactSums.sumOfSquaresRest)
      #expect(one.standardDeviation == other.standardDeviation && one.count == other.count)
    }
  }

  @Test func pagesHoldWhatTheHistogramHolds() throws {
    let histogram = Self.histograms(1)[0]
    var text = histogram.base64
    var pages = PagedCounts()
    let decoder = HistogramDecoder()

    for _ in 0..<2 {
      try text.withUTF8 { bytes in try decoder.decode(bytes) { pages.add($1, at: $0) } }
    }

    let twice = pages.histogram
    #expect(twice.count == 2 * histogram.count)
    for index in 0..<Histogram.size where histogram.count(at: index) > 0 {
      #expect(twice.count(at: index) == 2 * histogram.count(at: index))
    }
  }

  @Test(arguments: ["", "A", "AAAA", "HISTFAAA", "!!!!", "HISTFAAAAAB4nA=="])
  func damagedText_IsAnError(_ text: String) {
    var text = text
    #expect(throws: HistogramCodingError.self) {
      try text.withUTF8 { bytes in try HistogramDecoder().decode(bytes) { _, _ in } }
    }
  }
}
