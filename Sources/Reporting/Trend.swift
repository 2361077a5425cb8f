// The values of one figure of one scenario and variant, run by run, and where their level changed.

internal import Analysis

struct Trend {
  let name: String
  let variant: String
  let points: [History.Point]
  /// Places in `points` at which a new level begins.
  let changes: [Int]

  /// One trend a scenario's name and variant, in the order in which they first appear: values of different things side
  /// by side would show changes that nobody made.
  static func all(_ points: [History.Point]) -> [Trend] {
    var order: [[String]] = []
    var groups: [[String]: [History.Point]] = [:]
    for point in points {
      let group = [point.name, point.variant]
      if groups[group] == nil { order.append(group) }
      groups[group, default: []].append(point)
    }
    return order.map { Trend(name: $0[0], variant: $0[1], points: groups[$0] ?? []) }
  }

  private init(name: String, variant: String, points: [History.Point]) {
    self.name = name
    self.variant = variant
    self.points = points
    changes = ChangePoints.of(points.map(\.value))
  }

  /// The scenario's name, and the variant's where it has one.
  var title: String { variant.isEmpty || variant == "default" ? name : "\(name): \(variant)" }

  /// The stretches of one level each.
  var levels: [(range: Range<Int>, mean: Double)] {
    let bounds = [0] + changes + [points.count]
    return zip(bounds, bounds.dropFirst()).map { from, to in
      (from..<to, points[from..<to].reduce(0) { $0 + $1.value } / Double(max(1, to - from)))
    }
  }

  /// The levels on both sides of the change at `index`.
  func level(at index: Int) -> (before: Double, after: Double) {
    let levels = levels
    let place = levels.firstIndex { $0.range.lowerBound == index } ?? 0
    return (levels[max(0, place - 1)].mean, levels[place].mean)
  }

  /// The change of level in percent; nil from a level of 0.
  func percent(at index: Int) -> Double? {
    let (before, after) = level(at: index)
    return before == 0 ? nil : (after / before - 1) * 100
  }
}
