// What a server says about its time becomes the distance of two clocks, with bounds that hold.

import Primitives
import Transports
import Testing

@Suite struct ServerClockTests {
  /// A server whose clock is `offset` behind ours, each way taking up to 30 ms, asked until the bounds are close.
  private func measured(offset: Int64, resolution: Int64, questions: Int, seed: UInt64) -> ClockBounds {
    var random = SeededRandom(seed: seed, purpose: "clock")
    var bounds = ClockBounds()
    var now: Int64 = 1_796_052_414_123_456_789
    for _ in 0..<questions {
      now = bounds.nextQuestion(after: now)
      let sent = now
      let answered = sent + Int64(30e6 * random.uniform())
      let received = answered + Int64(30e6 * random.uniform())
      let time = (answered - offset) / resolution * resolution
      bounds.add(ServerClock(time: time, resolution: resolution), sent: sent, received: received)
      now = received + 1_000_000
    }
    return bounds
  }

  @Test(arguments: [Int64(0), 2_500_000_000, -40_125_000_000, 333])
  func trueOffsetLiesWithinTheBounds(offset: Int64) throws {
    for seed in UInt64(1)...50 {
      for resolution in [Int64(1), 1_000_000_000] {
        for questions in [1, 3, 12] {
          let bounds = measured(offset: offset, resolution: resolution, questions: questions, seed: seed)

          let found = try #require(bounds.offset)
          let uncertainty = try #require(bounds.uncertainty)
          #expect(!bounds.isBroken)
          #expect(abs(found - offset) <= uncertainty, "seed \(seed), \(resolution), \(questions)")
        }
      }
    }
  }

  @Test func wholeSecondsBecomeMilliseconds_ByAskingAtTheEdge() throws {
    for seed in UInt64(1)...20 {
      let once = try #require(measured(offset: 2_500_000_000, resolution: 1_000_000_000, questions: 1, seed: seed).uncertainty)
      let often = try #require(measured(offset: 2_500_000_000, resolution: 1_000_000_000, questions: 12, seed: seed).uncertainty)

      #expect(once > 499_000_000)
      #expect(often < 60_000_000, "seed \(seed)")
    }
  }

  @Test func clockThatIsSetMeanwhile_IsNoticed() {
    var bounds = ClockBounds()
    bounds.add(ServerClock(time: 1_000_000, resolution: 1), sent: 1_000_000, received: 1_001_000)
    bounds.add(ServerClock(time: 9_000_000, resolution: 1), sent: 1_002_000, received: 1_003_000)

    #expect(bounds.isBroken)
  }
}
