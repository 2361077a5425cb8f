// `load`: a mock of its own on a thread and the workload against it, or against `host` and `port`; prints counts and
// percentiles as one JSON object.

import Engine
import Foundation
import MockServing
import Primitives
import Recording
import Scenarios
import WuKongIM

/// `memory`: what a projection weighs with every bound full, as growth of the resident set over many.
enum MemoryRun {
  static func run() {
    func resident() -> Int {
      guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
      return (Int(text.split(separator: " ")[1]) ?? 0) * 4_096
    }
    let before = resident()
    let text = [UInt8](String(repeating: "你", count: 8_192).utf8)
    let timelines = (0..<20).map { _ in full(text) }
    let bytes = (resident() - before) / timelines.count
    WuKongDriver.say(
      #"{"readers":\#(timelines.count),"rows":\#(timelines[0].rows.count),"buffered":\#(timelines[0].bufferedCount),"bytes_per_reader":\#(bytes)}"#
    )
  }

  /// 40 rows of 16,384 units, 2,048 ids each, 2,048 buffered events.
  private static func full(_ text: [UInt8]) -> StreamTimeline {
    let channel = ChannelKey(id: "room", type: 2)
    var timeline = StreamTimeline(channel: channel)
    for message in 1...40 {
      let number = ByteText("reply-\(message)")
      func event(_ id: Int, _ text: [UInt8]) -> StreamEvent {
        StreamEvent(
          id: ByteText("reply-\(message):\(id)"), kind: .delta, channel: channel, clientMessageNumber: number,
          messageSequence: Int64(message), delta: text)
      }
      timeline.receive(event(0, text))
      timeline.receive(event(1, text))
      for id in 2..<2_048 { timeline.receive(event(id, [0x61])) }
    }
    timeline.connected()
    for id in 0..<2_048 {
      timeline.receive(
        StreamEvent(
          id: ByteText("reply-1:\(10_000 + id)"), kind: .delta, channel: channel,
          clientMessageNumber: "reply-1",
          messageSequence: 1, textOffset: id, delta: [0x61, 0x62, 0x63]))
    }
    return timeline
  }
}

enum LoadRun {
  static func run(_ words: [String]) {
    var load = WuKongIMLoad()
    var host = "127.0.0.1"
    var port = 0
    var seed: UInt64 = 1
    for word in words {
      let parts = word.split(separator: "=").map(String.init)
      guard parts.count == 2 else { continue }
      let number = Int(parts[1]) ?? 0
      switch parts[0] {
      case "channels": load.channels = number
      case "readers": load.readers = number
      case "producers": load.producers = number
      case "replies": load.replies = number
      case "deltas": load.deltas = number
      case "type": load.channelType = number
      case "kills": load.killTimes = number
      case "units": load.deltaUnits = .uniform(low: 1, high: Double(number))
      case "interval_ms": load.interval = .constant((Double(parts[1]) ?? 0) * 1e6)
      case "host": host = parts[1]
      case "port": port = number
      case "seed": seed = UInt64(number)
      default: break
      }
    }
    var listener: WuKongListener?
    if port == 0 {
      guard let made = try? WuKongListener(faults: WuKongDriver.faults(words, seed: seed)) else { exit(74) }
      listener = made
      port = made.port
      Thread.detachNewThread { made.run() }
    }
    var settings = WuKongWorkloadSettings(load: load, host: host, port: port)
    settings.seed = seed
    guard let workload = try? WuKongWorkload(settings: settings) else { exit(70) }
    var histograms: [WuKongSample: Histogram] = [:]
    for kind in WuKongSample.allCases { histograms[kind] = Histogram() }
    workload.onSample = { kind, length in histograms[kind]?.record(length) }
    let begin = Instant.now()
    workload.onTick = { counts, live in
      FileHandle.standardError.write(
        Data(
          "\(Int((Instant.now() - begin).seconds)) s: live \(live) replies \(counts.replies) events \(counts.eventsReceived) kills \(counts.kills)\n"
            .utf8))
    }
    workload.run()
    let counts = workload.counts
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    func figures(_ kind: WuKongSample) -> String {
      guard let histogram = histograms[kind], histogram.count > 0 else { return "null" }
      func ms(_ p: Double) -> Double { (Double(histogram.value(atQuantile: p / 100)) / 1e4).rounded() / 100 }
      return
        #"{"n":\#(histogram.count),"p50":\#(ms(50)),"p99":\#(ms(99)),"max":\#(Double(histogram.largest) / 1e6)}"#
    }
    print(
      """
      {"seconds":\((Instant.now() - begin).seconds),"counts":"\(counts)",
       "append_ms":\(figures(.append)),"fan_out_ms":\(figures(.fanOut)),"recovery_ms":\(figures(.recovery)),"history_ms":\(figures(.history)),
       "bytes_per_token":\(counts.eventsReceived > 0 ? Double(counts.bytesReceived) / Double(counts.eventsReceived) : 0),
       "cpu_s":\(Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)),"max_rss_mb":\(usage.ru_maxrss / 1024),
       "server":"\(listener.map { "\($0.server.counts) dropped \($0.droppedDeliveries) struck \($0.faults.struck)" } ?? "")",
       "problems":\(workload.problems.count) "\(workload.problems.first ?? "")"}
      """)
    exit(counts.readersFailed == 0 && counts.repliesFailed == 0 && counts.wrongTexts == 0 ? 0 : 1)
  }
}
