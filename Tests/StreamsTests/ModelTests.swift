// The modes that stand for something else: recorded results of the libraries, the oracles, and the tables that describe them.

import Foundation
import Primitives
import Streams
import Testing

@Suite struct EventSourceModelTests {
  static let settings = [
    ParserSettings(.eventsource), ParserSettings(.eventsource, hasBufferFix: true), ParserSettings(.eventsourceDataOnly),
    ParserSettings(.eventsourceDataOnly, hasBufferFix: true),
  ]

  @Test(arguments: settings)
  func randomBodies_equalTheTranscription(_ settings: ParserSettings) {
    for index in 0..<10_000 {
      var streams = RandomStreams(seed: 21, index: index)
      let body = streams.body()
      let cuts = streams.cuts(body.count)
      var oracle = EventSourceOracle(isDataOnly: settings.mode == .eventsourceDataOnly)

      let got = parse(body, settings, cuts: cuts, finishing: false).events
      var wanted: [EventSourceOracle.Event] = []
      var start = 0
      for cut in cuts + [body.count] {
        wanted += oracle.read(Array(body[start..<cut]))
        start = cut
      }

      if got.map(\.asOracle) != wanted {
        Issue.record("seed 21, index \(index), \(settings.mode): \(body) cut \(cuts): \(got) instead of \(wanted)")
        return
      }
    }
  }

  /// Input, what `.default` gives, what `.dataOnly` gives.
  typealias Row = (input: String, usual: [PlainEvent], dataOnly: [PlainEvent])

  static let table: [Row] = [
    ("\u{FEFF}data: a\n\n", [], []),
    ("data: a\r\rdata: b\r\r", [], []),
    ("data: a\n\r\n", [], []),
    ("data:\n\n", [], []),
    ("data\n\n", [], []),
    ("data: \n\n", [], []),
    ("data:\ndata: x\n\n", [PlainEvent(data: "x")], [PlainEvent(data: "\ndata: x")]),
    ("data: x\ndata:\n\n", [PlainEvent(data: "x\n")], [PlainEvent(data: "x\ndata:")]),
    ("data: a\ndata: b\n\n", [PlainEvent(data: "a\nb")], [PlainEvent(data: "a\ndata: b")]),
    ("event: e\ndata: a\n\n", [PlainEvent(data: "a", type: "e")], [PlainEvent(data: nil, type: "e\ndata: a")]),
    ("id: 7\ndata: a\n\n", [PlainEvent(data: "a", id: "7")], [PlainEvent(data: nil, id: "7\ndata: a")]),
    (": ping\ndata: a\n\n", [PlainEvent(data: "a")], []),
    ("retry: 10\ndata: a\n\n", [PlainEvent(data: "a")], []),
    ("id: 7\n\n", [PlainEvent(data: nil, id: "7")], [PlainEvent(data: nil, id: "7")]),
    ("event: e\n\n", [PlainEvent(data: nil, type: "e")], [PlainEvent(data: nil, type: "e")]),
    ("id: 1\ndata: a\n\nid\ndata: b\n\n", [PlainEvent(data: "a", id: "1"), PlainEvent(data: "b")], [PlainEvent(data: nil, id: "1\ndata: a")]),
    ("id: a\0b\ndata: x\n\n", [PlainEvent(data: "x", id: "a\0b")], [PlainEvent(data: nil, id: "a\0b\ndata: x")]),
    ("foo\n\n", [PlainEvent(data: nil, other: "foo")], [PlainEvent(data: nil, other: "foo")]),
    ("data: \u{301}x\n\n", [PlainEvent(data: " \u{301}x")], [PlainEvent(data: " \u{301}x")]),
  ]

  @Test(arguments: table.indices, [1, 2, 3, 7, 0])
  func tableOfDeviations_holdsForEveryChunking(_ index: Int, _ size: Int) {
    let row = Self.table[index]
    let body = Array(row.input.utf8)
    let cuts = size == 0 ? [] : Array(stride(from: size, to: max(size, body.count), by: size))
    for fix in [false, true] {
      let usual = parse(body, ParserSettings(.eventsource, hasBufferFix: fix), cuts: cuts)
      let dataOnly = parse(body, ParserSettings(.eventsourceDataOnly, hasBufferFix: fix), cuts: cuts)

      #expect(usual.events == row.usual, "\(row.input.debugDescription) in reads of \(size)")
      #expect(dataOnly.events == row.dataOnly, "\(row.input.debugDescription) in reads of \(size)")
    }
  }

  @Test func mixedSeparators_mergeInOneReadOnly() {
    let body = Array("data: a\r\n\r\ndata: b\n\n".utf8)

    #expect(parse(body, ParserSettings(.eventsource)).events == [PlainEvent(data: "a\nb")])
    #expect(parse(body, ParserSettings(.eventsourceDataOnly)).events == [PlainEvent(data: "a\n\ndata: b")])
    #expect(parse(body, ParserSettings(.eventsource), cuts: [11]).events == [PlainEvent(data: "a"), PlainEvent(data: "b")])
  }

  @Test func unfinishedBlock_isDroppedAtTheEnd() {
    #expect(parse(Array("data: a\n\ndata: b\n".utf8), ParserSettings(.eventsource)).events == [PlainEvent(data: "a")])
  }
}

@Suite struct LibraryRecordTests {
  /// Recorded by running recouse/EventSource 0.1.7 itself, and for `lines` by an independent transcription in Python.
  @Test func recordedResults_areMetWholeAndByteByByte() throws {
    let text = try Data(contentsOf: SSEVector.folder.appending(path: "sse/library-results.jsonl"))
    let inputs = Dictionary(uniqueKeysWithValues: SSEVector.all.map { ($0.id, $0.input) })
    var count = 0
    for line in text.split(separator: 0x0A) {
      let record = try JSONReader.read(line)
      let id = try #require(record["id"]?.asString)
      let mode = try #require(record["parser"]?.asString.flatMap(ParserMode.init(rawValue:)))
      let input = try #require(inputs[id])
      func events(_ key: String) -> [PlainEvent]? {
        record[key]?.asArray?.map { event in
          PlainEvent(
            data: event["data"]?.asString, type: event["event"]?.asString, id: event["id"]?.asString,
            time: event["time"]?.asString, otherNames: event["other"]?.asObject?.keys)
        }
      }
      let whole = try #require(events("events"))

      #expect(parse(input, ParserSettings(mode)).events == whole, "\(id) \(mode)")
      if input.count <= 5000 {
        let byByte = parse(input, ParserSettings(mode), cuts: Array(0..<input.count)).events
        #expect(byByte == events("events_by_byte") ?? whole, "\(id) \(mode), byte by byte")
      }
      count += 1
    }
    #expect(count > 900)
  }
}

@Suite struct LinesModelTests {
  @Test func randomBodies_equalTheTranscription() {
    for index in 0..<10_000 {
      var streams = RandomStreams(seed: 31, index: index)
      let body = streams.body()
      let cuts = streams.cuts(body.count)

      let got = parse(body, ParserSettings(.lines), cuts: cuts).events.map(\.data)
      let wanted = LinesOracle.payloads(body)

      if got != wanted.map({ $0 }) {
        Issue.record("seed 31, index \(index): \(body) cut \(cuts): \(got) instead of \(wanted)")
        return
      }
    }
  }

  static let table: [(input: [UInt8], payloads: [String])] = [
    (Array("data: a\n\ndata: b\n\n".utf8), ["a", "b"]),
    (Array("data: a\rdata: b\r".utf8), ["a", "b"]),
    (Array("data: a\r\ndata: b\r\n\r\n".utf8), ["a", "b"]),
    (Array("data: a\u{0B}data: b\u{0C}data: c\u{85}data: d\u{2028}data: e\u{2029}data: f".utf8), ["a", "b", "c", "d", "e", "f"]),
    // The byte after C2, and those after E2 and E2 80, are not examined.
    (Array("data: a".utf8) + [0xC2, 0x0A] + Array("data: b\n".utf8), ["a\u{FFFD}\ndata: b"]),
    (Array("data: a".utf8) + [0xE2, 0x80, 0x0A] + Array("b\n".utf8), ["a\u{FFFD}\nb"]),
    (Array("data: a".utf8) + [0xE2, 0x0D, 0x0A], ["a\u{FFFD}\r"]),
    // A dangling start of a separator is repaired at the end.
    (Array("data: a".utf8) + [0xC2], ["a\u{FFFD}"]),
    (Array("data: a".utf8) + [0xE2], ["a\u{FFFD}"]),
    (Array("data: a".utf8) + [0xE2, 0x80], ["a\u{FFFD}"]),
    (Array("data:a\ndata\ndata: \nDATA: b\n data: c\n".utf8), [""]),
    (Array("\u{FEFF}data: a\ndata: b".utf8), ["b"]),
    (Array("data: \u{301}a\ndata: b\n".utf8), ["b"]),
    (Array("event: x\nid: 1\n: c\ndata: {\"cho".utf8), ["{\"cho"]),
  ]

  @Test(arguments: table.indices, [1, 2, 3, 0])
  func tableOfTheLineMachine_holds(_ index: Int, _ size: Int) {
    let row = Self.table[index]
    let cuts = size == 0 ? [] : Array(stride(from: size, to: max(size, row.input.count), by: size))

    let outcome = parse(row.input, ParserSettings(.lines), cuts: cuts)

    #expect(outcome.events.map(\.data) == row.payloads.map { Array($0.utf8) })
  }

  @Test func lineEndedByCR_waitsForTheNextByte() {
    var parser = StreamParser(ParserSettings(.lines))
    var list = EventList()

    feed("data: a\r", &parser, &list)
    #expect(list.events.isEmpty)
    feed("d", &parser, &list)
    #expect(list.events == [PlainEvent(data: "a")])
  }
}

@Suite struct NDJSONAndCustomTests {
  @Test(arguments: [[], [1, 2, 3], [7], [8], [9], [20]] as [[Int]])
  func ndjson_splitsAtLineFeedsAlone(_ cuts: [Int]) {
    let body = Array("\u{FEFF}{\"a\":1}\r\n\n{\"b\":\"\u{2028}\"}\n\r\n{\"c\"".utf8)

    let events = parse(body, ParserSettings(.ndjson), cuts: cuts).events

    #expect(events.map(\.data) == ["{\"a\":1}", "{\"b\":\"\u{2028}\"}", "{\"c\""].map { Array($0.utf8) })
  }

  @Test(arguments: Array(0...30))
  func custom_findsCutSeparators(_ cut: Int) {
    let format = CustomFormat(record: "\r\n--", field: "||", fields: ["event", "id", "data"])
    let body = Array("e||1||a||b\r\n--\r\n--x\r\n--||2||\r\n-".utf8)

    let events = parse(body, ParserSettings(.custom, custom: format), cuts: [cut, cut + 1]).events

    #expect(events == [
      PlainEvent(data: "a||b", type: "e", id: "1"), PlainEvent(data: nil, type: "x"),
      PlainEvent(data: "\r\n-", type: "", id: "2"),
    ])
  }

  @Test(arguments: [ParserMode.ndjson, .custom, .lines])
  func randomBodies_doNotDependOnTheCut(_ mode: ParserMode) {
    for index in 0..<3000 {
      var streams = RandomStreams(seed: 41, index: index)
      let body = streams.body()
      let cuts = streams.cuts(body.count)
      let settings = ParserSettings(mode, custom: CustomFormat(record: "\n\n", field: ":", fields: ["event", "data"]))

      let whole = parse(body, settings)
      let cut = parse(body, settings, cuts: cuts)

      if whole != cut {
        Issue.record("seed 41, index \(index), \(mode): \(body) cut \(cuts): \(cut.events) instead of \(whole.events)")
        return
      }
    }
  }

  @Test(arguments: ParserMode.allCases)
  func endlessLine_hitsALimit(_ mode: ParserMode) {
    var parser = StreamParser(ParserSettings(mode, lineLimit: 1 << 12, eventLimit: 1 << 12))
    var list = EventList()
    var failed = false

    for _ in 0..<100 where !failed {
      do { try tryFeed(String(repeating: "data: x", count: 100), &parser, &list) } catch { failed = true }
    }

    #expect(failed)
    #expect(parser.heldBytes <= 1 << 14)
  }
}

extension PlainEvent {
  var asOracle: EventSourceOracle.Event {
    func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
    return EventSourceOracle.Event(
      id: text(id), event: text(type), data: text(data), time: text(time),
      other: other.map { Set($0.split(separator: 0xFF, omittingEmptySubsequences: false).map { Array($0) }) })
  }
}
