// The highest load that meets the limits, by bisection: which load to try next, given what came of the last. Pure; knows
// neither runs nor figures.

struct LoadSearch: Equatable {
  /// The highest load known to meet the limits; nil: none so far.
  private(set) var best: Double?
  /// The lowest load known not to.
  private(set) var worst: Double?
  private let from: Double
  private let to: Double
  private let tolerance: Double

  init(from: Double, to: Double, tolerance: Double) {
    self.from = from
    self.to = to
    self.tolerance = max(tolerance, 1e-9)
  }

  /// The load to try; nil when the answer is known: first the ends, then the middle of what is open.
  var next: Double? {
    guard let best else { return worst == nil ? from : nil }
    guard let worst else { return best >= to ? nil : to }
    return worst - best <= tolerance ? nil : (best + worst) / 2
  }

  mutating func learn(_ load: Double, met: Bool) {
    if met { best = max(best ?? load, load) } else { worst = min(worst ?? load, load) }
  }
}
