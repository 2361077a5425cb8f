// Random replies over a bad network: whatever is split, dropped, doubled, delayed or cut by reconnects, the text shown
// is a prefix of the truth at every moment and the truth at the end.

import Primitives
import Testing
import WuKongIM

/// One reply, and a network that loses, doubles and delays what the server says about it.
struct ReplyStory {
  var random: SeededRandom
  var truth: [UInt8] = []
  /// Ends of the deltas, in bytes; the first begins at 0.
  var ends: [Int] = []

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    let clusters = 1 + below(40)
    for _ in 0..<clusters {
      truth.append(contentsOf: Self.clusters[below(Self.clusters.count)].utf8)
      // Splits fall between scalars, also inside a joined emoji or before a combining mark.
    }
    let boundaries = truth.indices.dropFirst().filter { truth[$0] & 0xC0 != 0x80 }
    ends = boundaries.filter { _ in below(3) == 0 } + [truth.count]
  }

  static let clusters = [
    "a", "Z", " ", "\n", "\"", "\\", "é", "e\u{301}", "n\u{303}\u{323}", "你", "好", "語", "한",
    "\u{1112}\u{1161}\u{11AB}",
    "🙂", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "𝒳", "\u{200D}", "ﷺ", "न्ही", "\u{10FFFF}", "\u{2028}", "\u{0}",
  ]

  mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  func delta(_ index: Int) -> StreamEvent {
    let start = index == 0 ? 0 : ends[index - 1]
    return event("d\(index)", .delta, offset: start, delta: Array(truth[start..<ends[index]]))
  }

  func event(
    _ id: String, _ kind: StreamEvent.Kind, offset: Int? = nil, delta: [UInt8]? = nil,
    snapshot: [UInt8]? = nil
  ) -> StreamEvent {
    StreamEvent(
      id: ByteText(id), kind: kind, channel: ChannelKey(id: "room", type: 2), clientMessageNumber: "reply",
      messageSequence: 9, textOffset: offset, delta: delta, snapshot: snapshot)
  }
}

@Suite struct TimelinePropertyTests {
  /// Plays one story; returns what went wrong, or nil.
  static func play(seed: UInt64) -> String? {
    var story = ReplyStory(seed: seed)
    var timeline = StreamTimeline(channel: ChannelKey(id: "room", type: 2))
    /// Events on their way, and histories that were asked for: (generation, text when it was taken, finished then).
    var inFlight: [StreamEvent] = []
    var histories: [(generation: Int, text: [UInt8], finished: Bool)] = []
    var sent = 0
    var finished = false
    var problem: String?

    func check(_ where_: String) {
      guard problem == nil, let row = timeline.row("reply") else { return }
      if !story.truth.starts(with: row.text) {
        problem = "seed \(seed): not a prefix after \(where_): \(row.string)"
      }
      if String(validating: row.text, as: UTF8.self) == nil {
        problem = "seed \(seed): not UTF-8 after \(where_)"
      }
    }
    func answer(_ index: Int) {
      let history = histories.remove(at: index)
      if story.chance(10) {
        timeline.historyFailed(generation: history.generation)
        return
      }
      var page = HistoryPage()
      page.rows = [
        HistoryPage.Row(
          clientMessageNumber: "reply", messageSequence: 9, channel: nil, isStream: true,
          mainText: history.text,
          mainLane: history.finished ? .closed : .open, isCompleted: history.finished)
      ]
      timeline.apply(page, generation: history.generation)
    }
    func reconnect() {
      // What was on its way to the old connection is lost.
      inFlight = []
      let generation = timeline.connected()
      let text = sent == 0 ? [] : Array(story.truth[..<(finished ? story.truth.count : story.ends[sent - 1])])
      histories.append((generation, text, finished))
    }

    while !finished {
      switch story.below(10) {
      case 0...4:
        if sent < story.ends.count {
          let event = story.delta(sent)
          sent += 1
          if story.chance(80) { inFlight.append(event) }
          if story.chance(10) { inFlight.append(event) }
        } else {
          finished = true
        }
      case 5...7:
        if !inFlight.isEmpty {
          timeline.receive(inFlight.remove(at: story.chance(70) ? 0 : story.below(inFlight.count)))
          check("an event")
        }
      case 8:
        if !histories.isEmpty {
          answer(story.below(histories.count))
          check("a history")
        }
      default: if story.chance(30) { reconnect() }
      }
    }
    // The end: the finish event arrives, or it is lost and a reconnect's history has it.
    let finish = story.event("finish", .finish, snapshot: story.truth)
    if story.chance(50) {
      inFlight.append(finish)
      if story.chance(20) { inFlight.append(finish) }
      while !inFlight.isEmpty {
        timeline.receive(inFlight.remove(at: story.below(inFlight.count)))
        check("an event at the end")
      }
      while !histories.isEmpty {
        answer(story.below(histories.count))
        check("a history at the end")
      }
      // A history that was taken before the finish takes the row back to streaming; the next connect repairs that.
      if timeline.row("reply")?.isFinished == true {
        return problem ?? outcome(timeline, story, seed)
      }
    }
    repeat {
      reconnect()
      if story.chance(50) { inFlight.append(finish) }
      while !inFlight.isEmpty { timeline.receive(inFlight.removeLast()) }
      answer(histories.count - 1)
      check("the last history")
    } while timeline.row("reply")?.isFinished != true
    while !histories.isEmpty { answer(0) }
    return problem ?? outcome(timeline, story, seed)
  }

  static func outcome(_ timeline: StreamTimeline, _ story: ReplyStory, _ seed: UInt64) -> String? {
    guard let row = timeline.row("reply") else { return "seed \(seed): no row" }
    if row.text != story.truth { return "seed \(seed): ends with \(row.string)" }
    if row.status != .done { return "seed \(seed): ends as \(row.status)" }
    return nil
  }

  @Test func textIsAlwaysAPrefixAndEndsWhole_100000Stories() {
    let base: UInt64 = 20_260_901
    var failures: [String] = []

    for seed in base..<base + 100_000 {
      if let failure = Self.play(seed: seed) { failures.append(failure) }
    }

    #expect(failures.isEmpty, "base seed \(base), \(failures.count) failures; first: \(failures.first ?? "")")
  }

  @Test func boundsHoldUnderAFlood() {
    let seed: UInt64 = 7
    var random = SeededRandom(seed: seed)
    var timeline = StreamTimeline(channel: ChannelKey(id: "room", type: 2))
    let kinds: [StreamEvent.Kind] = [
      .open, .delta, .delta, .delta, .snapshot, .close, .cancel, .error, .finish,
    ]

    for step in 0..<200_000 {
      if step % 9_000 == 0 { timeline.connected() }
      if step % 9_000 == 4_000 { timeline.historyFailed(generation: timeline.generation) }
      let message = random.next() % 90
      let text = [UInt8](repeating: 0x79, count: Int(random.next() % 700))
      timeline.receive(
        StreamEvent(
          id: ByteText("\(random.next() % 100_000)"), kind: kinds[Int(random.next() % 9)],
          channel: ChannelKey(id: "room", type: 2), clientMessageNumber: ByteText("m\(message)"),
          messageSequence: Int64(message) + 1, delta: text, snapshot: random.next() % 50 == 0 ? text : nil))
      if timeline.bufferedCount > 2_048 || timeline.rows.count > 40 {
        Issue.record("seed \(seed): a bound is passed at step \(step)")
        return
      }
    }

    #expect(timeline.rows.allSatisfy { $0.text.count <= 16_384 })
    #expect(timeline.counts.overflow > 0)
  }
}
