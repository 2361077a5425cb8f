// What one reader's projection weighs with every bound full, to the byte, and that no flood makes it weigh more.

import CPlatform
import Primitives
import Testing
import WuKongIM

@Suite(.serialized) struct TimelineMemoryTests {
  /// Taken and not given back by this thread; nil without jemalloc.
  private static func held() -> Int? {
    guard let taken = CPlatform_thread_allocated(), let freed = CPlatform_thread_deallocated() else {
      return nil
    }
    return Int(truncatingIfNeeded: taken.pointee &- freed.pointee)
  }

  private static let channel = ChannelKey(id: "room", type: 2)

  /// Eight UTF-16 units in 24 bytes: as many bytes as a unit can have.
  private static let delta = [UInt8]("你好流式語言你好".utf8)

  private static func event(
    _ message: Int, _ number: Int, idBytes: Int, text: [UInt8] = delta, offset: Int? = nil
  ) -> StreamEvent {
    var id = "reply-\(message):\(number)"
    if idBytes > id.utf8.count { id += String(repeating: "x", count: idBytes - id.utf8.count) }
    // Storage of its own, as each event from the wire has.
    let text = text.withUnsafeBufferPointer { Array($0) }
    return StreamEvent(
      id: ByteText(id), kind: .delta, channel: channel, clientMessageNumber: ByteText("reply-\(message)"),
      messageSequence: Int64(message), textOffset: offset, delta: text)
  }

  /// 2,048 deltas of 8 units make 16,384 units and 2,048 ids; 40 such rows; then 2,048 events held back.
  private static func fill(
    _ timeline: inout StreamTimeline, messages: ClosedRange<Int>, idBytes: Int, buffered: [UInt8]
  ) {
    for message in messages {
      for number in 0..<2_048 { timeline.receive(event(message, number, idBytes: idBytes)) }
    }
    timeline.connected()
    for number in 0..<2_048 {
      timeline.receive(event(messages.upperBound, 10_000 + number, idBytes: idBytes, text: buffered))
    }
  }

  /// A flood of everything: more ids for each row, more rows, more events held back than fit, more text.
  private static func flood(
    _ timeline: inout StreamTimeline, from first: Int, idBytes: Int, buffered: [UInt8]
  ) {
    timeline.historyFailed(generation: timeline.generation)
    for number in 20_000..<24_000 {
      for message in [first, first + 17, first + 39] {
        timeline.receive(event(message, number, idBytes: idBytes))
      }
    }
    fill(&timeline, messages: first + 40...first + 79, idBytes: idBytes, buffered: buffered)
    for number in 30_000..<33_000 {
      timeline.receive(event(first + 79, number, idBytes: idBytes, text: buffered))
    }
  }

  /// - Parameter bound: the most that may be held, in bytes.
  private static func check(_ what: String, idBytes: Int, buffered: [UInt8], bound: Int, floods: Int) {
    guard let empty = held() else { return }
    var timeline = StreamTimeline(channel: channel)

    fill(&timeline, messages: 1...40, idBytes: idBytes, buffered: buffered)
    guard let full = held().map({ $0 - empty }) else { return }
    let isFull =
      timeline.rows.count == 40 && timeline.bufferedCount == 2_048
      && timeline.rows.allSatisfy { $0.text.count == 49_152 && !$0.isTruncated }
    var most = full
    var first = 1
    for _ in 0..<floods {
      flood(&timeline, from: first, idBytes: idBytes, buffered: buffered)
      first += 40
      if let now = held() { most = max(most, now - empty) }
    }

    #expect(isFull, "the bounds are not all full")
    #expect(timeline.rows.count == 40 && timeline.bufferedCount == 2_048 && timeline.counts.overflow > 0)
    print(
      "memory per reader with all bounds full, \(what): \(full) bytes; at most \(most) after \(floods) floods"
    )
    #expect(full <= bound, "\(full) bytes")
    // Flat: rows that a flood replaces are as large as those before.
    #expect(most <= full + full / 50, "\(full) bytes became \(most)")
    timeline = StreamTimeline()
    // The thread's allocator rounds, and the runner keeps a page of its own at times.
    if let left = held() { #expect(left - empty <= full / 100, "\(left - empty) bytes are never given back") }
  }

  /// 40 rows, 2,048 ids a row, 16,384 units a row, 2,048 events held back, as replies have them. Each flood is 95,000
  /// events: a minute of a channel with 1,500 a second.
  @Test func allBoundsFull_WeighAFixedAmount() {
    Self.check("usual ids", idBytes: 0, buffered: Self.delta, bound: 12 << 20, floods: 3)
  }

  /// The same with the longest ids that are taken (1,024 bytes) and the most text that is held back (16 MiB).
  @Test func allBoundsFull_WithTheLongestIds() {
    Self.check(
      "longest ids", idBytes: 1_024, buffered: [UInt8](repeating: 0x61, count: 6_800), bound: 144 << 20,
      floods: 2)
  }
}
