// What an event costs the instrument itself: scripted reads through a worker's whole path (parse, extract, check, record)
// with no network under it.

import Arrivals
import Engine
import Foundation
import Primitives
import Recording
import Scenarios
import Transports

struct NullMeasurement {
  /// Nanoseconds of the worker's CPU for one event.
  var nanosecondsPerEvent: Double
  /// nil without jemalloc.
  var allocationsPerEvent: Double?
  var eventsPerRead: Int
  var events: Int64

  private static let sessions = 32

  /// The best of `rounds`: whatever else runs can only make it slower.
  static func take(eventsPerRead: Int, events: Int, rounds: Int) throws -> NullMeasurement {
    var best: NullMeasurement?
    for _ in 0..<rounds {
      // What the start and the end of a run cost falls out of the difference of a long and a short one.
      let short = try run(eventsPerRead: eventsPerRead, events: events / 4)
      let long = try run(eventsPerRead: eventsPerRead, events: events)
      let count = long.events - short.events
      guard count > 0 else { throw CommandFailure(.software, "self-test: the null transport's events did not arrive") }
      let cost = Double(long.cpu - short.cpu) / Double(count)
      var allocations: Double?
      if let more = long.requests, let less = short.requests { allocations = max(0, Double(more - less) / Double(count)) }
      if cost > 0, cost < best?.nanosecondsPerEvent ?? .infinity {
        best = NullMeasurement(
          nanosecondsPerEvent: cost, allocationsPerEvent: allocations, eventsPerRead: eventsPerRead, events: long.events)
      }
    }
    guard let best else { throw CommandFailure(.software, "self-test: the cost of an event could not be told from noise") }
    return best
  }

  private static func run(eventsPerRead: Int, events: Int) throws -> (events: Int64, cpu: Int64, requests: Int64?) {
    var scenario = Scenario()
    scenario.load.concurrency = sessions
    scenario.load.sessions = sessions
    scenario.client.timeouts.firstEvent = .seconds(600)
    scenario.client.timeouts.idle = .seconds(600)
    var settings = try SessionSettings(scenario, mockURLs: ["http://127.0.0.1:9"])
    let reads = script(events: events, eventsPerRead: eventsPerRead)
    settings.transportFactory = { _, places, _, receiver in
      NullTransport(reads: reads, places: places, receiver: receiver)
    }
    let plan = Plan.make(scenario, seed: scenario.seed, shard: nil)
    let loads = PlanFeed.loads(scenario, plan: plan, threads: 1, only: nil)
    let before = ProcessMeters.hasJemalloc ? ProcessMeters.sample().requests : -1
    let engine = try EngineRun(settings: settings, loads: loads, origin: .now())
    engine.start()
    var cpu: Int64 = 0
    var received: Int64 = 0
    while true {
      let reports = engine.take()
      for report in reports {
        cpu = report.cpu
        received = report.events
        for interval in report.intervals { engine.giveBack(interval.record, toWorker: 0) }
        if let failure = report.failure { throw CommandFailure(.software, "self-test: \(failure)") }
      }
      if reports.allSatisfy(\.isFinished) { break }
      usleep(2_000)
    }
    engine.join()
    let after = ProcessMeters.hasJemalloc ? ProcessMeters.sample().requests : -1
    return (received, cpu, before >= 0 && after >= 0 ? after - before : nil)
  }

  /// An OpenAI-shaped stream as the mock writes it: numbered, with checksums, and its end marker.
  private static func script(events: Int, eventsPerRead: Int) -> [[UInt8]] {
    let text = " light"
    let crc = String(CRC32C.checksum(text.utf8), radix: 16)
    let padded = String(repeating: "0", count: 8 - crc.count) + crc
    var reads: [[UInt8]] = []
    var read: [UInt8] = []
    for number in 1...max(1, events) {
      read += Array(
        "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\(text)\"},\"finish_reason\":null}],\"ssebench\":{\"n\":\(number),\"crc\":\"\(padded)\"}}\n\n"
          .utf8)
      if number % eventsPerRead == 0 {
        reads.append(read)
        read = []
      }
    }
    reads.append(read + Array("data: [DONE]\n\n".utf8))
    return reads
  }
}
