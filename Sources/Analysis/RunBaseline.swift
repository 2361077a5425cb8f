// Samples of a candidate and of a baseline become what gates on a baseline ask for: a figure with resampled values.

internal import Primitives
internal import Recording

package struct RunBaseline: Baseline {
  private let candidate: [String: SampleSet]
  private let baseline: [String: SampleSet]

  package init(candidate: [(name: String, set: SampleSet)], baseline: [(name: String, set: SampleSet)]) {
    self.candidate = Dictionary(candidate.map { ($0.name, $0.set) }) { first, _ in first }
    self.baseline = Dictionary(baseline.map { ($0.name, $0.set) }) { first, _ in first }
  }

  package func figure(path: [String], variant: String?) -> BaselineFigure? {
    // One variant on each side is the same variant whatever its name.
    let name = variant ?? candidate.keys.first ?? ""
    let alone = candidate.count == 1 && baseline.count == 1
    guard let own = candidate[name] ?? (candidate.count == 1 ? candidate.values.first : nil),
      let base = baseline[name] ?? (alone ? baseline.values.first : nil)
    else { return nil }
    let values = base.singles(path)
    let isPooled = own.summaries.count > 1
    var random = SeededRandom(seed: 1, purpose: "baseline gate")
    if path == ["errors_ratio"], own.failures.count > 0, base.failures.count > 0 {
      return resampled(base.failures, own.failures, .mean, 1, isPooled, &random)
    }
    if let (metric, statistic) = Self.metric(path) {
      if SampleSet.sessionMetrics.contains(metric) {
        let a = base.sessions(metric)
        let b = own.sessions(metric)
        if min(a.count, b.count) >= 11 { return resampled(a, b, statistic, 1e-6, isPooled, &random) }
      }
      if SampleSet.intervalMetrics.contains(metric) {
        let a = base.intervals(metric)
        let b = own.intervals(metric)
        if min(a.count, b.count) >= 11 { return resampled(a, b, statistic, 1e-6, isPooled, &random) }
      }
    }
    guard !values.isEmpty else { return nil }
    let ownValues = own.singles(path)
    let contrast = Contrast(singlesA: values, singlesB: ownValues)
    return BaselineFigure(
      baseline: Moments.mean(values), candidate: isPooled && !ownValues.isEmpty ? Moments.mean(ownValues) : nil,
      candidateReplicates: contrast?.candidateReplicates ?? [],
      baselineReplicates: contrast?.baselineReplicates ?? [])
  }

  private func resampled(
    _ a: some Resampled, _ b: some Resampled, _ statistic: Statistic, _ scale: Double, _ isPooled: Bool,
    _ random: inout SeededRandom
  ) -> BaselineFigure? {
    let contrasts = Contrast.of(baseline: a, candidate: b, [statistic], resamples: 500, resolution: 0, random: &random)
    guard let contrast = contrasts.first?.scaled(by: scale) else { return nil }
    return BaselineFigure(
      baseline: contrast.baseline, candidate: isPooled ? contrast.candidate : nil,
      candidateReplicates: contrast.candidateReplicates,
      baselineReplicates: contrast.baselineReplicates)
  }

  /// `ttft_ms.p99` → (TTFT, p99); nil for what is no figure of a latency that is resampled.
  private static func metric(_ path: [String]) -> (Metric, Statistic)? {
    guard let last = path.last, let statistic = Statistic(rawValue: last) else { return nil }
    let key = path.dropLast().joined(separator: ".")
    return Metric.allCases.first { VariantFigures.path($0) == key }.map { ($0, statistic) }
  }
}
