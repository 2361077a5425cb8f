// The judge of one session's delivery: event numbers and checksums in, counts out. Bounded memory whatever the length
// of the stream. Knows nothing of how the numbers were found.

/// Counts what of a numbered stream arrived, in which order and how often.
///
/// - Numbers begin with `first`, or where none is given with the first one seen; one shortly below that comes later (256 at most) was
///   only overtaken, and is `reordered`. A number above the highest opens a gap; a missing number that comes later closes it
///   and is `reordered`; one that was there before is `duplicated`. What is still missing at the end is `lost`.
/// - Memory: 64 bytes, and for each open gap 16 bytes, at most `maximumGaps`; beyond that the oldest gap counts as lost
///   for good, and a late arrival from it as duplicated (`overflowed` says so).
package struct Ledger: Sendable {
  /// Open gaps that are remembered.
  package static let maximumGaps = 4096

  /// How far below the first number seen one may lie that belongs to the stream all the same.
  private static let overtaken: UInt64 = 256

  package private(set) var highest: Int64
  /// Where the numbering begins.
  package private(set) var lowest: Int64
  package private(set) var delivered: Int64 = 0
  package private(set) var duplicated: Int64 = 0
  package private(set) var reordered: Int64 = 0
  package private(set) var corrupted: Int64 = 0
  package private(set) var overflowed: Int64 = 0
  private var hasBegun: Bool
  private let isFirstKnown: Bool
  /// Ranges of numbers not seen, ascending.
  private var gaps: [ClosedRange<Int64>] = []

  /// - Parameter first: the first number of a whole stream; nil: whichever comes first.
  package init(first: Int64?) {
    lowest = first ?? 1
    highest = lowest &- 1
    hasBegun = first != nil
    isFirstKnown = first != nil
  }

  /// What one event was.
  package enum Finding: Sendable { case new, reordered, duplicate }

  /// An event with `number` has come; `isIntact` is whether its checksum holds.
  @discardableResult
  package mutating func receive(_ number: Int64, isIntact: Bool) -> Finding {
    if !isIntact { corrupted += 1 }
    if number == highest &+ 1, hasBegun {
      highest = number
      delivered += 1
      return .new
    }
    return receiveOutOfOrder(number)
  }

  private mutating func receiveOutOfOrder(_ number: Int64) -> Finding {
    if !hasBegun {
      hasBegun = true
      highest = number
      lowest = number
      delivered += 1
      return .new
    }
    if number < lowest, !isFirstKnown, UInt64(bitPattern: lowest &- number) <= Self.overtaken {
      // Never seen, so no repetition: it belongs before what came first.
      if number + 1 < lowest { gaps.insert(number + 1...lowest - 1, at: 0) }
      lowest = number
      boundGaps()
      delivered += 1
      reordered += 1
      return .reordered
    }
    if number > highest {
      gaps.append(highest + 1...number - 1)
      boundGaps()
      highest = number
      delivered += 1
      return .new
    }
    guard let index = gapIndex(of: number) else {
      duplicated += 1
      return .duplicate
    }
    let gap = gaps[index]
    var rest: [ClosedRange<Int64>] = []
    if gap.lowerBound < number { rest.append(gap.lowerBound...number - 1) }
    if number < gap.upperBound { rest.append(number + 1...gap.upperBound) }
    gaps.replaceSubrange(index...index, with: rest)
    delivered += 1
    reordered += 1
    return .reordered
  }

  private mutating func boundGaps() {
    guard gaps.count > Self.maximumGaps else { return }
    overflowed = Self.sum(overflowed, Self.length(of: gaps[0]))
    gaps.removeFirst()
  }

  private func gapIndex(of number: Int64) -> Int? {
    var low = 0
    var high = gaps.count
    while low < high {
      let middle = (low + high) / 2
      if gaps[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return low < gaps.count && gaps[low].contains(number) ? low : nil
  }

  /// Numbers up to the highest that never came.
  package var missing: Int64 { gaps.reduce(overflowed) { Self.sum($0, Self.length(of: $1)) } }

  // Numbers come from servers: whatever they are, the counts saturate.

  private static func length(of gap: ClosedRange<Int64>) -> Int64 {
    let (distance, overflows) = gap.upperBound.subtractingReportingOverflow(gap.lowerBound)
    return overflows ? .max : sum(distance, 1)
  }

  private static func sum(_ a: Int64, _ b: Int64) -> Int64 {
    let (sum, overflows) = a.addingReportingOverflow(b)
    return overflows ? .max : sum
  }

  /// Whether any number has come.
  package var isEmpty: Bool { delivered == 0 && duplicated == 0 }

  /// From the first to the last of the numbers that came, with `number` among them.
  package func span(with number: Int64) -> UInt64 {
    hasBegun ? UInt64(bitPattern: max(highest, number) &- min(lowest, number)) : 0
  }

  /// Begins anew after a restart from the first event; counts stay, the numbering does not.
  package mutating func restart(first: Int64?) {
    lowest = first ?? 1
    highest = lowest &- 1
    hasBegun = first != nil
    gaps = []
    overflowed = 0
  }
}
