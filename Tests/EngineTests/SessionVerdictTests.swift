import Engine
import Primitives
import Recording
import Scenarios
import Testing
import Transports

/// What follows from the end of a connection, row by row.
@Suite struct SessionVerdictTests {
  // MARK: Given

  private func settings(
    _ api: API = .openAIChat, _ policy: Reconnect.Policy = .none, until: Until? = nil,
    _ change: (inout Reconnect) -> Void = { _ in }
  ) throws -> SessionSettings {
    var scenario = Scenario()
    scenario.endpoint.mock = nil
    scenario.endpoint.url = "http://127.0.0.1:9/"
    scenario.endpoint.api = api
    scenario.client.reconnect.policy = policy
    scenario.until = until
    change(&scenario.client.reconnect)
    return try SessionSettings(scenario, mockURLs: nil)
  }

  /// A 200 event stream that ended with `end`.
  private func stream(
    _ end: TransferEnd = .complete, _ change: (inout ConnectionFacts) -> Void = { _ in }
  ) -> ConnectionFacts {
    var facts = ConnectionFacts(end: end)
    facts.status = 200
    facts.isStream = true
    change(&facts)
    return facts
  }

  /// A response that is no stream, or none at all.
  private func answer(
    _ status: Int, _ end: TransferEnd = .complete, _ change: (inout ConnectionFacts) -> Void = { _ in }
  ) -> ConnectionFacts {
    var facts = ConnectionFacts(end: end)
    facts.status = status
    change(&facts)
    return facts
  }

  private static func failed(_ kind: TransportFailure) -> TransferEnd { .failed(kind, detail: "why") }

  /// The step in a word.
  private func word(_ step: NextStep) -> String {
    switch step {
    case .complete: "complete"
    case .fail(let kind, _): kind.word
    case .retry(_, let restarting): restarting ? "restart" : "retry"
    }
  }

  private func delay(_ step: NextStep) -> Int64? {
    if case .retry(let delay, _) = step { delay } else { nil }
  }

  // MARK: Complete or not

  @Test func llmStream_IsCompleteAtItsMarkerAlone() throws {
    let settings = try settings()

    #expect(settings.nextStep(stream { $0.sawMarker = true }) == .complete)
    // After the marker, how the connection closes does not matter.
    for end in [TransferEnd.cut, Self.failed(.reset), Self.failed(.protocolViolation)] {
      #expect(settings.nextStep(stream(end) { $0.sawMarker = true }) == .complete)
    }
    #expect(word(settings.nextStep(stream())) == "truncated")
    #expect(word(settings.nextStep(stream { $0.sawFinishReason = true })) == "truncated")
    #expect(word(settings.nextStep(stream(.cut))) == "truncated")
    #expect(word(settings.nextStep(stream(Self.failed(.reset)))) == "reset")
  }

  @Test func errorObject_OutweighsTheMarker() throws {
    let facts = stream {
      $0.sawError = true
      $0.sawMarker = true
    }

    #expect(word(try settings().nextStep(facts)) == "stream_error")
  }

  @Test func gemini_EndsWithAFinishReasonAndACleanEnd() throws {
    let settings = try settings(.gemini)

    #expect(settings.nextStep(stream { $0.sawFinishReason = true }) == .complete)
    #expect(word(settings.nextStep(stream(.cut) { $0.sawFinishReason = true })) == "truncated")
    #expect(word(settings.nextStep(stream())) == "truncated")
  }

  @Test func plainStream_EndsAsItsScenarioSays() throws {
    let free = try settings(.sse)
    let bound = try settings(.sse, until: .events(3))

    #expect(free.nextStep(stream()) == .complete)
    #expect(word(free.nextStep(stream(.cut))) == "truncated")
    #expect(bound.nextStep(stream(.cut) { $0.reachedEnd = true }) == .complete)
    #expect(word(bound.nextStep(stream())) == "truncated")
    for settings in [free, bound] { #expect(settings.nextStep(answer(204)) == .complete) }
  }

  // MARK: Failures in the contract's words

  static let failures: [(end: TransferEnd, status: Int, word: String)] = [
    (failed(.nameLookup), 0, "dns"), (failed(.refused), 0, "refused"), (failed(.connectTimeout), 0, "timeout_connect"),
    (failed(.tls), 0, "tls"), (failed(.reset), 0, "reset"), (failed(.protocolViolation), 0, "protocol"),
    (failed(.redirectLoop), 302, "redirect_loop"), (failed(.unsupportedEncoding), 200, "unsupported_encoding"),
    (failed(.unsupported), 0, "protocol"), (.complete, 302, "http_3xx"), (.complete, 400, "http_4xx"),
    (.complete, 404, "http_4xx"), (.complete, 408, "http_4xx"), (.complete, 429, "http_429"), (.complete, 500, "http_5xx"),
    (.complete, 503, "http_5xx"), (.cut, 503, "http_5xx"), (failed(.reset), 503, "http_5xx"), (.complete, 206, "protocol"),
    (.complete, 204, "protocol"),
  ]

  @Test(arguments: failures.indices) func failure_HasItsWord(_ index: Int) throws {
    let row = Self.failures[index]

    #expect(word(try settings().nextStep(answer(row.status, row.end))) == row.word, "status \(row.status)")
  }

  @Test func wrongContentType_IsNamedWithWhatCame() throws {
    let facts = answer(200) {
      $0.contentTypeIsWrong = true
      $0.contentType = "text/html"
      $0.errorBody = "<html>"
    }

    #expect(try settings().nextStep(facts) == .fail(.contentType, "content type text/html: <html>"))
  }

  @Test func limitsOfOurs_AreSaidAsSuch() throws {
    for kind in [SessionErrorKind.timeoutFirstEvent, .timeoutIdle] {
      #expect(word(try settings().nextStep(stream(.cut) { $0.timeout = kind })) == kind.word)
    }
    for kind in [SessionErrorKind.tooLarge, .parse, .interrupted] {
      let facts = stream {
        $0.streamFailed = kind
        $0.sawMarker = true
      }
      #expect(word(try settings().nextStep(facts)) == kind.word, "whatever else is true")
    }
  }

  // MARK: Trying again

  /// HTML Standard, 9.2.3.
  static let standard: [(status: Int, isStream: Bool, end: TransferEnd, word: String)] = [
    (200, true, .complete, "retry"), (200, true, .cut, "retry"), (200, true, failed(.reset), "retry"),
    (0, false, failed(.refused), "retry"), (0, false, failed(.nameLookup), "retry"),
    (0, false, failed(.connectTimeout), "retry"), (0, false, failed(.reset), "retry"), (0, false, failed(.tls), "tls"),
    (204, false, .complete, "complete"), (301, false, .complete, "http_3xx"), (404, false, .complete, "http_4xx"),
    (429, false, .complete, "http_429"), (500, false, .complete, "http_5xx"), (503, false, .complete, "http_5xx"),
    (200, false, failed(.redirectLoop), "redirect_loop"),
  ]

  @Test(arguments: standard.indices) func standardPolicy_FollowsTheStandard(_ index: Int) throws {
    let row = Self.standard[index]

    let step = try settings(.sse, .whatwg).nextStep(answer(row.status, row.end) { $0.isStream = row.isStream })

    #expect(word(step) == row.word, "status \(row.status), \(row.end)")
  }

  @Test func standardPolicy_WaitsAsLongAsTheServerSaid() throws {
    let settings = try settings(.sse, .whatwg)

    #expect(delay(settings.nextStep(stream())) == 3_000_000_000)
    #expect(delay(settings.nextStep(stream { $0.serverRetry = 250 })) == 250_000_000)
    #expect(delay(settings.nextStep(stream { $0.serverRetry = 0 })) == 0)
    // Never longer than `longest`, whatever a hostile server says.
    for huge in [Int64.max, 9_223_372_036_855, 300_001] {
      #expect(delay(settings.nextStep(stream { $0.serverRetry = huge })) == 300_000_000_000, "\(huge)")
    }
  }

  @Test func standardPolicy_GivesUpAfterItsTries() throws {
    let settings = try settings(.sse, .whatwg) { $0.tries = 2 }

    #expect(word(settings.nextStep(answer(0, Self.failed(.refused)) { $0.tries = 1 })) == "retry")
    #expect(
      settings.nextStep(answer(0, Self.failed(.refused)) { $0.tries = 2 }) == .fail(.refused, "why; given up after 2 tries"))
  }

  static let backoff: [(status: Int, isStream: Bool, end: TransferEnd, word: String)] = [
    (200, true, .cut, "retry"), (200, true, .complete, "retry"), (0, false, failed(.refused), "retry"),
    (500, false, .complete, "retry"), (503, false, .complete, "retry"), (429, false, .complete, "retry"),
    (408, false, .complete, "retry"), (400, false, .complete, "http_4xx"), (401, false, .complete, "http_4xx"),
    (302, false, .complete, "http_3xx"), (0, false, failed(.tls), "tls"), (0, false, failed(.protocolViolation), "protocol"),
  ]

  @Test(arguments: backoff.indices) func backoff_RetriesWhatMayPass(_ index: Int) throws {
    let row = Self.backoff[index]

    let step = try settings(.sse, .backoff).nextStep(answer(row.status, row.end) { $0.isStream = row.isStream })

    #expect(word(step) == row.word, "status \(row.status), \(row.end)")
  }

  @Test func backoff_GrowsToItsCapAndJitterOnlyShortens() throws {
    let plain = try settings(.sse, .backoff) {
      $0.jitter = 0
      $0.tries = 20
    }
    let jittered = try settings(.sse, .backoff) { $0.tries = 20 }

    let delays = (0..<8).map { tries in delay(plain.nextStep(stream(.cut) { $0.tries = tries })) ?? -1 }

    #expect(delays.map { $0 / 1_000_000_000 } == [1, 2, 4, 8, 16, 30, 30, 30])
    for tries in 0..<8 {
      func draw(_ random: Double) -> Int64 {
        delay(
          jittered.nextStep(
            stream(.cut) {
              $0.tries = tries
              $0.random = random
            })) ?? -1
      }
      #expect(draw(0) == delays[tries] && draw(0.999) >= delays[tries] / 2 && draw(0.999) < draw(0))
    }
    #expect(word(try settings(.sse, .backoff).nextStep(stream(.cut) { $0.tries = 5 })) == "truncated")
  }

  /// A connection that lasted sets the count back before the next delay is made of it, and before the tries are over.
  @Test func lastingConnection_SetsTheTriesBack() throws {
    let settings = try settings(.sse, .backoff) { $0.resetAfter = .seconds(1) }

    #expect(settings.triesBefore(4, openFor: 1_000_000_000, events: 0) == 0)
    #expect(settings.triesBefore(4, openFor: 999_999_999, events: 9) == 4)
    #expect(settings.triesBefore(4, openFor: -1, events: 0) == 4)
    #expect(try self.settings(.sse, .whatwg).triesBefore(4, openFor: 0, events: 1) == 0)
  }

  @Test func retryAfter_IsTheLeastDelay() throws {
    let settings = try settings(.sse, .backoff) { $0.jitter = 0 }
    func delay(_ status: Int, _ retryAfter: String) -> Int64? {
      self.delay(settings.nextStep(answer(status) { $0.retryAfter = retryAfter }))
    }

    for status in [408, 429, 500, 503] {
      #expect(delay(status, "7") == 7_000_000_000)
      #expect(delay(status, "0") == 1_000_000_000)
      for long in ["999999999", "99999999999999999999"] { #expect(delay(status, long) == 300_000_000_000) }
      for odd in ["-1", "soon", "1.5", "", "Wed, 31 Sep 2015 07:28:00 GMT"] {
        #expect(delay(status, odd) == 1_000_000_000, "\(odd)")
      }
    }
    // A date is held against the wall clock of the answer; one that has passed asks for nothing.
    func dated(_ seconds: Int64) -> Int64? {
      self.delay(
        settings.nextStep(
          answer(503) {
            $0.retryAfter = "Wed, 21 Oct 2015 07:28:00 GMT"
            $0.wallSeconds = 1_445_412_480 - seconds
          }))
    }
    #expect(dated(20) == 20_000_000_000)
    #expect(dated(-20) == 1_000_000_000)
    #expect(dated(1_000_000) == 300_000_000_000)
  }

  @Test func restart_BeginsAnewWhereTheStreamBroke() throws {
    let settings = try settings(.openAIChat, .restart)

    let again = [
      stream(.cut), stream(), stream { $0.sawError = true }, answer(503), answer(429), answer(0, Self.failed(.refused)),
      stream(.cut) { $0.timeout = .timeoutIdle },
    ]
    for facts in again { #expect(word(settings.nextStep(facts)) == "restart") }
    let final: [(ConnectionFacts, String)] = [
      (answer(400), "http_4xx"), (answer(0, Self.failed(.tls)), "tls"), (answer(0, Self.failed(.nameLookup)), "dns"),
      (stream { $0.sawMarker = true }, "complete"), (stream(.cut) { $0.tries = 5 }, "truncated"),
    ]
    for (facts, kind) in final { #expect(word(settings.nextStep(facts)) == kind) }
  }
}
