// Comparisons of a thing with itself raise few alarms, and intervals hold the truth: counted over seeded resamples.

import Testing
import Analysis
import Primitives
import Recording

@Suite struct CalibrationTests {
  private static let statistics: [Statistic] = [.mean, .p50, .p90]

  /// Log-normal like times to first token, in ns.
  private static func values(_ count: Int, factor: Double = 1, _ random: inout SeededRandom) -> [Double] {
    (0..<count).map { _ in 200e6 * factor * Maths.exp(0.25 * random.normal()) }
  }

  /// Shares of false alarms at 5 % and of ratio intervals that hold the true ratio, for each statistic.
  private static func rates(
    trials: Int, count: Int, repeats: Int, noise: Double = 0, factor: Double = 1, seed: UInt64, resamples: Int = 200
  ) -> [(alarms: Double, coverage: Double)] {
    var random = SeededRandom(seed: seed, purpose: "calibration")
    var alarms = [Int](repeating: 0, count: statistics.count)
    var covered = alarms
    for _ in 0..<trials {
      func sample(_ factor: Double) -> SessionSample {
        SessionSample(
          blocks: (0..<repeats).map { _ in
            let mood = Maths.exp(noise * random.normal())
            return values(count, factor: factor * mood, &random)
          })
      }
      let baseline = sample(1)
      let candidate = sample(factor)
      let contrasts = Contrast.of(
        baseline: baseline, candidate: candidate, statistics, resamples: resamples, random: &random)
      for (index, contrast) in contrasts.enumerated() {
        if contrast.p < 0.05 { alarms[index] += 1 }
        if contrast.ratioInterval?.contains(factor) == true { covered[index] += 1 }
      }
    }
    return zip(alarms, covered).map { (Double($0) / Double(trials), Double($1) / Double(trials)) }
  }

  @Test func sameBuildTwice_RaisesAlarmsAtItsLevel() {
    let rates = Self.rates(trials: 2_000, count: 400, repeats: 1, seed: 11)

    for (statistic, rate) in zip(Self.statistics, rates) {
      print("A/A, one repeat, seed 11: \(statistic): alarms \(rate.alarms), coverage \(rate.coverage)")
      #expect(rate.alarms >= 0.035 && rate.alarms <= 0.065, "\(statistic)")
    }
  }

  @Test func intervalOfASlowdown_HoldsTheTruth() {
    let rates = Self.rates(trials: 1_000, count: 400, repeats: 1, factor: 1.05, seed: 12)

    for (statistic, rate) in zip(Self.statistics, rates) {
      print("A/B 5 %, one repeat, seed 12: \(statistic): found \(rate.alarms), coverage \(rate.coverage)")
      #expect(rate.coverage >= 0.93, "\(statistic)")
    }
  }

  @Test func noiseBetweenRepeats_IsNotTakenForADifference() {
    let rates = Self.rates(trials: 600, count: 200, repeats: 3, noise: 0.05, seed: 13)

    for (statistic, rate) in zip(Self.statistics, rates) {
      print("A/A, three repeats that differ by 5 %, seed 13: \(statistic): alarms \(rate.alarms), coverage \(rate.coverage)")
      #expect(rate.alarms <= 0.1, "\(statistic)")
    }
  }

  @Test func calmRepeats_KeepTheLevel() {
    let rates = Self.rates(trials: 600, count: 200, repeats: 3, seed: 14)

    for (statistic, rate) in zip(Self.statistics, rates) {
      print("A/A, three calm repeats, seed 14: \(statistic): alarms \(rate.alarms), coverage \(rate.coverage)")
      #expect(rate.alarms <= 0.065, "\(statistic)")
    }
  }
}
