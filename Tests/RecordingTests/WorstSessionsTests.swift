import Recording
import Testing

/// The short list of sessions that a report spells out.
@Suite struct WorstSessionsTests {
  private static func ended(_ number: Int64, lost: Int64 = 0, failed: Bool = false, disconnects: Int32 = 1)
    -> SessionRecord
  {
    var record = SessionRecord()
    record.session = number
    record.lost = lost
    record.disconnects = disconnects
    record.outcome = failed ? .failed : .completed
    record.error = failed ? .refused : nil
    return record
  }

  private static func recovered(_ number: Int64, after length: Int64) -> DisconnectRecord {
    var record = DisconnectRecord()
    record.session = number
    record.number = 2
    record.detected = 1_000
    record.firstNewEvent = 1_000 + length
    return record
  }

  @Test func mostDamagedComeFirst_WhateverTheOrderOfArrival() {
    var worst = WorstSessions()

    for number in [4, 1, 9, 2, 8, 3, 7, 5, 6] as [Int64] { worst.add(Self.ended(number, lost: number)) }

    #expect(worst.all.map(\.session) == [9, 8, 7, 6, 5])
    #expect(worst.all[0].why == "9 lost after 1 disconnection")
  }

  @Test func sessionsThatAreWellOrNeverLostAConnection_AreNotListed() {
    var worst = WorstSessions()

    worst.add(Self.ended(1))
    worst.add(Self.ended(2, failed: true, disconnects: 0))
    worst.add(Self.ended(3, failed: true, disconnects: 2))

    #expect(worst.all.map(\.why) == ["failed (refused) after 2 disconnections"])
  }

  @Test func slowestRecoveries_StandBehind() {
    var worst = WorstSessions()

    for number in 1...9 as ClosedRange<Int64> { worst.add(Self.recovered(number, after: number * 1_000_000)) }
    worst.add(Self.ended(1, lost: 1))

    #expect(worst.all.map(\.session) == [1, 9, 8, 7])
    #expect(worst.all[1].why == "slowest recovery: 9 ms after disconnection 2 of 2")
  }

  /// A recovery is known before its session has ended.
  @Test func slowestRecovery_SaysHowItsSessionEnded() {
    var worst = WorstSessions()
    worst.add(Self.recovered(5, after: 9_000_000))

    worst.add(Self.ended(5, failed: true, disconnects: 7))

    let slow = worst.all.first { $0.recovery >= 0 }
    #expect(slow?.outcome == "failed" && slow?.error == "refused" && slow?.disconnects == 7 && slow?.disconnection == 2)
    #expect(worst.all.count == 2)
  }

  @Test func jsonAndBack_IsTheSame() {
    var worst = WorstSessions()
    worst.add(Self.ended(7, lost: 3, failed: true))
    worst.add(Self.recovered(5, after: 1_234_567))

    #expect(worst.all.map { WorstSession(json: $0.json) } == worst.all.map { Optional($0) })
  }
}
