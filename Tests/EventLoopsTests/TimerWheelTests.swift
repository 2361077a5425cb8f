// The wheel against a list that is searched: the same timers fire, none early, each at the first chance. Time is a
// parameter.

import EventLoops
import Primitives
import Testing

@Suite struct TimerWheelTests {
  static let tick: Int64 = 65_536

  @Test func timerFires_AtTheFirstExpireThatHasReachedIt() {
    var wheel = TimerWheel(timers: 4, now: Instant(nanoseconds: 1_000))
    wheel.set(2, at: Instant(nanoseconds: 1_000_000))

    #expect(Self.fired(&wheel, 999_999) == [])
    #expect(Self.fired(&wheel, 1_000_000) == [2])
    #expect(Self.fired(&wheel, 2_000_000) == [])
    #expect(wheel.count == 0)
  }

  @Test func timeInThePast_FiresAtTheNextExpire() {
    var wheel = TimerWheel(timers: 4, now: Instant(nanoseconds: 50_000_000))
    wheel.set(0, at: Instant(nanoseconds: 3))

    #expect(Self.fired(&wheel, 50_000_000) == [0])
  }

  @Test func timerSetAnew_FiresOnceAtItsNewTime() {
    var wheel = TimerWheel(timers: 4, now: Instant(nanoseconds: 0))
    wheel.set(1, at: Instant(nanoseconds: 1_000_000))
    wheel.set(1, at: Instant(nanoseconds: 9_000_000))

    #expect(Self.fired(&wheel, 5_000_000) == [])
    #expect(Self.fired(&wheel, 9_000_000) == [1])
  }

  @Test func cancelledTimer_DoesNotFire() {
    var wheel = TimerWheel(timers: 4, now: Instant(nanoseconds: 0))
    wheel.set(1, at: Instant(nanoseconds: 1_000_000))
    wheel.cancel(1)
    wheel.cancel(1)

    #expect(Self.fired(&wheel, 5_000_000) == [])
    #expect(wheel.nextDeadline() == nil)
  }

  @Test func timerTurnsAway_WaitsForItsTurn() {
    var wheel = TimerWheel(timers: 4, now: Instant(nanoseconds: 0))
    wheel.set(3, at: Instant(nanoseconds: 10_000_000_000))

    #expect(Self.fired(&wheel, 2_200_000_000) == [])
    #expect(Self.fired(&wheel, 9_999_999_999) == [])
    #expect(Self.fired(&wheel, 10_000_000_000) == [3])
  }

  @Test func clockThatLeapsByManyTurns_FiresEverything() {
    var wheel = TimerWheel(timers: 100, now: Instant(nanoseconds: 0))
    for timer in 0..<100 { wheel.set(timer, at: Instant(nanoseconds: Int64(timer) * 97_000_000)) }

    #expect(Set(Self.fired(&wheel, 60_000_000_000)) == Set(0..<100))
  }

  @Test func bodyMaySetAndCancelTimers_ItsOwnToo() {
    var wheel = TimerWheel(timers: 4, now: Instant(nanoseconds: 0))
    for timer in 0..<3 { wheel.set(timer, at: Instant(nanoseconds: 1_000)) }
    var fired: [Int] = []

    wheel.expire(Instant(nanoseconds: 100_000)) { timer, wheel in
      fired.append(timer)
      for other in 0..<3 where other != timer { wheel.cancel(other) }
      wheel.set(timer, at: Instant(nanoseconds: 50))
    }

    #expect(fired.count == 1)
    #expect(Self.fired(&wheel, 100_000) == fired)
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func randomTimers_FireAsAListSays(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let count = 200
    var now: Int64 = Int64.random(in: 0..<1_000_000_000_000, using: &random)
    var wheel = TimerWheel(timers: 8, now: Instant(nanoseconds: now))
    wheel.grow(to: count)
    var list: [Int: Int64] = [:]

    for step in 0..<4_000 {
      let timer = Int.random(in: 0..<count, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        wheel.cancel(timer)
        list[timer] = nil
      case 1...6:
        let spans: [Int64] = [200, 100_000, 5_000_000, 900_000_000, 7_000_000_000]
        let due = max(
          0, now + Int64.random(in: -spans[0]...spans[Int.random(in: 0..<5, using: &random)], using: &random))
        wheel.set(timer, at: Instant(nanoseconds: due))
        list[timer] = due
      default:
        now += Int64.random(
          in: 0...[10_000, 1_000_000, 300_000_000, 4_000_000_000].randomElement(using: &random)!,
          using: &random)
        let fired = Self.fired(&wheel, now)
        let expected = list.filter { $0.value <= now }.keys
        #expect(Set(fired) == Set(expected) && fired.count == expected.count, "seed \(seed), step \(step)")
        for timer in fired { list[timer] = nil }
      }
      #expect(wheel.count == list.count, "seed \(seed), step \(step)")
      // Never later than a tick after the next timer.
      if let first = list.values.min() {
        let deadline = wheel.nextDeadline()
        #expect(
          deadline != nil && deadline!.nanoseconds <= max(first, now) + 2 * Self.tick,
          "seed \(seed), step \(step)")
      } else {
        #expect(wheel.nextDeadline() == nil, "seed \(seed), step \(step)")
      }
    }
  }

  @Test func loopThatWaitsByTheDeadline_IsLateByATickAtMost() {
    var random = SeededRandom(seed: 11)
    var now: Int64 = 123_456_789
    var wheel = TimerWheel(timers: 64, now: Instant(nanoseconds: now))
    var due = [Int64](repeating: 0, count: 64)
    for timer in 0..<64 {
      due[timer] = now + Int64.random(in: 1...5_000_000_000, using: &random)
      wheel.set(timer, at: Instant(nanoseconds: due[timer]))
    }
    var fired = 0

    while let deadline = wheel.nextDeadline() {
      now = max(now, deadline.nanoseconds)
      wheel.expire(Instant(nanoseconds: now)) { timer, _ in
        fired += 1
        #expect(now >= due[timer] && now - due[timer] <= Self.tick)
      }
    }

    #expect(fired == 64)
  }

  private static func fired(_ wheel: inout TimerWheel, _ now: Int64) -> [Int] {
    var timers: [Int] = []
    wheel.expire(Instant(nanoseconds: now)) { timer, _ in timers.append(timer) }
    return timers
  }
}
