// Each fault as a client sees it, and the mock's own counts of what it did against a ledger that knows only numbers
// and checksums.

import Foundation
import MockServing
import Primitives
import Scenarios
import Testing

@Suite struct FaultTests {
  static func fault(_ kind: FaultKind, at: Fault.Point? = nil, _ change: (inout Fault) -> Void = { _ in })
    -> Fault
  {
    var fault = Fault(kind: kind)
    fault.at = at
    change(&fault)
    return fault
  }

  static func mock(_ faults: Fault..., tokens: Int = 10, seed: UInt64 = 42) throws -> RunningMock {
    try RunningMock(seed: seed) {
      $0.tokens = .constant(Double(tokens))
      $0.faults = faults
    }
  }

  // MARK: drops

  @Test(arguments: [FaultKind.fin, .halfClose, .noLastChunk, .rst])
  func drop_EndsTheBodyBeforeItsEvent_AndTheResumeHasTheRest(kind: FaultKind) throws {
    let mock = try Self.mock(Self.fault(kind, at: .event(4)))

    let log = try mock.session(1)

    #expect(log.answers.map(\.status) == [200, 200, 204])
    #expect(log.answers[0].events.compactMap(\.number) == [1, 2, 3])
    #expect(log.answers[0].end == (kind == .rst ? .reset : .closed))
    #expect(log.numbers == Array(1...10))
    #expect(try mock.stats()["faults"] == .object([kind.rawValue: .integer(1)]))
  }

  @Test(arguments: Fault.Inside.allCases)
  func cut_LeavesTheEventUnfinished(inside: Fault.Inside) throws {
    let mock = try Self.mock(Self.fault(.cut, at: .event(4)) { $0.inside = inside })

    let log = try mock.session(1)

    let first = log.answers[0]
    #expect(first.end == .closed)
    #expect(first.events.compactMap(\.number) == [1, 2, 3])
    #expect(log.numbers == Array(1...10))
    switch inside {
    case .scalar: #expect(first.body.last == 0xC3)
    case .crlf: #expect(first.body.last == 0x0D)
    case .field: #expect(first.text.hasSuffix("\n\nid: 4\n"))
    case .blankLine: #expect(first.text.hasSuffix("}\n"))
    case .chunkHeader: #expect(first.text.hasSuffix("\n\n"))
    }
  }

  @Test func byte_IsWhereTheBodyEnds() throws {
    let mock = try Self.mock(Self.fault(.fin, at: .byte(300)))

    let log = try mock.session(1)

    #expect(log.answers[0].body.count == 300)
    #expect(log.numbers == Array(1...10))
  }

  @Test func timesTwoAtOneEvent_DropsAgainBeforeAnyNewEvent() throws {
    let mock = try Self.mock(Self.fault(.fin, at: .event(4)) { $0.times = 2 })

    let log = try mock.session(1)

    #expect(log.answers.map { $0.events.count } == [3, 0, 7, 0])
    #expect(log.numbers == Array(1...10))
  }

  @Test func withoutAPlace_EachEventIsAChance() throws {
    let mock = try Self.mock(
      Self.fault(.fin) {
        $0.probability = 0.2
        $0.times = nil
      }, tokens: 200)

    let log = try mock.session(1, limit: 200)

    #expect(log.numbers == Array(1...200))
    #expect((10...90).contains(log.answers.count), "\(log.answers.count)")
  }

  @Test func connectionAndSessions_ChooseWhereItHappens() throws {
    let mock = try Self.mock(
      Self.fault(.fin, at: .event(3)),
      Self.fault(.fin, at: .event(6)) {
        $0.connection = 2
        $0.sessions = .list([2])
      })

    #expect(try mock.session(1).answers.count == 3)
    #expect(try mock.session(2).answers.count == 4)
  }

  @Test func shareOfSessions_IsAboutThatShare_AndTheSameForTheSameSeed() throws {
    func hit(_ seed: UInt64) throws -> [Int] {
      let mock = try Self.mock(
        Self.fault(.fin, at: .event(1)) { $0.sessions = .share(0.3) }, tokens: 1, seed: seed)
      return try (0..<100).filter { try mock.session($0).answers.count == 3 }
    }

    let one = try hit(1)

    #expect((15...45).contains(one.count), "\(one.count)")
    #expect(try hit(1) == one)
    #expect(try hit(2) != one)
  }

  @Test(arguments: [(5, 7), (-5, 7), (40, nil)] as [(Int, Int?)])
  func length_IsWrongByThatMuch(by: Int, event: Int?) throws {
    let mock = try Self.mock(Self.fault(.length, at: event.map { .event($0) }) { $0.by = by })

    let log = try mock.session(1)

    let first = log.answers[0]
    #expect(first.headers["transfer-encoding"] == nil)
    #expect(first.end == (by > 0 ? .closed : .proper))
    #expect(log.numbers == Array(1...10))
    if by > 0 { #expect(first.headers["content-length"] == "\(first.body.count + by)") }
  }

  @Test func chatStream_IsCutToo_AndTheNextRequestBeginsAnew() throws {
    let mock = try Self.mock(Self.fault(.fin, at: .event(4)))

    let first = try mock.exchange(RunningMock.chat(session: 1))
    let second = try mock.exchange(RunningMock.chat(session: 1))

    #expect(first.end == .closed)
    #expect(first.events.compactMap(\.number) == [1, 2, 3])
    #expect(second.events.last?.data == "[DONE]")
    #expect(second.events.compactMap(\.number) == Array(1...11))
  }

  // MARK: waiting

  /// Asserts "not earlier than" on the real clock.
  @Test func stall_HoldsTheStreamAndThenCatchesUp() throws {
    let mock = try Self.mock(Self.fault(.stall, at: .event(4)) { $0.length = .milliseconds(30) })
    let begin = Instant.now()

    let answer = try mock.exchange(RunningMock.get("/events?session=1"))

    #expect(answer.events.compactMap(\.number) == Array(1...10))
    #expect(Instant.now() - begin >= .milliseconds(30))
  }

  @Test func stallWithComments_SendsCommentsMeanwhile() throws {
    let mock = try Self.mock(
      Self.fault(.stall, at: .event(4)) {
        $0.length = .milliseconds(250)
        $0.comments = true
      })

    let answer = try mock.exchange(RunningMock.get("/events?session=1"))

    #expect(answer.text.components(separatedBy: ": keep-alive\n\n").count >= 3)
    #expect(answer.events.compactMap(\.number) == Array(1...10))
  }

  @Test func stallInTheMiddleOfAnEvent_GoesOnWithItsRest() throws {
    let mock = try Self.mock(Self.fault(.stall, at: .byte(250)) { $0.length = .milliseconds(5) })

    #expect(
      try mock.exchange(RunningMock.get("/events?session=1")).events.compactMap(\.number) == Array(1...10))
  }

  @Test func drip_SendsAnEventInSmallPieces() throws {
    let mock = try Self.mock(
      Self.fault(.drip, at: .event(2)) {
        $0.bytes = 10
        $0.every = .milliseconds(1)
      })

    let answer = try mock.exchange(RunningMock.get("/events?session=1"))

    #expect(answer.events.compactMap(\.number) == Array(1...10))
    #expect(try #require(try mock.stats()["writes"]?.asInt) >= 10)
  }

  @Test func timeOfTheResponse_IsAPlace() throws {
    let mock = try Self.mock(Self.fault(.fin, at: .time(.milliseconds(20))))

    let log = try mock.session(1, "&interval=8ms")

    #expect(log.answers[0].end == .closed)
    #expect(log.numbers == Array(1...10))
  }

  // MARK: answers

  @Test func status_HasItsCodeRetryAfterAndBody() throws {
    let mock = try Self.mock(
      Self.fault(.status) {
        $0.code = 429
        $0.retryAfter = "7"
        $0.body = "slow down"
      })

    let first = try mock.exchange(RunningMock.chat(session: 1))
    let second = try mock.exchange(RunningMock.chat(session: 1))

    #expect(first.status == 429)
    #expect(first.headers["retry-after"] == "7")
    #expect(first.text == "slow down")
    #expect(second.status == 200)
  }

  @Test func redirectLoop_PointsAtItself() throws {
    let mock = try Self.mock(Self.fault(.redirect) { $0.times = nil })

    let answer = try mock.exchange(RunningMock.get("/events?session=1&events=3"))

    #expect(answer.status == 307)
    #expect(answer.headers["location"] == "/events?session=1&events=3")
  }

  @Test func htmlAndJSONError_Are200OfAnotherType() throws {
    let html = try Self.mock(Self.fault(.html)).exchange(RunningMock.get("/events?session=1"))
    let json = try Self.mock(Self.fault(.jsonError)).exchange(RunningMock.chat())

    #expect(html.status == 200 && html.headers["content-type"] == "text/html")
    #expect(json.status == 200 && json.headers["content-type"] == "application/json")
    #expect(try JSONReader.read(json.body)["error"]?["message"] != nil)
  }

  @Test func errorObject_StandsInTheStream_WithoutTheEndMarker() throws {
    let mock = try Self.mock(Self.fault(.errorObject, at: .event(3)))

    let events = try mock.exchange(RunningMock.chat()).events

    #expect(events.count == 3)
    #expect(events[2].json?["error"]?["message"] != nil)
  }

  // MARK: damage

  @Test func damage_IsCountedAsALedgerSeesIt() throws {
    let cases: [(Fault, lost: Int, duplicated: Int, reordered: Int, corrupted: Int)] = [
      (Self.fault(.skip, at: .event(5)) { $0.count = 7 }, 7, 0, 0, 0),
      (Self.fault(.replay, at: .event(12)) { $0.count = 4 }, 0, 4, 0, 0),
      (Self.fault(.swap, at: .event(5)) { $0.times = 3 }, 0, 0, 3, 0),
      (Self.fault(.corrupt, at: .event(5)) { $0.times = 6 }, 0, 0, 0, 6),
      (Self.fault(.foreign, at: .event(5)) { $0.times = 2 }, 0, 2, 0, 0),
    ]
    for (fault, lost, duplicated, reordered, corrupted) in cases {
      let mock = try Self.mock(fault, tokens: 40)

      let counts = try mock.session(1).counts(expected: 40)

      #expect(counts == (lost, duplicated, reordered, corrupted), "\(fault.kind)")
      let stats = try mock.stats()
      #expect(stats["lost_injected"]?.asInt == lost, "\(fault.kind)")
      #expect(stats["duplicated_injected"]?.asInt == duplicated, "\(fault.kind)")
      #expect(stats["swapped_injected"]?.asInt == reordered, "\(fault.kind)")
      #expect(stats["corrupted_injected"]?.asInt == corrupted, "\(fault.kind)")
    }
  }

  @Test func damageInAChatStream_SparesItsStructure() throws {
    for kind in [FaultKind.skip, .swap, .corrupt, .foreign, .replay] {
      let mock = try Self.mock(Self.fault(kind, at: .event(3)) { $0.count = 100 })

      let events = try mock.exchange(RunningMock.chat()).events

      #expect(events.last?.data == "[DONE]", "\(kind)")
      #expect(events.dropLast().last?.json?["choices"]?[0]?["finish_reason"]?.asString == "stop", "\(kind)")
    }
  }

  @Test func skippedEvents_StayLostAfterADrop() throws {
    let mock = try Self.mock(
      Self.fault(.skip, at: .event(4)) { $0.count = 3 }, Self.fault(.fin, at: .event(4)), tokens: 20)

    let log = try mock.session(1)

    #expect(log.numbers == [1, 2, 3] + Array(7...20))
    #expect(try mock.stats()["lost_injected"]?.asInt == 3)
  }

  @Test func idReset_MakesTheNextResumeBeginAnew() throws {
    let mock = try Self.mock(Self.fault(.idReset, at: .event(5)), Self.fault(.fin, at: .event(6)))

    let log = try mock.session(1)

    #expect(log.answers[1].events.compactMap(\.number) == Array(1...10))
    #expect(try mock.stats()["duplicated_injected"]?.asInt == 5)
    #expect(log.counts(expected: 10).duplicated == 5)
  }

  @Test(arguments: ["5", "99999999999999999999", "0", "soon"])
  func retry_IsSentAsItIs(value: String) throws {
    let mock = try Self.mock(Self.fault(.retry, at: .event(2)) { $0.value = value })

    let events = try mock.exchange(RunningMock.get("/events?session=1")).events

    #expect(events[1] == Answer.Event(retry: value))
    #expect(events.compactMap(\.number) == Array(1...10))
  }

  @Test func shortBuffer_LosesWhatItNoLongerHas() throws {
    let mock = try Self.mock(
      Self.fault(.fin, at: .event(3)),
      Self.fault(.shortBuffer) {
        $0.keep = 4
        $0.connection = 2
      })

    let log = try mock.session(1)

    // All ten were due when the client came back with id 2: the last four were left.
    #expect(log.numbers == [1, 2, 7, 8, 9, 10])
    #expect(try mock.stats()["lost_injected"]?.asInt == 4)
  }

  // MARK: the whole server

  @Test func restart_DropsAllConnections_AndComesBackOnItsPort() throws {
    let mock = try Self.mock(Self.fault(.restart, at: .event(5)) { $0.length = .milliseconds(10) })

    let log = try mock.session(1)

    #expect(log.numbers == Array(1...10))
    #expect(try mock.stats()["faults"] == .object(["restart": .integer(1)]))
  }

  @Test func down_NeverComesBack() throws {
    let mock = try Self.mock(Self.fault(.down, at: .event(5)))

    _ = try? mock.exchange(RunningMock.get("/events?session=1"))

    #expect(throws: RawConnection.Refused.self) { try mock.connect() }
    #expect(try mock.stats()["active"]?.asInt == 0)
  }

  /// Asserts "not earlier than" on the real clock.
  @Test func slowStart_AcceptsAtItsRate() throws {
    let mock = try Self.mock(Self.fault(.slowStart) { $0.perSecond = 200 })
    let begin = Instant.now()

    for _ in 0..<10 { #expect(try mock.exchange(RunningMock.get("/health")).status == 200) }

    #expect(Instant.now() - begin >= .milliseconds(35))
  }

  // MARK: random scripts

  @Test(arguments: 1...100 as ClosedRange<UInt64>)
  func randomFaults_AreWhatALedgerCounts(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let tokens = 60
    let faults = (0..<Int.random(in: 1...8, using: &random)).map { _ in Self.randomFault(&random, tokens) }
    let mock = try RunningMock(seed: seed) {
      $0.tokens = .constant(Double(tokens))
      $0.faults = faults
    }
    var sum = (lost: 0, duplicated: 0, reordered: 0, corrupted: 0)

    for session in 0..<6 {
      let counts = try mock.session(session, limit: 200).counts(expected: tokens)
      sum = (
        sum.lost + counts.lost, sum.duplicated + counts.duplicated, sum.reordered + counts.reordered,
        sum.corrupted + counts.corrupted
      )
    }

    let stats = try mock.stats()
    let said = (
      stats["lost_injected"]?.asInt ?? -1, stats["duplicated_injected"]?.asInt ?? -1,
      stats["swapped_injected"]?.asInt ?? -1, stats["corrupted_injected"]?.asInt ?? -1
    )
    #expect(sum == said, "seed \(seed): \(faults)")
  }

  /// A fault whose effect a client can count. Damage keeps away from the byte faults, which may take it back.
  private static func randomFault(_ random: inout SeededRandom, _ tokens: Int) -> Fault {
    let drops: [FaultKind] = [.fin, .halfClose, .noLastChunk, .cut, .length]
    let damage: [FaultKind] = [.skip, .replay, .swap, .corrupt, .foreign]
    let isDrop = random.uniform() < 0.5
    var fault = fault(
      (isDrop ? drops : damage).randomElement(using: &random)!,
      at: .event(Int.random(in: 2...tokens, using: &random)))
    fault.inside = Fault.Inside.allCases.randomElement(using: &random)!
    fault.by = [3, -3].randomElement(using: &random)!
    fault.count = Int.random(in: 1...10, using: &random)
    fault.times = Int.random(in: 1...3, using: &random)
    if random.uniform() < 0.5 { fault.probability = 0.6 }
    if random.uniform() < 0.3 { fault.sessions = .share(0.5) }
    return fault
  }
}
