// A figure over many runs becomes the places where its level changed: binary segmentation, each split tested by
// permuting the runs (the share of shuffles that split as well by chance).

internal import Primitives

package enum ChangePoints {
  /// Runs on each side of a change, at least.
  static let shortest = 4
  static let shuffles = 499
  static let level = 0.01

  /// Indices at which a new level begins, in order.
  package static func of(_ values: [Double], seed: UInt64 = 1) -> [Int] {
    var random = SeededRandom(seed: seed, purpose: "change points")
    var found: [Int] = []
    var open = [0..<values.count]
    while let range = open.popLast() {
      guard range.count >= 2 * shortest else { continue }
      let part = Array(values[range])
      let (split, strength) = best(part)
      guard strength > 0 else { continue }
      var asStrong = 0
      for _ in 0..<shuffles {
        if best(part.shuffled(using: &random)).strength >= strength { asStrong += 1 }
      }
      guard Double(asStrong + 1) / Double(shuffles + 1) <= level else { continue }
      let place = range.lowerBound + split
      found.append(place)
      open.append(range.lowerBound..<place)
      open.append(place..<range.upperBound)
    }
    return found.sorted()
  }

  /// The split with the largest distance of means against what its sides' sizes allow.
  private static func best(_ values: [Double]) -> (split: Int, strength: Double) {
    let total = values.reduce(0, +)
    let n = Double(values.count)
    var left = 0.0
    var found = (split: 0, strength: 0.0)
    for index in 1..<values.count {
      left += values[index - 1]
      guard index >= shortest, values.count - index >= shortest else { continue }
      let a = Double(index)
      let difference = left / a - (total - left) / (n - a)
      let strength = difference * difference * a * (n - a) / n
      if strength > found.strength { found = (index, strength) }
    }
    return found
  }
}
