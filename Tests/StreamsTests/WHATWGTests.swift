// The modes `whatwg` and `data-only`: the vectors at every split and on every instruction path, random bodies against the oracle, limits.

import Primitives
import Streams
import Testing

@Suite struct WHATWGTests {
  @Test(arguments: SSEVector.all)
  func vector_holdsAtEverySplit(_ vector: SSEVector) {
    let settings = ParserSettings(.whatwg)
    let input = vector.input
    func check(_ cuts: [Int], _ comment: String) {
      let outcome = parse(input, settings, cuts: cuts)
      if !vector.isMet(by: outcome) {
        Issue.record("\(vector.id) cut \(comment): \(outcome.events.prefix(5)), id \(outcome.lastEventID)")
      }
    }

    check([], "nowhere")
    if input.count <= 1 << 16 {
      check(Array(0..<input.count), "everywhere")
      for cut in 0...input.count { check([cut], "at \(cut)") }
    }
    var random = SeededRandom(seed: 3, purpose: "whatwg cuts")
    for round in 0..<(input.count > 1 << 16 ? 1000 : 50) {
      let cuts = (0..<(1 + Int(random.next() % 8))).map { _ in Int(random.next() % UInt64(input.count + 1)) }.sorted()
      check(cuts, "\(cuts) (round \(round))")
    }
  }

  /// Every path gives the same, so another test that runs meanwhile is not disturbed by the change.
  @Test(arguments: LineScan.allCases.filter(\.isSupported))
  func instructionPath_passesEveryVector(_ path: LineScan) {
    let usual = LineScan.current
    path.use()
    defer { usual.use() }
    for vector in SSEVector.all {
      var random = SeededRandom(seed: 5, purpose: "path cuts")
      let cuts = (0..<6).map { _ in Int(random.next() % UInt64(vector.input.count + 1)) }.sorted()
      #expect(vector.isMet(by: parse(vector.input, ParserSettings(.whatwg))), "\(vector.id) on \(path)")
      #expect(vector.isMet(by: parse(vector.input, ParserSettings(.whatwg), cuts: cuts)), "\(vector.id) on \(path) cut \(cuts)")
      if vector.input.count <= 4096 {
        #expect(vector.isMet(by: parse(vector.input, ParserSettings(.whatwg), cuts: Array(0..<vector.input.count))), "\(vector.id)")
      }
    }
  }

  @Test(arguments: LineScan.allCases.filter(\.isSupported))
  func randomBodies_equalTheStandard(_ path: LineScan) {
    let usual = LineScan.current
    path.use()
    defer { usual.use() }
    for index in 0..<11_000 {
      var streams = RandomStreams(seed: 11, index: index)
      let isLong = index >= 10_000
      let body = isLong ? streams.longBody() : streams.body()
      let cuts = isLong ? streams.longCuts(body.count) : streams.cuts(body.count)

      let outcome = parse(body, ParserSettings(.whatwg), cuts: cuts)
      let oracle = StandardOracle(body)

      let got = outcome.events.map(\.repaired)
      let wanted = oracle.events.map { event in
        var plain = PlainEvent(data: nil)
        (plain.data, plain.type, plain.id) = (event.data, event.type, event.lastEventID)
        return plain
      }
      let isRight =
        got == wanted && outcome.retry == oracle.retry
        && String(decoding: outcome.lastEventID, as: UTF8.self).utf8.elementsEqual(oracle.lastEventID.utf8)
      if !isRight {
        Issue.record("seed 11, index \(index), \(path): \(body.prefix(1000)) cut \(cuts): \(got.count) events, not \(wanted.count)")
        return
      }
    }
  }

  /// Long lines are taken by a way of their own; a limit must hold there at the same byte.
  @Test(arguments: LineScan.allCases.filter(\.isSupported))
  func limitInALongLine_isTheSameForAnyCut(_ path: LineScan) {
    let usual = LineScan.current
    path.use()
    defer { usual.use() }
    for index in 0..<500 {
      var streams = RandomStreams(seed: 13, index: index)
      let body = streams.longBody()
      let settings = ParserSettings(.whatwg, lineLimit: 1 + streams.next(below: 7000), eventLimit: 1 + streams.next(below: 9000))

      let whole = parse(body, settings, cuts: [])
      let cuts = streams.longCuts(body.count)
      let inPieces = parse(body, settings, cuts: cuts)

      let isSame = whole.events == inPieces.events && whole.error == inPieces.error && whole.lastEventID == inPieces.lastEventID
      if !isSame { Issue.record("seed 13, index \(index), \(path), cut \(cuts): \(inPieces.error as Any), not \(whole.error as Any)") }
    }
  }

  @Test func dataOnly_isTheStandardWithoutTypeIDAndRetry() {
    for vector in SSEVector.all {
      let outcome = parse(vector.input, ParserSettings(.dataOnly), cuts: [vector.input.count / 3, vector.input.count / 2])

      let wanted = vector.expected.map { PlainEvent(data: $0.data, type: "message", id: "") }
      #expect(outcome.events.map(\.repaired) == wanted, "\(vector.id)")
      #expect(outcome.retry == nil && outcome.lastEventID.isEmpty)
    }
  }

  @Test func reset_keepsTheLastIDAndDropsWhatIsUnfinished() {
    var parser = StreamParser(ParserSettings(.whatwg))
    var list = EventList()
    feed("id: abc\ndata: Hello\n\nid: def\ndata: Bye\n", &parser, &list)

    parser.reset(keepingLastEventID: true)
    feed("\u{FEFF}data: again\n\n", &parser, &list)

    #expect(list.events == [
      PlainEvent(data: "Hello", type: "message", id: "abc"), PlainEvent(data: "again", type: "message", id: "abc"),
    ])
    #expect(Array(parser.lastEventID) == Array("abc".utf8))
    #expect(parser.bytes == 16)
    #expect(parser.events == 1)
  }

  @Test func seededID_standsInEventsUntilTheStreamChangesIt() {
    var parser = StreamParser(ParserSettings(.whatwg))
    var list = EventList()
    Array("42".utf8).withUnsafeBytes { parser.setLastEventID($0) }

    feed("data: a\n\nid\ndata: b\n\n", &parser, &list)

    #expect(list.events.map(\.id) == [Array("42".utf8), []])
  }

  @Test func emptyRead_changesNothing() {
    var parser = StreamParser(ParserSettings(.whatwg))
    var list = EventList()
    for piece in ["", "\u{FEFF}", "", "data: a\r", "", "\n", "", "\r", "", "\n"] { feed(piece, &parser, &list) }

    #expect(list.events == [PlainEvent(data: "a", type: "message", id: "")])
  }

  @Test func carriageReturns_dispatchAtOnce() {
    #expect(parse(Array("data: a\r\r".utf8), ParserSettings(.whatwg)).events.count == 1)
  }

  @Test(arguments: [[], [1], [3, 9], [10], [11]] as [[Int]])
  func lineOverItsLimit_isAnErrorAtTheSameByteForAnyCut(_ cuts: [Int]) {
    let settings = ParserSettings(.whatwg, lineLimit: 10)

    let whole = parse(Array("data: abcde\n\n".utf8), settings, cuts: cuts)
    let endless = parse(Array("data: abcdefgh".utf8), settings, cuts: cuts)
    let fits = parse(Array("data: abcd\n\n".utf8), settings, cuts: cuts)

    #expect(whole.error == .lineTooLong(limit: 10, atByte: 10))
    #expect(endless.error == .lineTooLong(limit: 10, atByte: 10))
    #expect(fits.error == nil && fits.events.count == 1)
  }

  @Test(arguments: [[], [5], [13, 14], [20]] as [[Int]])
  func eventOverItsLimit_isAnErrorAtItsLine(_ cuts: [Int]) {
    let settings = ParserSettings(.whatwg, eventLimit: 10)

    let joined = parse(Array("data: abcdef\ndata: ghijkl\n\n".utf8), settings, cuts: cuts)
    let single = parse(Array("data: abcdefghijk\n\n".utf8), settings, cuts: cuts)
    let fits = parse(Array("data: abcd\ndata: efghi\n\n".utf8), settings, cuts: cuts)

    #expect(joined.error == .eventTooLarge(limit: 10, atByte: 13))
    #expect(single.error == .eventTooLarge(limit: 10, atByte: 0))
    #expect(fits.events.map(\.data) == [Array("abcd\nefghi".utf8)])
  }

  /// Found by the fuzz target `limits`.
  @Test(arguments: [[], [16], [20], [30]] as [[Int]])
  func errorInARead_keepsTheIDOfTheEventsBeforeIt(_ cuts: [Int]) {
    let outcome = parse(Array("id: 2\ndata: a\n\n: this is too long\n".utf8), ParserSettings(.whatwg, lineLimit: 10), cuts: cuts)

    #expect(outcome.error == .lineTooLong(limit: 10, atByte: 25))
    #expect(outcome.lastEventID == Array("2".utf8))
  }

  @Test func afterAnError_nothingIsTaken() {
    var parser = StreamParser(ParserSettings(.whatwg, lineLimit: 4))
    var list = EventList()
    #expect(throws: StreamError.lineTooLong(limit: 4, atByte: 4)) { try tryFeed("data: a", &parser, &list) }

    #expect(throws: StreamError.alreadyFailed) { try tryFeed("\n\n", &parser, &list) }
    parser.reset(keepingLastEventID: true)
    feed("id\n\n", &parser, &list)

    #expect(list.events.isEmpty)
  }

  @Test(arguments: [
    "data: ", ": comment without end ", "foo: bar\n", "data: x\n", "event: y\n", "id: z\n", ": c\n", "\r", "retry: 1\n",
  ])
  func hostileStream_isBoundedInMemory(_ piece: String) {
    var parser = StreamParser(ParserSettings(.whatwg, lineLimit: 1 << 16, eventLimit: 1 << 16))
    var list = EventList()
    let read = Array(repeating: piece, count: 1000).joined()

    for _ in 0..<200 {
      do { try tryFeed(read, &parser, &list) } catch { break }
      #expect(parser.heldBytes <= 4 << 16)
    }
  }

  @Test func idleSession_holdsNothing() {
    var parser = StreamParser(ParserSettings(.whatwg))
    var list = EventList()
    for cut in ["data: ab", "c\nda", "ta: d\n", "\n"] { feed(cut, &parser, &list) }

    #expect(list.events.map(\.data) == [Array("abc\nd".utf8)])
    #expect(parser.heldBytes == 0)
    #expect(MemoryLayout<StreamParser>.size <= 160)
  }
}

func feed(_ text: String, _ parser: inout StreamParser, _ list: inout EventList) {
  do { try tryFeed(text, &parser, &list) } catch { Issue.record("\(error)") }
}

func tryFeed(_ text: String, _ parser: inout StreamParser, _ list: inout EventList) throws(StreamError) {
  let bytes = Array(text.utf8)
  let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
  defer { copy.deallocate() }
  copy.copyBytes(from: bytes)
  try parser.feed(UnsafeRawBufferPointer(copy), into: &list)
}
