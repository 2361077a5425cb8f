// Timers by number, for owners that have thousands of them: a hashed wheel with constant cost to set, move, cancel and
// fire. Timers of one tick fire together, which coalesces wake-ups. Knows no clock: the time is a parameter.

package import Primitives

/// A wheel of 32,768 slots of 65.5 µs (2.1 s in all); a timer further away stays in its slot for several turns.
///
/// A timer fires at the first `expire` whose `now` has reached its due time, never earlier; `nextDeadline` rounds up to
/// the end of a tick, so a loop that waits by it fires timers at most one tick late.
package struct TimerWheel: ~Copyable {
  /// Length of a slot in nanoseconds, as a power of two.
  static let tickShift: Int64 = 16
  static let slotCount = 1 << 15

  private struct Timer {
    var due: Int64 = -1
    var next: Int32 = -1
    var previous: Int32 = -1
  }

  private var timers: UnsafeMutableBufferPointer<Timer>
  /// First timer of each slot, −1 for none.
  private let slots: UnsafeMutablePointer<Int32>
  /// One bit a slot that is not empty, and one bit a word of those.
  private let bits: UnsafeMutablePointer<UInt64>
  private let summary: UnsafeMutablePointer<UInt64>
  /// The tick up to which all has been fired.
  private var current: Int64
  /// The end of the list of the due, whose head is the slot after the last; −1 when it is empty.
  private var lastDue: Int32 = -1
  package private(set) var count = 0

  /// What one timer number costs.
  package static let bytesPerTimer = MemoryLayout<Timer>.stride

  /// - Parameter timers: the numbers 0..<timers may be used; `grow` makes room for more.
  package init(timers count: Int, now: Instant) {
    timers = .allocate(capacity: max(1, count))
    timers.initialize(repeating: Timer())
    slots = .allocate(capacity: Self.slotCount + 1)
    slots.initialize(repeating: -1, count: Self.slotCount + 1)
    bits = .allocate(capacity: Self.slotCount / 64)
    bits.initialize(repeating: 0, count: Self.slotCount / 64)
    summary = .allocate(capacity: Self.slotCount / 4096)
    summary.initialize(repeating: 0, count: Self.slotCount / 4096)
    current = now.nanoseconds >> Self.tickShift
  }

  deinit {
    timers.deallocate()
    slots.deallocate()
    bits.deallocate()
    summary.deallocate()
  }

  /// Makes room for timer numbers below `count`.
  package mutating func grow(to count: Int) {
    guard count > timers.count else { return }
    let larger = UnsafeMutableBufferPointer<Timer>.allocate(capacity: max(count, timers.count * 2))
    larger.initialize(repeating: Timer())
    for index in timers.indices { larger[index] = timers[index] }
    timers.deallocate()
    timers = larger
  }

  package func isSet(_ timer: Int) -> Bool { timers[timer].due >= 0 }

  package func due(_ timer: Int) -> Instant? {
    timers[timer].due >= 0 ? Instant(nanoseconds: timers[timer].due) : nil
  }

  /// Sets or moves a timer. A time in the past fires at the next `expire`.
  package mutating func set(_ timer: Int, at due: Instant) {
    if timers[timer].due >= 0 { unlink(timer) } else { count += 1 }
    timers[timer].due = max(0, due.nanoseconds)
    link(timer)
  }

  package mutating func cancel(_ timer: Int) {
    guard timers[timer].due >= 0 else { return }
    unlink(timer)
    timers[timer].due = -1
    count -= 1
  }

  /// When to wake up: the end of the tick of the next timer, or nil without timers. May be early for a timer that is
  /// turns away, never late by more than a tick.
  package func nextDeadline() -> Instant? {
    guard count > 0 else { return nil }
    let start = Int(truncatingIfNeeded: current) & (Self.slotCount - 1)
    guard let slot = nextSlot(from: start) else { return nil }
    let distance = (slot - start) & (Self.slotCount - 1)
    return Instant(nanoseconds: (current + Int64(distance) + 1) << Self.tickShift)
  }

  /// Fires every timer that is due at `now`, in the order of their ticks. `body` may set and cancel timers, its own
  /// too; one set in the past by it fires at the next call.
  package mutating func expire(_ now: Instant, _ body: (_ timer: Int, _ wheel: inout TimerWheel) -> Void) {
    collect(now.nanoseconds)
    while let timer = popDue() { body(timer, &self) }
  }

  /// Moves all due timers into the list of the due, from which `cancel` and `set` still take them.
  private mutating func collect(_ now: Int64) {
    let target = now >> Self.tickShift
    // A clock that leapt by more than a turn visits each slot once.
    var tick = max(current, target - Int64(Self.slotCount) + 1)
    while tick <= target {
      let slot = Int(truncatingIfNeeded: tick) & (Self.slotCount - 1)
      if slots[slot] < 0 {
        guard count > 0, let next = nextSlot(from: slot) else { break }
        tick += max(1, Int64((next - slot) & (Self.slotCount - 1)))
        continue
      }
      var timer = slots[slot]
      while timer >= 0 {
        let next = timers[Int(timer)].next
        if timers[Int(timer)].due <= now {
          unlink(Int(timer))
          appendDue(Int(timer))
        }
        timer = next
      }
      tick += 1
    }
    current = target
  }

  private mutating func appendDue(_ timer: Int) {
    if lastDue >= 0 {
      timers[Int(lastDue)].next = Int32(timer)
      timers[timer].previous = lastDue
    } else {
      slots[Self.slotCount] = Int32(timer)
      timers[timer].previous = -Int32(Self.slotCount) - 2
    }
    lastDue = Int32(timer)
  }

  private mutating func popDue() -> Int? {
    let timer = slots[Self.slotCount]
    if timer < 0 { return nil }
    unlink(Int(timer))
    timers[Int(timer)].due = -1
    count -= 1
    return Int(timer)
  }

  private func slot(of due: Int64) -> Int {
    let tick = max(current, due >> Self.tickShift)
    return Int(truncatingIfNeeded: tick) & (Self.slotCount - 1)
  }

  private mutating func link(_ timer: Int) {
    let slot = slot(of: timers[timer].due)
    let first = slots[slot]
    timers[timer].next = first
    timers[timer].previous = -Int32(slot) - 2
    if first >= 0 { timers[Int(first)].previous = Int32(timer) }
    slots[slot] = Int32(timer)
    bits[slot >> 6] |= 1 << UInt64(slot & 63)
    summary[slot >> 12] |= 1 << UInt64((slot >> 6) & 63)
  }

  private mutating func unlink(_ timer: Int) {
    let next = timers[timer].next
    let previous = timers[timer].previous
    if Int32(timer) == lastDue { lastDue = previous >= 0 ? previous : -1 }
    if next >= 0 { timers[Int(next)].previous = previous }
    if previous >= 0 {
      timers[Int(previous)].next = next
    } else {
      let slot = Int(-previous - 2)
      slots[slot] = next
      if next < 0 && slot < Self.slotCount {
        bits[slot >> 6] &= ~(1 << UInt64(slot & 63))
        if bits[slot >> 6] == 0 { summary[slot >> 12] &= ~(1 << UInt64((slot >> 6) & 63)) }
      }
    }
    timers[timer].next = -1
    timers[timer].previous = -1
  }

  /// The first slot that is not empty from `start` on, around the wheel.
  private func nextSlot(from start: Int) -> Int? {
    let word = bits[start >> 6] >> UInt64(start & 63)
    if word != 0 { return start + word.trailingZeroBitCount }
    let words = Self.slotCount / 64
    var index = (start >> 6) + 1
    var left = words
    while left > 0 {
      if index == words { index = 0 }
      let group = summary[index >> 6] >> UInt64(index & 63)
      if group == 0 {
        let skip = 64 - (index & 63)
        index += skip
        left -= skip
        if index > words { index = words }
        continue
      }
      index += group.trailingZeroBitCount
      return index << 6 + bits[index].trailingZeroBitCount
    }
    return nil
  }
}
