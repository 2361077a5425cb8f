import Primitives
import Recording
import Testing

/// The EventSource client and the live monitor on real connections: what goes out, and what a reconnect asks for.
@Suite(.serialized) struct EventSourceStackTests {
  private let soon = #""reconnect": {"policy": "backoff", "base": "20ms", "cap": "20ms", "jitter": 0, "tries": 3, "reset_after": "0s"}"#

  @Test func theFirstRequest_HasTheLibrarysHeaders() throws {
    for fidelity in ["strict", "faithful"] {
      let server = LoopbackServer([.chunked(["data: a\n\n"])])
      defer { server.stop() }
      let run = try StackRun(
        #"{"stack": "eventsource", "fidelity": "\#(fidelity)", "reconnect": {"policy": "none"}}"#, server)

      #expect(run.outcome == "completed")
      #expect(server.header("Accept", ofRequest: 0) == "text/event-stream")
      #expect(server.header("Cache-Control", ofRequest: 0) == "no-store")
      #expect(server.header("Last-Event-ID", ofRequest: 0) == (fidelity == "faithful" ? "" : nil))
    }
  }

  @Test func afterALoss_StrictResumesAndTheLibraryHasClearedItsID() throws {
    for fidelity in ["strict", "faithful"] {
      let server = LoopbackServer([
        .chunked(["id: 41\ndata: a\n\n"], isWhole: false),
        .answer("204 No Content", ["Connection: close"], ""),
      ])
      defer { server.stop() }
      let run = try StackRun(#"{"stack": "eventsource", "fidelity": "\#(fidelity)", \#(soon)}"#, server)

      #expect(run.outcome == "completed")
      #expect(run.records.first?.reconnects == 1)
      #expect(server.header("Last-Event-ID", ofRequest: 1) == (fidelity == "faithful" ? "" : "41"))
    }
  }

  @Test func aHeaderOfTheUsers_Wins() throws {
    let client = #"{"stack": "eventsource", "fidelity": "faithful", "reconnect": {"policy": "none"}}"#
    let mine = LoopbackServer([.chunked(["data: a\n\n"])])
    defer { mine.stop() }
    _ = try StackRun(client, mine, headers: #"{"Last-Event-ID": "7", "Cache-Control": "max-age=0"}"#)

    #expect(mine.header("Last-Event-ID", ofRequest: 0) == "7")
    #expect(mine.header("Cache-Control", ofRequest: 0) == "max-age=0")
  }

  @Test func anErrorStatusWithABody_IsGivenUpForAFourAndTriedAgainForAFive() throws {
    let refused = LoopbackServer([.answer("404 Not Found", ["Connection: close"], "gone")])
    defer { refused.stop() }
    let broken = LoopbackServer([.answer("500 Oops", ["Connection: close"], "broken")])
    defer { broken.stop() }

    let four = try StackRun(#"{"stack": "eventsource", \#(soon)}"#, refused)
    let five = try StackRun(#"{"stack": "eventsource", \#(soon)}"#, broken)

    #expect(four.outcome == "failed http_4xx")
    #expect(refused.requests.count == 1)
    #expect(five.outcome == "failed http_5xx")
    #expect(broken.requests.count == 4)
    #expect(five.errors.contains { $0.contains("broken") })
  }

  /// In the library's own way too: only a refusal without a body is silent to its user.
  @Test func aRefusalWithABody_IsAnErrorToTheLibrarysUser() throws {
    let refused = LoopbackServer([.answer("404 Not Found", ["Connection: close"], "gone")])
    defer { refused.stop() }
    let broken = LoopbackServer([.answer("500 Oops", ["Connection: close"], "broken")])
    defer { broken.stop() }

    let four = try StackRun(#"{"stack": "eventsource", "fidelity": "faithful", \#(soon)}"#, refused)
    let five = try StackRun(#"{"stack": "eventsource", "fidelity": "faithful", \#(soon)}"#, broken)

    #expect(four.outcome == "failed http_4xx" && refused.requests.count == 1)
    #expect(five.outcome == "failed http_5xx" && broken.requests.count == 4)
  }

  @Test func aRefusalWithoutABody_IsNoErrorToTheLibrarysUser() throws {
    for (fidelity, requests) in [("strict", 1), ("faithful", 4)] {
      let server = LoopbackServer([.answer("404 Not Found", ["Content-Length: 0", "Connection: close"], "")])
      defer { server.stop() }

      _ = try StackRun(#"{"stack": "eventsource", "fidelity": "\#(fidelity)", \#(soon)}"#, server)

      #expect(server.requests.count == requests)
    }
  }

  @Test func anyContentType_IsReadInFaithfulAndRefusedInStrict() throws {
    let server = LoopbackServer([.answer("200 OK", ["Content-Type: text/html", "Connection: close"], "data: a\n\n")])
    defer { server.stop() }

    let strict = try StackRun(#"{"stack": "eventsource", "reconnect": {"policy": "none"}}"#, server)
    let faithful = try StackRun(
      #"{"stack": "eventsource", "fidelity": "faithful", "reconnect": {"policy": "none"}}"#, server)

    #expect(strict.outcome == "failed content_type")
    #expect(faithful.outcome == "completed")
    #expect(faithful.tokens == 1)
  }

  @Test func eachConnection_IsANewOne() throws {
    let server = LoopbackServer([.chunked(["data: a\n\n"]), .chunked(["data: b\n\n"])])
    defer { server.stop() }

    let run = try StackRun(
      #"{"stack": "eventsource", "reconnect": {"policy": "none"}}"#, server, sessions: 2)

    #expect(run.records.map(\.outcome) == [.completed, .completed])
    #expect(server.requests.count == 2)
  }

  /// Five seconds in the documentation's sample; the test asks for less.
  @Test func theLiveMonitor_NeverResumesInFaithfulAndResumesInStrict() throws {
    let wait = #""reconnect": {"policy": "backoff", "base": "20ms", "factor": 1, "cap": "20ms", "jitter": 0, "tries": 100}"#
    let verify = #", "verify": {"sequence": "id", "first": 1}, "until": {"data": "end"}"#
    let first = "id: 1\ndata: one\n\nid: 2\ndata: two\n\n"
    // A server that replays from the start where it is told no id.
    let resumed = LoopbackServer([.chunked([first], isWhole: false), .chunked(["id: 3\ndata: end\n\n"])])
    defer { resumed.stop() }
    let replayed = LoopbackServer([.chunked([first], isWhole: false), .chunked([first, "id: 3\ndata: end\n\n"])])
    defer { replayed.stop() }

    let strict = try StackRun(#"{"stack": "live-monitor", \#(wait)}"#, resumed, more: verify)
    let faithful = try StackRun(#"{"stack": "live-monitor", "fidelity": "faithful", \#(wait)}"#, replayed, more: verify)

    #expect(resumed.header("Last-Event-ID", ofRequest: 1) == "2")
    #expect(strict.records.first?.duplicated == 0)
    #expect(strict.outcome == "completed")
    #expect(replayed.header("Last-Event-ID", ofRequest: 1) == "")
    #expect(faithful.records.first?.duplicated == 2)
    #expect(faithful.outcome == "completed")
  }

  @Test func idleAndWholeLimits_AreTheEnginesInStrict() throws {
    let silent = LoopbackServer([.chunked(["data: a\n\n"], more: [.hold])])
    defer { silent.stop() }
    let start = Instant.now()

    let run = try StackRun(
      #"{"stack": "eventsource", "timeouts": {"idle": "300ms"}, "reconnect": {"policy": "none"}}"#, silent)

    #expect(run.outcome == "failed timeout_idle")
    #expect(Instant.now() - start >= .milliseconds(300))
    #expect((run.records.first?.end ?? 0) - (run.records.first?.firstByte ?? 0) >= 300_000_000)
  }

  @Test func anEndlessLine_IsTooLarge() throws {
    let server = LoopbackServer([
      .chunked(["data: "], more: [.flood(Array("3e8\r\n\(String(repeating: "x", count: 1000))\r\n".utf8), times: 1000), .waitForClose])
    ])
    defer { server.stop() }

    let run = try StackRun(
      #"{"stack": "eventsource", "limits": {"line": "64KiB", "event": "64KiB"}, "reconnect": {"policy": "none"}}"#, server)

    #expect(run.outcome == "failed too_large")
  }
}
