// Comparisons of a thing with itself raise few alarms, and intervals hold the truth: counted over seeded resamples.

import Foundation
import Testing
import Analysis
import Primitives
import Recording

@Suite struct CalibrationTests {
  private static let statistics: [Statistic] = [.mean, .p50, .p90]

  /// Times to first token of a run that is kept, in ns: Tests/Vectors/analysis.
  private static let stored: [Double] = {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors/analysis/ttft.json")
    guard let bytes = try? Data(contentsOf: path), let document = try? JSONReader.read(bytes) else { return [] }
    return (document["ttft_us"]?.asArray ?? []).compactMap(\.asDouble).map { $0 * 1e3 }
  }()

  /// Log-normal like times to first token, in ns; with `run` values of that run, drawn again.
  private static func values(
    _ count: Int, factor: Double = 1, from run: [Double] = [], _ random: inout SeededRandom
  ) -> [Double] {
    if !run.isEmpty { return (0..<count).map { _ in factor * run[Int(random.next() % UInt64(run.count))] } }
    return (0..<count).map { _ in 200e6 * factor * Maths.exp(0.25 * random.normal()) }
  }

  /// Shares of false alarms at 5 % and of ratio intervals that hold the true ratio, for each statistic.
  private static func rates(
    trials: Int, count: Int, repeats: Int, noise: Double = 0, factor: Double = 1, from run: [Double] = [],
    seed: UInt64, resamples: Int = 200
  ) -> [(alarms: Double, coverage: Double)] {
    var random = SeededRandom(seed: seed, purpose: "calibration")
    var alarms = [Int](repeating: 0, count: statistics.count)
    var covered = alarms
    for _ in 0..<trials {
      func sample(_ factor: Double) -> SessionSample {
        SessionSample(
          blocks: (0..<repeats).map { _ in
            let mood = Maths.exp(noise * random.normal())
            return values(count, factor: factor * mood, from: run, &random)
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

  @Test func resamplesOfAStoredRun_RaiseAlarmsAtTheirLevelAndHoldTheTruth() {
    #expect(Self.stored.count == 600)
    let same = Self.rates(trials: 2_000, count: 400, repeats: 1, from: Self.stored, seed: 15)
    let slower = Self.rates(trials: 2_000, count: 400, repeats: 1, factor: 1.05, from: Self.stored, seed: 16)

    for (statistic, rates) in zip(Self.statistics, zip(same, slower)) {
      print("A/A, stored run, seed 15: \(statistic): alarms \(rates.0.alarms), coverage \(rates.0.coverage)")
      print("A/B 5 %, stored run, seed 16: \(statistic): found \(rates.1.alarms), coverage \(rates.1.coverage)")
      #expect(rates.0.alarms >= 0.035 && rates.0.alarms <= 0.065, "\(statistic)")
      #expect(rates.1.coverage >= 0.93, "\(statistic)")
    }
  }

  @Test func noiseBetweenRepeats_IsNotTakenForADifference() {
    let rates = Self.rates(trials: 600, count: 200, repeats: 3, noise: 0.05, seed: 13)

    for (statistic, rate) in zip(Self.statistics, rates) {
      print("A/A, three repeats that differ by 5 %, seed 13: \(statistic): alarms \(rate.alarms), coverage \(rate.coverage)")
      #expect(rate.alarms <= 0.1, "\(statistic)")
    }
  }

  /// As much noise between repeats as within them: too little to be sure of, and enough to matter.
  @Test func littleNoiseBetweenRepeats_IsInTheInterval() {
    let rates = Self.rates(trials: 600, count: 200, repeats: 4, noise: 0.018, factor: 1.05, seed: 17)

    for (statistic, rate) in zip(Self.statistics, rates) {
      print("A/B 5 %, four repeats that differ by 1.8 %, seed 17: \(statistic): found \(rate.alarms), coverage \(rate.coverage)")
      #expect(rate.coverage >= 0.92, "\(statistic)")
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
