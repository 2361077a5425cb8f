import Engine
import Primitives
import Recording
import Scenarios
import Testing
import Transports

/// What a stack's one word sets, and what follows from a connection's end under it.
struct StackRulesTests {
  private func scenario(_ client: String, api: String = "sse") throws -> Scenario {
    let text = """
      {"endpoint": {"url": "http://127.0.0.1:9/", "api": "\(api)"}, "load": {"sessions": 1}, "client": \(client)}
      """
    return try ScenarioFile.load(text: text.utf8, file: "test.json", environment: [:]).variants[0].scenario
  }

  private func settings(_ client: String, api: String = "sse") throws -> SessionSettings {
    try SessionSettings(scenario(client, api: api), mockURLs: nil)
  }

  private func facts(_ end: TransferEnd, status: Int = 200, tries: Int = 0) -> ConnectionFacts {
    var facts = ConnectionFacts(end: end)
    facts.status = status
    facts.isStream = status == 200
    facts.tries = tries
    facts.random = 0.999
    return facts
  }

  @Test func oneWord_SetsParserDecoderConnectionsAndRetries() throws {
    let faithful = try scenario(#"{"stack": "eventsource", "fidelity": "faithful"}"#).client
    #expect(faithful.parser == .eventsource)
    #expect(faithful.decoder == .foundation)
    #expect(faithful.connections == .fresh)
    #expect(faithful.reconnect.policy == .backoff)
    #expect(faithful.reconnect.resetAfter == .zero)

    let strict = try scenario(#"{"stack": "eventsource"}"#, api: "openai-chat").client
    #expect(strict.parser == .whatwg)
    #expect(strict.reconnect.policy == .restart)
    #expect(strict.reconnect.resetAfter == .seconds(60))

    let lines = try scenario(#"{"stack": "bytes-lines", "fidelity": "faithful"}"#).client
    #expect(lines.parser == .lines)
    #expect(lines.consumer == .coalesce)
    #expect(lines.reconnect.policy == .none)
  }

  @Test func aKeyThatIsWritten_WinsOverTheStack() throws {
    let client = try scenario(
      #"{"stack": "eventsource", "fidelity": "faithful", "parser": "eventsource-data-only", "decoder": "scan", "reconnect": {"policy": "none"}}"#
    ).client

    #expect(client.parser == .eventsourceDataOnly)
    #expect(client.decoder == .scan)
    #expect(client.reconnect.policy == .none)
    #expect(client.reconnect.tries == nil)
  }

  @Test func eachVariant_HasItsOwnStacksDefaults() throws {
    let text = """
      {"endpoint": {"url": "http://127.0.0.1:9/", "api": "sse"}, "load": {"sessions": 1},
       "compare": {"client.stack": ["curl", "eventsource", "bytes-lines"], "client.fidelity": ["faithful"]}}
      """
    let variants = try ScenarioFile.load(text: text.utf8, file: "test.json", environment: [:]).variants

    #expect(variants.map(\.scenario.client.parser) == [.whatwg, .eventsource, .lines])
    #expect(variants.map { $0.client["parser"]?.asString } == ["whatwg", "eventsource", "lines"])
  }

  @Test(arguments: ["strict", "faithful"])
  func theResilientClient_WaitsTwoFourEightSixteenThirtyTwoSecondsAndGivesUp(fidelity: String) throws {
    let settings = try settings(#"{"stack": "eventsource", "fidelity": "\#(fidelity)"}"#)

    let delays = (0..<5).map { settings.nextStep(facts(.failed(.refused, detail: ""), status: 0, tries: $0)) }
    let last = settings.nextStep(facts(.failed(.refused, detail: ""), status: 0, tries: 5))

    #expect(delays == [2, 4, 8, 16, 32].map { .retry(delay: $0 * 1_000_000_000, restarting: false) })
    guard case .fail(.refused, let detail) = last else { return #expect(Bool(false), "\(last)") }
    #expect(detail.contains("given up after 5 tries"))
  }

  @Test(arguments: ["strict", "faithful"])
  func serverErrorsAreTriedAgain_RefusalsAndNoContentAreNot(fidelity: String) throws {
    let settings = try settings(#"{"stack": "eventsource", "fidelity": "\#(fidelity)"}"#)

    #expect(settings.nextStep(facts(.complete, status: 500)) == .retry(delay: 2_000_000_000, restarting: false))
    for status in [400, 404, 408, 429] {
      guard case .fail = settings.nextStep(facts(.complete, status: status)) else {
        #expect(Bool(false), "status \(status) is tried again")
        continue
      }
    }
    #expect(settings.nextStep(facts(.complete, status: 204)) == .complete)
  }

  /// The library says nothing of a refusal without a body, so its user takes it for a clean close.
  @Test func aSilentRefusal_IsTriedAgain() throws {
    let settings = try settings(#"{"stack": "eventsource", "fidelity": "faithful"}"#)
    var silent = facts(.complete, status: 404)
    silent.isSilent = true

    #expect(settings.nextStep(silent) == .retry(delay: 2_000_000_000, restarting: false))
  }

  @Test func theServersRetryTime_TakesTheBasesPlace() throws {
    let settings = try settings(#"{"stack": "eventsource"}"#)
    var facts = facts(.cut)
    facts.serverRetry = 500

    #expect(settings.nextStep(facts) == .retry(delay: 500_000_000, restarting: false))
  }

  @Test func jitter_TakesAwayItsShareAtMost() throws {
    let settings = try settings(#"{"stack": "eventsource", "reconnect": {"jitter": 0.5}}"#)
    for random in [0.0, 0.25, 0.999_999] {
      var facts = facts(.cut)
      facts.random = random
      guard case .retry(let delay, _) = settings.nextStep(facts) else { return #expect(Bool(false), "no retry") }
      #expect(delay <= 2_000_000_000)
      #expect(delay >= 1_000_000_000)
    }
  }

  @Test func theLiveMonitor_WaitsFiveSecondsAfterEveryError() throws {
    for fidelity in ["strict", "faithful"] {
      let settings = try settings(#"{"stack": "live-monitor", "fidelity": "\#(fidelity)"}"#)
      for tries in [0, 7, 1000] {
        let end = TransferEnd.failed(.reset, detail: "")
        #expect(settings.nextStep(facts(end, tries: tries)) == .retry(delay: 5_000_000_000, restarting: false))
        #expect(settings.nextStep(facts(.complete, status: 404, tries: tries)) == .retry(delay: 5_000_000_000, restarting: false))
      }
    }
  }

  @Test func theLiveMonitor_EndsAtACleanCloseInFaithfulAlone() throws {
    #expect(try settings(#"{"stack": "live-monitor", "fidelity": "faithful"}"#).nextStep(facts(.complete)) == .complete)
    #expect(
      try settings(#"{"stack": "live-monitor"}"#).nextStep(facts(.complete)) == .retry(delay: 5_000_000_000, restarting: false))
  }

  @Test func aStreamWithoutItsMarker_IsSuccessInTheNaivePipelineAndTruncatedInStrict() throws {
    let naive = try settings(#"{"stack": "bytes-lines", "fidelity": "faithful"}"#, api: "openai-chat")
    let strict = try settings(#"{"stack": "bytes-lines"}"#, api: "openai-chat")

    #expect(naive.nextStep(facts(.complete)) == .complete)
    guard case .fail(.truncated, _) = strict.nextStep(facts(.complete)) else { return #expect(Bool(false), "not truncated") }
  }

  @Test func whatURLSessionCannotSet_IsRefusedBeforeTheRun() {
    #expect(throws: ScenarioFailure.self) {
      try ScenarioFile.load(
        text: #"{"endpoint": {"url": "https://h/", "proxy": "http://p:1"}, "load": {"sessions": 1}, "client": {"stack": "urlsession"}}"#.utf8,
        file: "test.json", environment: [:])
    }
  }
}
