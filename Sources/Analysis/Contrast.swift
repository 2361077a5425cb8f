// Two samples of one figure become their difference and ratio with 95 % intervals and a p-value. The variance within
// the runs comes from resampling; that between repeats is added where the repeats show it.

package import Primitives

package struct Contrast: Sendable {
  package var baseline: Double
  package var candidate: Double
  package var difference: Double
  package var differenceInterval: ClosedRange<Double>
  /// Candidate ÷ baseline; nil where the baseline is 0.
  package var ratio: Double?
  package var ratioInterval: ClosedRange<Double>?
  /// Two-sided, of the difference being 0; not yet corrected for the number of figures.
  package var p: Double
  /// What repeats of one side differ by, as a share of the figure: 95 % of pairs are closer. nil without repeats.
  package var noiseFloor: Double?
  /// Resampled values of both sides, spread so that noise between repeats is in them.
  package var baselineReplicates: [Double]
  package var candidateReplicates: [Double]

  /// The contrasts of several statistics of one metric, from the same resamples. `resolution` is the relative width
  /// below which the data itself cannot tell values apart.
  package static func of(
    baseline: some Resampled, candidate: some Resampled, _ statistics: [Statistic], resamples: Int = 1_000,
    resolution: Double = 0, random: inout SeededRandom
  ) -> [Contrast] {
    let pointA = baseline.figures(statistics)
    let pointB = candidate.figures(statistics)
    let repeatsA = baseline.repeats(statistics)
    let repeatsB = candidate.repeats(statistics)
    var drawsA: [[Double]] = statistics.map { _ in [] }
    var drawsB = drawsA
    for _ in 0..<resamples {
      for (index, value) in baseline.draw(statistics, &random).enumerated() { drawsA[index].append(value) }
      for (index, value) in candidate.draw(statistics, &random).enumerated() { drawsB[index].append(value) }
    }
    return statistics.indices.map { index in
      Contrast(
        pointA[index], pointB[index], drawsA[index], drawsB[index], repeatsA.map { $0[index] }, repeatsB.map { $0[index] },
        resolution: resolution)
    }
  }

  private init(
    _ a: Double, _ b: Double, _ drawsA: [Double], _ drawsB: [Double], _ repeatsA: [Double], _ repeatsB: [Double],
    resolution: Double
  ) {
    let withinA = Moments.variance(drawsA)
    let withinB = Moments.variance(drawsB)
    let between = Self.between(repeatsA, withinA, repeatsB, withinB)
    let countA = Double(max(1, repeatsA.count))
    let countB = Double(max(1, repeatsB.count))
    let grain = resolution * max(abs(a), abs(b)) / 12.0.squareRoot()
    let ownA = withinA + grain * grain / 2
    let ownB = withinB + grain * grain / 2
    let added = between.variance * (1 / countA + 1 / countB)
    let total = ownA + ownB + added
    // Satterthwaite: the part that comes from few repeats has few degrees of freedom.
    let df = added > 0 ? total * total / (added * added / between.df) : .infinity
    let critical = StudentT.critical95(df: df)

    baseline = a
    candidate = b
    difference = b - a
    let spreadA = Self.spread(withinA, ownA + between.variance / countA) * critical / 1.959_964
    let spreadB = Self.spread(withinB, ownB + between.variance / countB) * critical / 1.959_964
    baselineReplicates = Self.spreadOut(drawsA, around: a, by: spreadA, or: (ownA + between.variance / countA).squareRoot())
    candidateReplicates = Self.spreadOut(drawsB, around: b, by: spreadB, or: (ownB + between.variance / countB).squareRoot())
    let differences = zip(candidateReplicates, baselineReplicates).map { $0 - $1 }
    differenceInterval = Moments.interval(differences, around: difference)
    if a > 0, baselineReplicates.allSatisfy({ $0 > 0 }) {
      ratio = b / a
      ratioInterval = Moments.interval(zip(candidateReplicates, baselineReplicates).map { $0 / $1 }, around: b / a)
    } else {
      ratio = nil
      ratioInterval = nil
    }
    p = Self.probability(differences, byT: total > 0 ? StudentT.twoSided(difference / total.squareRoot(), df: df) : (difference == 0 ? 1 : 0))
    noiseFloor = between.spread.flatMap { spread in a != 0 ? 2.8 * spread / abs(a) : nil }
  }

  /// The p-value that belongs to the interval: twice the share of resampled differences beyond 0. Quantiles of values that
  /// come in lumps are far from normal, and Student's t raised twice the alarms there; it stands only for what is too
  /// small to be counted in the resamples.
  private static func probability(_ differences: [Double], byT: Double) -> Double {
    let below = differences.count { $0 <= 0 }
    let above = differences.count { $0 >= 0 }
    let fewest = min(below, above)
    let floor = 2 / Double(differences.count + 1)
    return fewest == 0 ? min(byT, floor) : min(1, 2 * Double(fewest) / Double(differences.count))
  }

  /// Variance between repeats beyond what resampling within them explains, pooled over both sides. However little there is,
  /// it counts: to leave out what a test does not find made intervals too narrow on a busy machine (they held the truth in
  /// 49 of 59 comparisons). Where it is little, Satterthwaite's degrees of freedom stay many, and calm runs are not made
  /// vague.
  private static func between(_ repeatsA: [Double], _ withinA: Double, _ repeatsB: [Double], _ withinB: Double)
    -> (variance: Double, df: Double, spread: Double?)
  {
    var squares = 0.0
    var expected = 0.0
    var df = 0.0
    for (repeats, within) in [(repeatsA, withinA), (repeatsB, withinB)] where repeats.count > 1 {
      let own = Double(repeats.count - 1)
      squares += Moments.variance(repeats) * own
      expected += within * Double(repeats.count) * own
      df += own
    }
    guard df > 0 else { return (0, 1, nil) }
    let observed = squares / df
    return (max(0, observed - expected / df), df, observed.squareRoot())
  }

  private static func spread(_ within: Double, _ whole: Double) -> Double {
    within > 0 ? (whole / within).squareRoot() : 1
  }

  /// Replicates moved away from the figure by a factor; where resampling shows no spread at all, normal scores of the
  /// deviation stand in for it.
  private static func spreadOut(_ draws: [Double], around figure: Double, by factor: Double, or deviation: Double) -> [Double] {
    guard let first = draws.first else { return [] }
    if deviation > 0, draws.allSatisfy({ $0 == first }) {
      var random = SeededRandom(seed: 1, purpose: "flat replicates", index: figure.bitPattern)
      return draws.map { _ in figure + deviation * random.normal() }
    }
    return draws.map { figure + ($0 - figure) * factor }
  }
}

enum Moments {
  static func mean(_ values: [Double]) -> Double { values.isEmpty ? .nan : values.reduce(0, +) / Double(values.count) }

  static func variance(_ values: [Double]) -> Double {
    guard values.count > 1 else { return 0 }
    let mean = mean(values)
    return values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count - 1)
  }

  /// The middle 95 % of replicates, never without the figure itself.
  static func interval(_ replicates: [Double], around figure: Double) -> ClosedRange<Double> {
    let sorted = replicates.filter(\.isFinite).sorted()
    guard sorted.count >= 40 else { return figure...figure }
    let low = sorted[Int(0.025 * Double(sorted.count))]
    let high = sorted[min(sorted.count - 1, Int(0.975 * Double(sorted.count)))]
    return min(low, figure)...max(high, figure)
  }
}

/// The rank-sum test of Mann and Whitney, with the correction for ties.
enum RankTest {
  /// Two-sided p of both samples coming from one distribution; nil below 8 values on a side.
  static func p(_ a: [Double], _ b: [Double]) -> Double? {
    guard a.count >= 8, b.count >= 8 else { return nil }
    let all = (a.map { ($0, true) } + b.map { ($0, false) }).sorted { $0.0 < $1.0 }
    let n = Double(all.count)
    var rankSum = 0.0
    var ties = 0.0
    var at = 0
    while at < all.count {
      var end = at + 1
      while end < all.count, all[end].0 == all[at].0 { end += 1 }
      let rank = Double(at + 1 + end) / 2
      for index in at..<end where all[index].1 { rankSum += rank }
      let size = Double(end - at)
      ties += size * size * size - size
      at = end
    }
    let na = Double(a.count)
    let nb = Double(b.count)
    let u = rankSum - na * (na + 1) / 2
    let variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)))
    guard variance > 0 else { return 1 }
    return Normal.twoSided((u - na * nb / 2) / variance.squareRoot())
  }
}

/// Holm's correction: the chance of any false alarm among all figures stays at the level.
enum Holm {
  static func adjusted(_ values: [Double]) -> [Double] {
    let order = values.indices.sorted { values[$0] < values[$1] }
    var result = values
    var largest = 0.0
    for (rank, index) in order.enumerated() {
      largest = max(largest, min(1, values[index] * Double(values.count - rank)))
      result[index] = largest
    }
    return result
  }
}
