// Disconnections in, the largest storm out: many connections lost at about one instant, and how far apart their clients
// came back. Bounded memory whatever the length of the run; knows nothing of why they were lost.

/// Finds the largest group of disconnections that began together, and the spread of its reconnects: from each client's own
/// loss to its first try, since a busy client does not see all its losses at once.
///
/// - A group has its peak in two neighbouring slots of 100 ms, and goes on to either side, for at most two seconds, while a
///   slot has a twentieth of the peak. It is a storm when the peak has
///   ten members, three times the run's mean for such a stretch, and six standard deviations more than the mean. Steady
///   loss is no storm, however much there is of it.
/// - Memory: at most `maximumSlots` slots with `maximumSamples` delays each. Beyond that the smaller half of the slots
///   that were not touched for longest goes; a full slot keeps every second delay and counts on.
package struct StormWatch: Sendable {
  /// What was found: clients that tried again, and p90 − p10 of the delays before their first tries in ns.
  package struct Storm: Sendable, Equatable {
    package var size: Int64
    package var spread: Int64

    package init(size: Int64, spread: Int64) {
      self.size = size
      self.spread = spread
    }
  }

  package static let slotLength: Int64 = 100_000_000
  package static let maximumSlots = 256
  package static let maximumSamples = 512
  private static let smallest: Int64 = 10
  /// Slots by which a group may go on beyond its peak, on either side.
  private static let reach: Int64 = 20

  private struct Slot {
    var count: Int64 = 0
    var samples: [Int64] = []
    /// One delay in `stride` is kept.
    var stride: Int64 = 1
    var touched: Int64 = 0

    mutating func add(_ delay: Int64) {
      count += 1
      guard count % stride == 0 else { return }
      samples.append(delay)
      guard samples.count > StormWatch.maximumSamples else { return }
      samples = Swift.stride(from: 1, to: samples.count, by: 2).map { samples[$0] }
      stride *= 2
    }
  }

  private var slots: [Int64: Slot] = [:]
  private var total: Int64 = 0
  private var clock: Int64 = 0

  package init() {}

  /// Slots and delays held now, for the bound's test.
  package var held: (slots: Int, samples: Int) {
    (slots.count, slots.values.reduce(0) { $0 + $1.samples.count })
  }

  /// A disconnection, in any order; one whose client never tried again is none of the herd's.
  package mutating func add(_ record: DisconnectRecord) {
    guard record.detected >= 0, record.firstAttempt >= 0 else { return }
    total += 1
    clock += 1
    let number = record.detected / Self.slotLength
    if slots[number] == nil && slots.count >= Self.maximumSlots { makeRoom() }
    slots[number, default: Slot()].add(record.firstAttempt - record.detected)
    slots[number]?.touched = clock
  }

  private mutating func makeRoom() {
    let idle = slots.sorted { $0.value.touched < $1.value.touched }.prefix(Self.maximumSlots / 2)
    for (number, _) in idle.sorted(by: { $0.value.count < $1.value.count }).prefix(Self.maximumSlots / 4) {
      slots[number] = nil
    }
  }

  /// The largest storm of a load that took `length` nanoseconds; nil where there was none.
  package func largest(over length: Int64) -> Storm? {
    let mean = Double(total) * Double(2 * Self.slotLength) / Double(max(length, 2 * Self.slotLength))
    let least = max(Double(Self.smallest), 3 * mean, mean + 6 * mean.squareRoot())
    var found: (first: Int64, size: Int64)?
    for (number, slot) in slots {
      let size = slot.count + (slots[number + 1]?.count ?? 0)
      guard Double(size) >= least else { continue }
      if let known = found, (known.size, -known.first) >= (size, -number) { continue }
      found = (number, size)
    }
    return found.map { peak in
      let group = members(around: peak.first, peak: peak.size, mean: mean / 2)
      return Storm(size: group.reduce(0) { $0 + $1.count }, spread: spread(group))
    }
  }

  private func members(around first: Int64, peak: Int64, mean: Double) -> [Slot] {
    func belongs(_ number: Int64) -> Bool {
      guard let count = slots[number]?.count else { return false }
      return count * 20 >= peak && Double(count) >= 3 * mean
    }
    var low = first
    while low > first - Self.reach && belongs(low - 1) { low -= 1 }
    var high = first + 1
    while high < first + 1 + Self.reach && belongs(high + 1) { high += 1 }
    return (low...high).compactMap { slots[$0] }
  }

  /// p90 − p10 over the delays of some slots, each with the weight of those that it stands for.
  private func spread(_ group: [Slot]) -> Int64 {
    let weighted = group.flatMap { slot in
      slot.samples.map { (delay: $0, weight: slot.stride) }
    }
    .sorted { $0.delay < $1.delay }
    let sum = weighted.reduce(0) { $0 + $1.weight }
    func quantile(_ share: Double) -> Int64 {
      var seen: Int64 = 0
      for sample in weighted {
        seen += sample.weight
        if Double(seen) >= share * Double(sum) { return sample.delay }
      }
      return weighted.last?.delay ?? 0
    }
    return quantile(0.9) - quantile(0.1)
  }
}
