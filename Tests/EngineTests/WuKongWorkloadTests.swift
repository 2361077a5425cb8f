// The whole way, on loopback: producers, the mock with its faults, readers that are dropped. Nothing here is timed; what
// is asserted is that every text ends as its producer wrote it.

import Engine
import Foundation
import MockServing
import Primitives
import Recording
import Scenarios
import Testing
import WuKongIM

@Suite(.serialized) struct WuKongWorkloadTests {
  static func load(
    readers: Int, channels: Int, replies: Int, deltas: Int, kills: Int = 0, units: Double = 8, type: Int = 2,
    producers: Int = 4
  ) -> WuKongIMLoad {
    var load = WuKongIMLoad()
    load.readers = readers
    load.channels = channels
    load.channelType = type
    load.replies = replies
    load.deltas = deltas
    load.killTimes = kills
    load.producers = producers
    load.deltaUnits = .uniform(low: 1, high: units)
    load.interval = .constant(0)
    return load
  }

  /// Runs a load against a mock with `faults`; the counts and the rows of the readers.
  static func run(
    _ load: WuKongIMLoad, seed: UInt64, faults: [WuKongFaultKind: WuKongFaults.Setting] = [:]
  ) throws -> (workload: WuKongWorkload, sessions: [SessionRecord], disconnects: Int) {
    let listener = try WuKongListener(faults: WuKongFaults(faults, seed: seed))
    Thread.detachNewThread { listener.run() }
    defer { listener.stop() }
    var settings = WuKongWorkloadSettings(load: load, host: "127.0.0.1", port: listener.port)
    settings.seed = seed
    settings.client.firstDelay = .milliseconds(2)
    settings.client.maximumDelay = .milliseconds(50)
    settings.patience = .milliseconds(100)
    let workload = try WuKongWorkload(settings: settings)
    var sessions: [SessionRecord] = []
    var disconnects = 0
    workload.onSession = { sessions.append($0) }
    workload.onDisconnect = { _ in disconnects += 1 }
    workload.run()
    return (workload, sessions, disconnects)
  }

  @Test func everyTextIsWholeAfterDropsWithoutFaults() throws {
    let (workload, sessions, disconnects) = try Self.run(
      Self.load(readers: 24, channels: 4, replies: 8, deltas: 60, kills: 5), seed: 1)

    let counts = workload.counts
    #expect(counts.readersCompleted == 24, "\(workload.problems)")
    #expect(counts.wrongTexts == 0 && counts.kills == 120)
    #expect(counts.histories == counts.connects && counts.connects == 24 + 120)
    #expect(sessions.count == 24 && sessions.allSatisfy { $0.outcome == .completed && $0.reconnects == 5 })
    #expect(disconnects == 120)
  }

  @Test func everyTextIsWholeAfterDropsAndFaults() throws {
    let often = WuKongFaults.Setting(probability: 0.05, length: .milliseconds(5))
    let half = WuKongFaults.Setting(probability: 0.3, length: .milliseconds(10))
    let rarely = WuKongFaults.Setting(probability: 0.002)

    let (workload, _, _) = try Self.run(
      Self.load(readers: 24, channels: 4, replies: 8, deltas: 60, kills: 3), seed: 2,
      faults: [
        .dropEvent: often, .duplicateEvent: often, .reorderEvent: often, .delayEvent: often, .fragment: often,
        .halfPair: often, .busy: often, .historyOlder: half, .historyNewer: half, .historyError: often,
        .lateBase: half,
        .closeAfterBase: often, .cutFrame: rarely, .cutScalar: rarely,
      ])

    #expect(workload.counts.readersCompleted == 24, "\(workload.problems)")
    #expect(workload.counts.wrongTexts == 0)
    #expect(workload.counts.retries > 0)
  }

  @Test func aReaderDroppedAHundredTimesInOneReplyEndsWithItsText() throws {
    let (workload, sessions, _) = try Self.run(
      Self.load(readers: 1, channels: 1, replies: 1, deltas: 2_000, kills: 100), seed: 3)

    #expect(workload.counts.readersCompleted == 1, "\(workload.problems)")
    #expect(workload.counts.kills == 100 && workload.counts.wrongTexts == 0)
    #expect(sessions.first?.reconnects == 100)
  }

  @Test func aTextBeyondTheBoundIsCutAndSaysSo() throws {
    let (workload, _, _) = try Self.run(
      Self.load(readers: 2, channels: 1, replies: 1, deltas: 600, kills: 2, units: 80), seed: 4)

    #expect(workload.counts.readersCompleted == 2, "\(workload.problems)")
    #expect(workload.counts.wrongTexts == 0 && workload.counts.timeline.gaps == 0)
  }

  @Test func conversationsOfTwo() throws {
    let (workload, _, _) = try Self.run(
      Self.load(readers: 6, channels: 1, replies: 12, deltas: 20, kills: 1, type: 1, producers: 3), seed: 5)

    #expect(workload.counts.readersCompleted == 6, "\(workload.problems)")
    #expect(workload.counts.eventsReceived > 0 && workload.counts.wrongTexts == 0)
  }
}
