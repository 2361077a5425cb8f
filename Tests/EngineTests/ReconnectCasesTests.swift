// What an EventSource of the HTML Standard does, case by case, against a scripted server: after the scripted answers
// comes 204, which ends the session. Delays are held against "not earlier than" alone.

import Engine
import Foundation
import Primitives
import Scenarios
import TestSupport
import Testing

@Suite(.serialized) struct ReconnectCasesTests {
  // MARK: How a stream ends

  @Test func case1_ProperEnd_Reestablishes() throws {
    let seen = try Watched(CaseServer([.stream("data: a\n\n"), .stream("data: b\n\n")]))

    #expect(seen.events == ["a/", "b/"])
    #expect(seen.ids == [nil, nil, nil])
    #expect(seen.opens == 2)
    #expect(seen.waits.map(\.reason) == ["end", "end"])
    #expect(seen.pause(after: 0) >= Watched.time)
    #expect(seen.closed == "http_204")
  }

  @Test(arguments: [CaseAnswer.Ending.close, .reset]) func case2_Cut_Reestablishes(_ ending: CaseAnswer.Ending) throws {
    let seen = try Watched(CaseServer([.cut("data: a\n\n", ending), .stream("data: b\n\n")]))

    // A reset may overtake the data on the receiving side, which the kernel then throws away.
    #expect(seen.events.suffix(1) == ["b/"])
    #expect(ending == .reset || seen.events == ["a/", "b/"])
    #expect(seen.ids == [nil, nil, nil])
    #expect(seen.pause(after: 0) >= Watched.time)
  }

  @Test func case3_CutInsideABlock_LeavesNoTrace() throws {
    let seen = try Watched(
      CaseServer([.cut("id: abc\ndata: Hello\n\nid: def\ndata: Bye\n"), .stream("data: again\n\n")]))

    #expect(seen.events == ["Hello/abc", "again/abc"])
    #expect(seen.ids == [nil, "abc", "abc"])
  }

  @Test func case3_ProperEndInsideABlock_LeavesNoTrace() throws {
    let seen = try Watched(
      CaseServer([.stream("id: abc\ndata: Hello\n\nid: def\ndata: Bye\n"), .stream("data: again\n\n")]))

    #expect(seen.events == ["Hello/abc", "again/abc"])
    #expect(seen.ids == [nil, "abc", "abc"])
  }

  @Test func case5_EndBetweenCRAndLF_DoesNotCrossConnections() throws {
    let whole = try Watched(CaseServer([.stream("data: a\r\n\r"), .stream("\ndata: b\n\n")]))
    let half = try Watched(CaseServer([.cut("data: a\r"), .stream("\ndata: b\n\n")]))

    #expect(whole.events == ["a/", "b/"])
    #expect(half.events == ["b/"])
  }

  @Test func case7_EmptyBody_OpensAndReestablishes() throws {
    let seen = try Watched(CaseServer([.stream(""), .stream("data: x\n\n")]))

    #expect(seen.opens == 2)
    #expect(seen.events == ["x/"])
  }

  @Test func case7_EmptyBodyWithLength_OpensAndReestablishes() throws {
    let seen = try Watched(
      CaseServer([.status("200 OK", ["Content-Type: text/event-stream"]), .stream("data: x\n\n")]))

    #expect(seen.opens == 2)
    #expect(seen.events == ["x/"])
  }

  @Test func case8_RefusedThenThere_IsTriedUntilItIs() throws {
    let seen = try Watched(
      CaseServer([.stream("data: x\n\n")], opensAfter: Nanoseconds(Watched.time.value * 3)))

    #expect(seen.events == ["x/"])
    #expect(seen.waits.first?.reason == "refused")
    #expect(seen.opens == 1)
    let attempts = seen.changes.compactMap { entry -> Nanoseconds? in
      guard case .connecting = entry.change else { return nil }
      return entry.at
    }
    #expect(zip(attempts, attempts.dropFirst()).allSatisfy { $1 - $0 >= Watched.time })
  }

  @Test func case10_ClosedWhileWaiting_NeverConnectsAgain() throws {
    let seen = try Watched(
      CaseServer([.stream("data: a\n\n"), .stream("data: b\n\n")]), retry: .seconds(20), duration: .milliseconds(500))

    #expect(seen.events == ["a/"])
    #expect(seen.requests.count == 1)
    #expect(seen.closed == "duration")
  }

  @Test func case10_ClosedAtAnEvent_TellsNoneThatWasParsedBefore() throws {
    let seen = try Watched(CaseServer([.stream("data: a\n\ndata: b\n\n")]), maxEvents: 1)

    #expect(seen.events == ["a/"])
    #expect(seen.closed == "max_events")
    #expect(seen.requests.count == 1)
  }

  // MARK: Last-Event-ID

  @Test func case11_PlainResume() throws {
    let seen = try Watched(CaseServer([.stream("id: 1\ndata: a\n\n"), .stream("id: 2\ndata: b\n\n")]))

    #expect(seen.events == ["a/1", "b/2"])
    #expect(seen.ids == [nil, "1", "2"])
  }

  @Test func case12_LaterEventsWithoutID_KeepIt() throws {
    let seen = try Watched(CaseServer([.stream("id: 1\ndata: a\n\ndata: b\n\n")]))

    #expect(seen.events == ["a/1", "b/1"])
    #expect(seen.ids == [nil, "1"])
  }

  @Test func case14_ResetAfterItWasSent_SendsNoHeader() throws {
    let seen = try Watched(CaseServer([.stream("id: 1\ndata: a\n\n"), .stream("id:\ndata: b\n\n")]))

    #expect(seen.events == ["a/1", "b/"])
    #expect(seen.ids == [nil, "1", nil])
  }

  @Test func case16_TwoIDsTheLastInvalid_KeepTheFirst() throws {
    let seen = try Watched(CaseServer([.stream("id: 1\nid: x\0y\ndata: a\n\n")]))

    #expect(seen.events == ["a/1"])
    #expect(seen.ids == [nil, "1"])
  }

  @Test func case18_IDIsCarriedOverTheNextConnection() throws {
    let seen = try Watched(
      CaseServer([.stream("id: 1\ndata: a\n\n"), .stream("data: b\n\n"), .stream("data: c\n\n")]))

    #expect(seen.events == ["a/1", "b/1", "c/1"])
    #expect(seen.ids == [nil, "1", "1", "1"])
  }

  @Test func case19_IDIsCarriedOverAFailedConnection() throws {
    let seen = try Watched(
      CaseServer([.stream("id: 1\ndata: a\n\n"), .raw("", .reset), .stream("data: c\n\n")]))

    #expect(seen.events == ["a/1", "c/1"])
    #expect(seen.ids == [nil, "1", "1", "1"])
  }

  @Test func case20_IDGivenByTheApplication() throws {
    let seen = try Watched(CaseServer([.stream("data: a\n\n")]), lastEventID: "42")

    #expect(seen.events == ["a/42"])
    #expect(seen.ids == ["42", "42"])
  }

  @Test func case21_ServerRepeatsTheLastEvent_AllIsDispatched() throws {
    let seen = try Watched(
      CaseServer([
        .stream("id: 1\ndata: a\n\nid: 2\ndata: b\n\n"), .stream("id: 2\ndata: b\n\nid: 3\ndata: c\n\n"),
      ]))

    #expect(seen.events == ["a/1", "b/2", "b/2", "c/3"])
    #expect(seen.ids == [nil, "2", "3"])
  }

  @Test func case22_IDOfAControlEvent_Counts() throws {
    let seen = try Watched(CaseServer([.stream("id: 7\ndata: a\n\nevent: status\nid: 9\ndata: s\n\n")]))

    #expect(seen.events == ["a/7", "status/s/9"])
    #expect(seen.ids == [nil, "9"])
  }

  @Test func blockOfAnIDAlone_Counts() throws {
    let seen = try Watched(CaseServer([.stream("id: 5\n\n")]))

    #expect(seen.events.isEmpty)
    #expect(seen.ids == [nil, "5"])
  }

  @Test func idBeyondASCII_GoesOutAsUTF8() throws {
    let seen = try Watched(CaseServer([.stream("id: …é\ndata: a\n\n")]))

    #expect(seen.events == ["a/…é"])
    #expect(seen.ids == [nil, "…é"])
  }

  // MARK: retry

  @Test func case25_RetryWithAnEvent() throws {
    let seen = try Watched(CaseServer([.stream("retry: 50\ndata: a\n\n")]), retry: .seconds(25))

    #expect(seen.waits.map(\.delay) == [.milliseconds(50)])
    #expect(seen.pause(after: 0) >= .milliseconds(50))
  }

  @Test func case26_RetryWithoutABlankLine_ActsAtItsLine() throws {
    let seen = try Watched(CaseServer([.stream("retry: 50\n")]), retry: .seconds(25))

    #expect(seen.waits.map(\.delay) == [.milliseconds(50)])
    #expect(seen.requests.count == 2)
  }

  @Test func case27_RetryZero_TwentyTimes() throws {
    let seen = try Watched(
      CaseServer(Array(repeating: .stream("retry: 0\ndata: a\n\n"), count: 20)), retry: .seconds(25))

    #expect(seen.events.count == 20)
    #expect(seen.requests.count == 21)
    #expect(seen.waits.allSatisfy { $0.delay == .zero })
  }

  @Test func case29_RetryLasts() throws {
    let seen = try Watched(
      CaseServer([.stream("retry: 50\n\n"), .stream("data: a\n\n")]), retry: .seconds(25))

    #expect(seen.waits.map(\.delay) == [.milliseconds(50), .milliseconds(50)])
    #expect(seen.pause(after: 1) >= .milliseconds(50))
  }

  @Test(arguments: ["retry: 5x", "retry: -1", "retry: 1.5", "retry:", "Retry: 7", "retry: 50 "])
  func retryThatIsNoNumber_IsIgnored(_ line: String) throws {
    let seen = try Watched(CaseServer([.stream(line + "\ndata: a\n\n")]))

    #expect(seen.waits.map(\.delay) == [Watched.time])
  }

  @Test(arguments: ["999999999999999", "18446744073709551617", "9223372036854775807"])
  func hugeRetry_StaysHuge(_ value: String) throws {
    let seen = try Watched(
      CaseServer([.stream("retry: \(value)\ndata: a\n\n")]), duration: .milliseconds(300))

    #expect(seen.requests.count == 1)
    #expect(seen.waits.allSatisfy { $0.delay >= .seconds(86_400 * 365) })
  }

  // MARK: Status and type

  @Test func case31_204First_FailsAtOnce() throws {
    let seen = try Watched(CaseServer([]))

    #expect(seen.requests.count == 1)
    #expect(seen.opens == 0)
    #expect(!seen.hasOpened)
  }

  @Test func case31_204Later_Fails() throws {
    let seen = try Watched(CaseServer([.stream("data: a\n\n")]))

    #expect(seen.requests.count == 2)
    #expect(seen.hasOpened)
  }

  @Test(arguments: ["201 Created", "202 Accepted", "203 Non", "205 Reset", "206 Partial", "210 X", "299 X"])
  func case32_Other2xx_Fails(_ line: String) throws {
    let seen = try Watched(
      CaseServer([.status(line, ["Content-Type: text/event-stream"], body: "data: x\n\n"), .stream("data: y\n\n")]))

    #expect(seen.events.isEmpty)
    #expect(seen.requests.count == 1)
    #expect(seen.closed == "protocol")
  }

  @Test func case33_FailureAfterSuccess_IsForGood() throws {
    let seen = try Watched(
      CaseServer([.stream("id: 1\ndata: a\n\n"), .status("503 Gone"), .stream("data: b\n\n")]))

    #expect(seen.events == ["a/1"])
    #expect(seen.requests.count == 2)
    #expect(seen.closed == "http_5xx")
  }

  @Test(arguments: ["Content-Type: application/json", "Content-Type: text/plain", "X-None: 1"])
  func case35_OtherType_FailsUnparsed(_ header: String) throws {
    let seen = try Watched(CaseServer([.status("200 OK", [header], body: "data: x\n\n"), .stream("data: y\n\n")]))

    #expect(seen.events.isEmpty)
    #expect(seen.opens == 0)
    #expect(seen.requests.count == 1)
    #expect(seen.closed == "content_type")
  }

  @Test(arguments: [
    "text/event-stream;charset=utf-8", "TEXT/EVENT-STREAM", "text/event-stream;", "text/event-stream; charset=windows-1252",
    "text/plain, text/event-stream",
  ])
  func case36_TypesThatAreAccepted(_ type: String) throws {
    let seen = try Watched(CaseServer([.stream("data: ok…\n\n", type: type)]))

    #expect(seen.events == ["ok…/"])
  }

  @Test(arguments: ["text/event-streamx", "text /event-stream", "text/event-stream, text/plain", "xtext/event-stream"])
  func case36_TypesThatAreRefused(_ type: String) throws {
    let seen = try Watched(CaseServer([.stream("data: x\n\n", type: type)]))

    #expect(seen.events.isEmpty)
    #expect(seen.closed == "content_type")
  }

  // MARK: Redirects, coding, method

  @Test(arguments: ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
  func redirect_IsFollowedAndRemembered(_ line: String) throws {
    let seen = try Watched(
      CaseServer([
        .status(line, ["Location: /there"]), .stream("id: 1\ndata: a\n\n"), .stream("data: b\n\n"),
      ]))

    #expect(seen.events == ["a/1", "b/1"])
    // The standard's request keeps the URL of the last redirect.
    #expect(seen.requests.map(\.target) == ["/", "/there", "/there", "/there"])
    #expect(seen.ids == [nil, nil, "1", "1"])
  }

  @Test func redirectLoop_Fails() throws {
    let seen = try Watched(CaseServer(Array(repeating: .status("302 Found", ["Location: /"]), count: 40)))

    #expect(seen.closed == "redirect_loop")
    #expect(seen.requests.count == 21)
  }

  @Test func case38_GzipFlushedPerEvent_ComesInTime() throws {
    let parts = ["H4sIAAAAAAACA0pJLEm0Ukjk4gIAAAD//w==", "SgEzkri4AAAAAP//", "AwC6WcffEgAAAA=="].map { Array(Data(base64Encoded: $0) ?? Data()) }
    let seen = try Watched(
      CaseServer([.stream(parts, headers: ["Content-Encoding: gzip"], gap: .milliseconds(100))]))

    #expect(seen.events == ["a/", "b/"])
    #expect(seen.eventTimes[1] - seen.eventTimes[0] >= .milliseconds(50))
  }

  @Test func case38_GzipFlushedAtTheEnd_ComesAtOnce() throws {
    let whole = Array(Data(base64Encoded: "H4sIAAAAAAACA0tJLEm0Ukjk4koBM5K4uAC6WcffEgAAAA==") ?? Data())
    let seen = try Watched(CaseServer([.stream([whole], headers: ["Content-Encoding: gzip"])]))

    #expect(seen.events == ["a/", "b/"])
  }

  @Test func case38_GzipCutInTheMiddle_DispatchesWhatWasDecoded() throws {
    let first = Array(Data(base64Encoded: "H4sIAAAAAAACA0pJLEm0Ukjk4gIAAAD//w==") ?? Data())
    let seen = try Watched(
      CaseServer([.stream([first], headers: ["Content-Encoding: gzip"], ends: false), .stream("data: c\n\n")]))

    #expect(seen.events == ["a/", "c/"])
  }

  @Test func case39_PostThatIsFinished_IsNotRepeated() throws {
    let seen = try Watched(
      CaseServer([.stream("data: {\"t\":\"a\"}\n\ndata: [DONE]\n\n"), .stream("data: b\n\n")]), body: "{\"q\":1}")

    #expect(seen.requests.count == 1)
    #expect(seen.requests.first?.body == "{\"q\":1}")
    #expect(seen.closed == "end_marker")
  }

  @Test func case39_PostThatReconnects_SendsItsBodyAgain() throws {
    let seen = try Watched(CaseServer([.cut("data: a\n\n"), .stream("data: b\n\n")]), body: "{\"q\":1}")

    #expect(seen.requests.map(\.body) == Array(repeating: "{\"q\":1}", count: 3))
    #expect(seen.requests.allSatisfy { $0.line.hasPrefix("POST ") })
  }

  @Test func case39_WithoutAPolicy_AnEndIsTheEnd() throws {
    let whole = try Watched(CaseServer([.stream("data: a\n\n")]), policy: .none, body: "{}")
    let cut = try Watched(CaseServer([.cut("data: a\n\n")]), policy: .none, body: "{}")

    #expect(whole.closed == "end")
    #expect(cut.closed == "truncated")
    #expect(whole.requests.count == 1 && cut.requests.count == 1)
  }

  @Test func case40_EverythingStartsAnewButTheID() throws {
    let seen = try Watched(
      CaseServer([
        .cut("\u{FEFF}event: t\nid: 1\ndata: a\n\nevent: stale\ndata: half\n"), .stream("\u{FEFF}data: b\n\n"),
      ]))

    #expect(seen.events == ["t/a/1", "b/1"])
    #expect(seen.ids == [nil, "1", "1"])
  }

  // MARK: Backoff

  @Test func backoff_RetriesWhatMayPass_AndHonoursRetryAfter() throws {
    let seen = try Watched(
      CaseServer([
        .status("503 Busy", ["Retry-After: 1"]), .status("429 Slow"), .status("408 Late"), .stream("data: a\n\n"),
      ]),
      policy: .backoff, retry: .milliseconds(20))

    #expect(seen.events == ["a/"])
    #expect(seen.requests.count == 5)
    #expect(seen.pause(after: 0) >= .seconds(1))
    #expect(seen.waits.map(\.reason) == ["http_5xx", "http_429", "http_4xx", "end"])
  }

  @Test(arguments: ["400 Bad", "401 No", "404 None", "302 Found"]) func backoff_GivesUpWhatWillNotPass(_ line: String) throws {
    let seen = try Watched(CaseServer([.status(line), .stream("data: a\n\n")]), policy: .backoff)

    #expect(seen.requests.count == 1)
    #expect(seen.events.isEmpty)
  }
}
