// All that is kept of one variant over one or more runs, as comparisons need it: values by session and repeat,
// histograms by second, and single figures by run. Read from folders by Reporting.

package import Primitives
package import Recording

package struct SampleSet: Sendable {
  /// One repeat of one run: values in the order in which sessions started.
  package struct Block: Sendable {
    package var values: [Metric: [Double]] = [:]
    /// 1 for a failed session, 0 for a completed one.
    package var failures: [Double] = []

    package init() {}

    /// Takes what a comparison needs of a counted session.
    package mutating func add(_ session: SessionRecord) {
      guard session.isCounted else { return }
      for metric in SampleSet.sessionMetrics {
        if let value = session.latency(metric) { values[metric, default: []].append(Double(value)) }
      }
      switch session.outcome {
      case .failed: failures.append(1)
      case .completed: failures.append(0)
      case .cancelled, .dropped: break
      }
    }
  }

  package var blocks: [Block] = []
  /// By metric: stretches of seconds without a break.
  package var stretches: [Metric: [[Histogram]]] = [:]
  /// One summary a run: the variant's figures.
  package var summaries: [JSONValue] = []

  package init() {}

  package static let sessionMetrics: [Metric] = [
    .ttft, .e2e, .tpot, .maxGap, .firstEvent, .firstOutput, .ttfb, .sendLag, .scheduledTTFT, .scheduledE2E,
  ]
  package static let intervalMetrics: [Metric] = [.itl, .eventGap]

  func sessions(_ metric: Metric) -> SessionSample { SessionSample(blocks: blocks.map { $0.values[metric] ?? [] }) }
  func intervals(_ metric: Metric) -> IntervalSample { IntervalSample(stretches: stretches[metric] ?? []) }
  var failures: SessionSample { SessionSample(blocks: blocks.map(\.failures)) }

  /// One number of each run's summary.
  func singles(_ path: [String]) -> [Double] { summaries.compactMap { GateJudge.number(path, in: $0) } }
}
