// The seconds of a run become the stretch in which it ran steadily: what comes before is filling up, what comes after is
// draining. Rule: MSER (White 1997) on events per second, from the front and then from the back.

package import Recording

/// The steady stretch of one repeat.
package struct SteadyState: Sendable, Equatable {
  /// Seconds after the run's start.
  package var from: Double
  package var to: Double
  package var meanLive: Double
  package var eventsPerSecond: Double

  /// Fewer seconds than this have no steady state worth the name.
  package static let fewestSeconds = 8

  package init?(_ rows: [TimeSeriesRow]) {
    guard rows.count >= Self.fewestSeconds else { return nil }
    let values = rows.map { Double($0.events) }
    let front = Self.cut(values, atMost: values.count / 2)
    let back = Self.cut(values[front...].reversed(), atMost: (values.count - front) / 2)
    let steady = rows[front..<rows.count - back]
    guard let first = steady.first, let last = steady.last, last.time > first.time else { return nil }
    let step = (last.time - first.time) / Double(steady.count - 1)
    from = first.time - step
    to = last.time
    meanLive = steady.reduce(0.0) { $0 + Double($1.live) } / Double(steady.count)
    eventsPerSecond = steady.reduce(0.0) { $0 + Double($1.events) } / (to - from)
  }

  /// How many values at the front to leave out, so that the mean of the rest has the smallest standard error.
  private static func cut(_ values: some Collection<Double>, atMost most: Int) -> Int {
    let values = Array(values)
    var best = (cut: 0, score: Double.infinity)
    for cut in 0...max(0, most) {
      let rest = values[cut...]
      let n = Double(rest.count)
      guard n >= 3 else { break }
      let mean = rest.reduce(0, +) / n
      let score = rest.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (n * n)
      if score < best.score { best = (cut, score) }
    }
    return best.cut
  }
}
