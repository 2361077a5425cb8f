// Two sets of runs, or two variants of one, become figure by figure: same, better or worse, with intervals, a
// correction for their number, and sentences. Knows no file.

package import Primitives
internal import Recording

/// What a comparison comes to. The words are the contract's.
package enum ComparisonResult: String, Sendable {
  case same, better, worse
  case notComparable = "not_comparable"

  /// Of several, the one that counts.
  package static func worst(_ results: [ComparisonResult]) -> ComparisonResult {
    for result in [ComparisonResult.notComparable, .worse, .better] where results.contains(result) { return result }
    return .same
  }
}

/// One figure of both sides.
package struct ComparedFigure: Sendable {
  package var key: String
  package var unit: String
  package var higherIsBetter: Bool
  package var contrast: Contrast
  package var adjustedP: Double = 1
  package var rankP: Double?
  package var result: ComparisonResult = .same
  /// Whether the comparison's result rests on it.
  package var decides = false

  /// "slower by 7 % ± 2 %", or "no difference shown".
  package var sentence: String {
    guard result != .same else { return "no difference shown" }
    let words: (up: String, down: String) =
      unit == "ms" ? ("slower", "faster") : key == "errors_ratio" ? ("more errors, up", "fewer errors, down") : ("higher", "lower")
    let word = contrast.difference > 0 ? words.up : words.down
    guard let ratio = contrast.ratio, let interval = contrast.ratioInterval else {
      return "\(word) by \(Number.text(abs(contrast.difference)))\(unit.isEmpty ? "" : " " + unit)"
    }
    let half = (interval.upperBound - interval.lowerBound) / 2 * 100
    return "\(word) by \(Number.text(Self.rounded(abs(ratio - 1) * 100))) % ± \(Number.text(Self.rounded(half))) %"
  }

  private static func rounded(_ percent: Double) -> Double {
    percent >= 10 ? percent.rounded() : percent >= 1 ? (percent * 10).rounded() / 10 : (percent * 100).rounded() / 100
  }
}

package struct Comparison: Sendable {
  package var baselineName: String
  package var candidateName: String
  package var figures: [ComparedFigure]
  package var result: ComparisonResult
  /// Why it is not comparable, or what to mind.
  package var notes: [String] = []

  /// A difference below this share of the figure is shown but is no regression: nobody notices it.
  package static let smallestShare = 0.01
  package static let level = 0.05

  package init(notComparable reasons: [String], baselineName: String, candidateName: String) {
    self.baselineName = baselineName
    self.candidateName = candidateName
    figures = []
    result = .notComparable
    notes = reasons
  }

  /// Compares all that both sides have. The seed decides the resamples, so that a comparison can be repeated.
  package init(
    baseline: SampleSet, candidate: SampleSet, baselineName: String, candidateName: String, seed: UInt64 = 1
  ) {
    self.baselineName = baselineName
    self.candidateName = candidateName
    var random = SeededRandom(seed: seed, purpose: "comparison")
    var figures: [ComparedFigure] = []
    func add(_ metric: Metric, _ a: some Resampled, _ b: some Resampled, resolution: Double, rank: Double?) {
      let statistics = Statistic.allCases.filter { $0.isSupported(by: min(a.count, b.count)) }
      guard min(a.count, b.count) >= 11 else { return }
      let resamples = max(200, min(1_000, Int(40_000_000 / max(1, a.count + b.count))))
      let contrasts = Contrast.of(
        baseline: a, candidate: b, statistics, resamples: resamples, resolution: resolution, random: &random)
      for (statistic, contrast) in zip(statistics, contrasts) {
        figures.append(
          ComparedFigure(
            key: "\(VariantFigures.path(metric)).\(statistic.rawValue)", unit: "ms", higherIsBetter: false,
            contrast: contrast.scaled(by: 1e-6), rankP: statistic == .p50 ? rank : nil))
      }
    }
    for metric in SampleSet.sessionMetrics {
      let a = baseline.blocks.flatMap { $0.values[metric] ?? [] }
      let b = candidate.blocks.flatMap { $0.values[metric] ?? [] }
      add(metric, baseline.sessions(metric), candidate.sessions(metric), resolution: 0, rank: RankTest.p(a, b))
    }
    for metric in SampleSet.intervalMetrics {
      add(metric, baseline.intervals(metric), candidate.intervals(metric), resolution: 0.001, rank: nil)
    }
    let failuresA = baseline.failures
    let failuresB = candidate.failures
    if failuresA.count > 0 && failuresB.count > 0 {
      for contrast in Contrast.of(baseline: failuresA, candidate: failuresB, [.mean], random: &random) {
        figures.append(ComparedFigure(key: "errors_ratio", unit: "", higherIsBetter: false, contrast: contrast))
      }
    }
    for (path, unit, higher) in Self.singles {
      if let contrast = Contrast(singlesA: baseline.singles(path), singlesB: candidate.singles(path)) {
        figures.append(
          ComparedFigure(key: path.joined(separator: "."), unit: unit, higherIsBetter: higher, contrast: contrast))
      }
    }
    self.figures = figures
    result = .same
    judge()
    // What decides stands first in every report.
    self.figures = self.figures.filter(\.decides) + self.figures.filter { !$0.decides }
    let repeats = min(baseline.blocks.count, candidate.blocks.count)
    if repeats < 2 {
      notes.append(
        "There is one repeat on a side, so noise between runs is not known: use `measure.repeats`, or give several runs.")
    }
  }

  /// Figures that a run has once: compared over several runs by Welch's t, and only then.
  private static let singles: [(path: [String], unit: String, higherIsBetter: Bool)] = [
    (["tokens", "per_s"], "per s", true), (["goodput", "ratio"], "", true),
    (["parser", "cpu_ns_per_event"], "ns", false), (["instrument", "cpu_s_per_million_events"], "s", false),
    (["memory", "per_session_bytes"], "B", false), (["memory", "slope_bytes_per_token"], "B", false),
    (["memory", "allocations_per_event"], "", false), (["memory", "peak_rss_bytes"], "B", false),
    (["recovery", "lost"], "", false), (["recovery", "duplicated"], "", false),
  ]

  /// Figures on which a verdict rests: few, since each costs the others power. The rest is shown, corrected among
  /// itself, and decides nothing.
  private static let deciding = [
    "ttft_ms.p50", "ttft_ms.p99", "itl_ms.p50", "itl_ms.p99", "e2e_ms.p50", "errors_ratio",
    "parser.cpu_ns_per_event", "instrument.cpu_s_per_million_events", "memory.per_session_bytes",
    "memory.slope_bytes_per_token", "recovery.lost", "recovery.duplicated",
  ]
  /// In their place where a stream has no tokens.
  private static let decidingWithoutTokens = [
    "first_event_ms.p50": "ttft_ms.p50", "first_event_ms.p99": "ttft_ms.p99", "event_gap_ms.p50": "itl_ms.p50",
    "event_gap_ms.p99": "itl_ms.p99",
  ]

  private static func decides(_ key: String, among keys: Set<String>) -> Bool {
    deciding.contains(key) || decidingWithoutTokens[key].map { !keys.contains($0) } == true
  }

  private mutating func judge() {
    let keys = Set(figures.map(\.key))
    for index in figures.indices { figures[index].decides = Self.decides(figures[index].key, among: keys) }
    for isDeciding in [true, false] {
      let group = figures.indices.filter { figures[$0].decides == isDeciding }
      for (index, p) in zip(group, Holm.adjusted(group.map { figures[$0].contrast.p })) { figures[index].adjustedP = p }
    }
    for index in figures.indices {
      let contrast = figures[index].contrast
      let isLarge = contrast.ratio.map { abs($0 - 1) >= Self.smallestShare } ?? (contrast.difference != 0)
      if figures[index].adjustedP < Self.level && isLarge {
        figures[index].result = (contrast.difference > 0) == figures[index].higherIsBetter ? .better : .worse
      }
    }
    result = .worst(figures.filter(\.decides).map(\.result))
  }

  package var json: JSONValue {
    .object([
      "baseline": .string(baselineName), "candidate": .string(candidateName), "result": .string(result.rawValue),
      "notes": .array(notes.map { .string($0) }),
      "figures": .array(
        figures.map { figure in
          let contrast = figure.contrast
          func pair(_ range: ClosedRange<Double>?) -> JSONValue {
            range.map { .array([Figure.real($0.lowerBound), Figure.real($0.upperBound)]) } ?? .null
          }
          return .object([
            "key": .string(figure.key), "unit": .string(figure.unit), "baseline": Figure.real(contrast.baseline),
            "candidate": Figure.real(contrast.candidate), "difference": Figure.real(contrast.difference),
            "difference_ci95": pair(contrast.differenceInterval), "ratio": Figure.real(contrast.ratio),
            "ratio_ci95": pair(contrast.ratioInterval), "p": Figure.real(contrast.p),
            "p_adjusted": Figure.real(figure.adjustedP), "rank_p": Figure.real(figure.rankP),
            "noise_floor_ratio": Figure.real(contrast.noiseFloor), "decides": .bool(figure.decides),
            "result": .string(figure.result.rawValue), "sentence": .string(figure.sentence),
          ])
        }),
    ])
  }
}

extension Contrast {
  /// In another unit.
  func scaled(by factor: Double) -> Contrast {
    var other = self
    other.baseline *= factor
    other.candidate *= factor
    other.difference *= factor
    other.differenceInterval = differenceInterval.lowerBound * factor...differenceInterval.upperBound * factor
    other.baselineReplicates = baselineReplicates.map { $0 * factor }
    other.candidateReplicates = candidateReplicates.map { $0 * factor }
    return other
  }

  /// Welch's t over runs: nil below two runs on a side, since one number a side says nothing about noise.
  init?(singlesA a: [Double], singlesB b: [Double]) {
    guard a.count >= 2, b.count >= 2 else { return nil }
    let meanA = Moments.mean(a)
    let meanB = Moments.mean(b)
    let squareA = Moments.variance(a) / Double(a.count)
    let squareB = Moments.variance(b) / Double(b.count)
    let total = squareA + squareB
    let df =
      total > 0
      ? total * total / (squareA * squareA / Double(a.count - 1) + squareB * squareB / Double(b.count - 1)) : .infinity
    baseline = meanA
    candidate = meanB
    difference = meanB - meanA
    let half = StudentT.critical95(df: df) * total.squareRoot()
    differenceInterval = difference - half...difference + half
    ratio = meanA > 0 ? meanB / meanA : nil
    // Delta method for the ratio of two means.
    if meanA > 0 {
      let error = (squareB / (meanA * meanA) + squareA * meanB * meanB / (meanA * meanA * meanA * meanA)).squareRoot()
      let share = StudentT.critical95(df: df) * error
      ratioInterval = meanB / meanA - share...meanB / meanA + share
    }
    p = total > 0 ? StudentT.twoSided(difference / total.squareRoot(), df: df) : (difference == 0 ? 1 : 0)
    noiseFloor = meanA != 0 ? 2.8 * Moments.variance(a).squareRoot() / abs(meanA) : nil
    var random = SeededRandom(seed: 1, purpose: "means of runs")
    let stretch = StudentT.critical95(df: df) / 1.959_964
    baselineReplicates = (0..<1_000).map { _ in meanA + squareA.squareRoot() * stretch * random.normal() }
    candidateReplicates = (0..<1_000).map { _ in meanB + squareB.squareRoot() * stretch * random.normal() }
  }
}
