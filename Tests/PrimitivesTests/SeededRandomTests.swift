import Primitives
import Testing

@Suite struct SeededRandomTests {
  private func draws(_ random: SeededRandom, _ count: Int = 64) -> [UInt64] {
    var random = random
    return (0..<count).map { _ in random.next() }
  }

  @Test func sameSeedPurposeAndIndex_DrawTheSame() {
    #expect(
      draws(SeededRandom(seed: 42, purpose: "arrivals", index: 7)) == draws(SeededRandom(seed: 42, purpose: "arrivals", index: 7)))
  }

  /// Reports carry seeds: a seed must mean the same in every later version.
  @Test func seed42_DrawsWhatItAlwaysDrew() {
    var random = SeededRandom(seed: 42)

    #expect([random.next(), random.next(), random.next()] == Self.seed42)
  }
  /// The reference implementations of SplitMix64 and xoshiro256** give these.
  static let seed42: [UInt64] = [1_546_998_764_402_558_742, 6_990_951_692_964_543_102, 12_544_586_762_248_559_009]

  @Test func otherSeedPurposeOrIndex_SharesNoDraw() {
    let streams = [
      SeededRandom(seed: 1), SeededRandom(seed: 2), SeededRandom(seed: 1, purpose: "a"), SeededRandom(seed: 1, purpose: "b"),
      SeededRandom(seed: 1, purpose: "a", index: 1), SeededRandom(seed: 1, purpose: "a", index: 2),
      SeededRandom(seed: 2, purpose: "a", index: 1),
    ]

    let all = streams.flatMap { draws($0) }

    #expect(Set(all).count == all.count)
  }

  @Test func neighbouringIndices_AreUncorrelated() {
    var sum = 0.0
    let count = 20_000
    for index in 0..<count {
      var a = SeededRandom(seed: 9, purpose: "s", index: UInt64(index))
      var b = SeededRandom(seed: 9, purpose: "s", index: UInt64(index + 1))
      sum += (a.uniform() - 0.5) * (b.uniform() - 0.5)
    }

    // Standard deviation of the mean product: (1/12)/√n.
    #expect(abs(sum / Double(count)) < 5 / 12.0 / Double(count).squareRoot())
  }

  @Test func uniform_StaysBelowOneAndFillsTheRange() {
    var random = SeededRandom(seed: 5)
    var bins = [Int](repeating: 0, count: 10)

    for _ in 0..<100_000 {
      let value = random.uniform()
      #expect(value >= 0 && value < 1)
      bins[Int(value * 10)] += 1
    }

    for bin in bins { #expect(abs(bin - 10_000) < 600) }
  }

  @Test func exponentialAndNormal_HaveTheirMoments() {
    var random = SeededRandom(seed: 6)
    let count = 100_000.0
    var exponential = 0.0
    var sum = 0.0
    var squares = 0.0

    for _ in 0..<Int(count) {
      exponential += random.exponential()
      let value = random.normal()
      sum += value
      squares += value * value
    }

    #expect(abs(exponential / count - 1) < 5 / count.squareRoot())
    #expect(abs(sum / count) < 5 / count.squareRoot())
    #expect(abs(squares / count - 1) < 5 * 2.0.squareRoot() / count.squareRoot())
  }
}
