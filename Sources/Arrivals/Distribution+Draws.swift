// Draws from a distribution as the types that plans and scripts hold, kept in range whatever the tail yields.

package import Primitives
package import Scenarios

extension Distribution {
  /// A draw as a time: never negative, a year at most.
  package func time(_ random: inout SeededRandom, index: Int) -> Nanoseconds {
    Nanoseconds(clamping: sample(&random, index: index))
  }

  /// A draw as a whole number in `range`.
  package func count(_ random: inout SeededRandom, index: Int, in range: ClosedRange<Int>) -> Int {
    let value = sample(&random, index: index).rounded()
    if !(value > Double(range.lowerBound)) { return range.lowerBound }
    return value >= Double(range.upperBound) ? range.upperBound : Int(value)
  }
}

extension Nanoseconds {
  /// The longest time that a plan or a script holds: one year.
  static let longest = Nanoseconds(365 * 86_400 * 1_000_000_000)

  /// Nanoseconds from a number that may be negative, too large or not a number.
  init(clamping value: Double) {
    if !(value > 0) {
      self = .zero
    } else {
      self = value >= Double(Self.longest.value) ? .longest : Nanoseconds(Int64(value.rounded()))
    }
  }
}
