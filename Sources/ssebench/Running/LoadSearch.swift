// The highest load that meets the limits, by bisection: which load to try next, given what came of the last. Pure; knows
// neither runs nor figures.

package struct LoadSearch: Equatable {
  /// The highest load known to meet the limits; nil: none so far.
  package private(set) var best: Double?
  /// The lowest load known not to.
  package private(set) var worst: Double?
  private let from: Double
  private let to: Double
  private let tolerance: Double

  package init(from: Double, to: Double, tolerance: Double) {
    self.from = from
    self.to = to
    self.tolerance = max(tolerance, 1e-9)
  }

  /// The load to try; nil when the answer is known: first the ends, then the middle of what is open.
  package var next: Double? {
    guard let best else { return worst == nil ? from : nil }
    guard let worst else { return best >= to ? nil : to }
    return worst - best <= tolerance ? nil : (best + worst) / 2
  }

  /// Whether the answer to this load is known. A middle that is rounded to a whole number comes out at an end when the ends are neighbours:
  /// then there is nothing left to try, however small the tolerance.
  package func isKnown(_ load: Double) -> Bool { load == best || load == worst }

  package mutating func learn(_ load: Double, met: Bool) {
    if met { best = max(best ?? load, load) } else { worst = min(worst ?? load, load) }
  }
}
