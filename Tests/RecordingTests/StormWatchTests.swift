import Primitives
import Recording
import Testing

/// Many connections lost at about one instant, and how far apart their clients came back.
@Suite struct StormWatchTests {
  private static let second: Int64 = 1_000_000_000

  private static func loss(at detected: Int64, back attempt: Int64) -> DisconnectRecord {
    var record = DisconnectRecord()
    record.detected = detected
    record.firstAttempt = attempt
    return record
  }

  @Test func lossAtOneInstant_IsAStormWithTheSpreadOfItsReturns() throws {
    var watch = StormWatch()

    // 1,000 lost over 20 ms across the border of two slots; back evenly over half a second.
    for client in 0..<1_000 {
      let lost = 3 * Self.second - 10_000_000 + Int64(client) * 20_000
      watch.add(Self.loss(at: lost, back: 4 * Self.second + Int64(client * 7 % 1_000) * 500_000))
    }

    let storm = try #require(watch.largest(over: 10 * Self.second))
    #expect(storm.size == 1_000)
    #expect(abs(storm.spread - 400_000_000) < 10_000_000)
  }

  @Test func clientsWithoutJitter_HaveNoSpread() {
    var watch = StormWatch()

    for client in 0..<5_000 {
      watch.add(Self.loss(at: Self.second + Int64(client), back: 2 * Self.second + Int64(client)))
    }

    let storm = watch.largest(over: 8 * Self.second)
    #expect(storm?.size == 5_000)
    #expect(storm?.spread == 0)
    #expect(watch.held.samples <= StormWatch.maximumSamples + 1)
  }

  /// What a client on a busy machine makes of one restart.
  @Test func lossSeenOverMoreThanASecond_IsOneStorm() throws {
    var watch = StormWatch()

    for client in 0..<5_000 {
      let lost = 20 * Self.second + Int64(client) * 260_000
      watch.add(Self.loss(at: lost, back: lost + 2 * Self.second))
    }

    let storm = try #require(watch.largest(over: 40 * Self.second))
    #expect(storm.size == 5_000)
    #expect(storm.spread == 0)
  }

  @Test(arguments: [3, 100, 4_000])
  func steadyLoss_IsNoStorm(perSecond: Int) {
    var watch = StormWatch()
    var random = SeededRandom(seed: UInt64(perSecond))

    for _ in 0..<perSecond * 30 {
      let lost = Int64(random.uniform() * 30e9)
      watch.add(Self.loss(at: lost, back: lost + 200_000_000))
    }

    #expect(watch.largest(over: 30 * Self.second) == nil)
  }

  @Test func stormAmongSteadyLoss_IsFoundInBoundedMemory() throws {
    var watch = StormWatch()
    var random = SeededRandom(seed: 7)
    var losses = (0..<200_000).map { _ in Int64(random.uniform() * 3_600e9) }
    losses += (0..<3_000).map { _ in 1_800 * Self.second + Int64(random.uniform() * 50e6) }

    // As records come: when each has recovered, a second after its loss.
    for lost in losses.sorted() { watch.add(Self.loss(at: lost, back: lost + Self.second)) }

    let storm = try #require(watch.largest(over: 3_600 * Self.second))
    #expect((3_000...3_100).contains(storm.size))
    #expect(storm.spread == 0)
    #expect(watch.held.slots <= StormWatch.maximumSlots)
    #expect(watch.held.samples <= StormWatch.maximumSlots * (StormWatch.maximumSamples + 1))
  }

  @Test func clientsThatNeverTriedAgain_AreNotCounted() {
    var watch = StormWatch()

    for _ in 0..<100 { watch.add(Self.loss(at: Self.second, back: -1)) }

    #expect(watch.largest(over: 5 * Self.second) == nil)
  }
}
