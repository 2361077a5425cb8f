// `--set`, flags without a file, and `--endpoint`.

import Primitives
import Scenarios
import Testing

@Suite struct OverrideTests {
  @Test func valueIsJSON_ElseAString() {
    #expect(Override("a=5")?.value == .integer(5))
    #expect(Override("a=true")?.value == .bool(true))
    #expect(Override("a={\"b\": 1}")?.value == .object(["b": 1]))
    #expect(Override("a=20ms")?.value == .string("20ms"))
    #expect(Override("a=x=y")?.value == .string("x=y"))
    #expect(Override("a=")?.value == .string(""))
    #expect(Override("a") == nil)
    #expect(Override("=5") == nil)
  }

  @Test func keysAreMadeOnTheWay_AndListsAddressedByNumber() throws {
    let text = valid(#""endpoint": {"mock": {"faults": [{"kind": "fin"}]}}, "gates": ["a < 1"]"#)

    let loaded = try load(
      text,
      [
        Override("endpoint.mock.faults.0.at.event", 7), Override("endpoint.mock.faults.1.kind", "rst"),
        Override("client.timeouts.idle", "5s"), Override("gates.0", "b < 2"), Override("seed", 7),
      ])

    let scenario = loaded.variants[0].scenario
    #expect(scenario.endpoint.mock?.faults.map(\.kind) == [.fin, .rst])
    #expect(scenario.endpoint.mock?.faults[0].at == .event(7))
    #expect(scenario.client.timeouts.idle == .seconds(5))
    #expect(scenario.gates.map(\.expression) == ["b < 2"])
    #expect(scenario.seed == 7)
  }

  @Test func wrongOverrideIsRefusedByName() {
    let unknown = failure(valid(), [Override("load.sesions", 5)])?.problems.first
    #expect(unknown?.description.hasPrefix("--set: load.sesions: there is no key \"sesions\"") == true)
    #expect(unknown?.suggestion == "Did you mean \"sessions\"?")
    #expect(failure(valid(), [Override("load.sessions", "many")])?.problems.first?.file == "--set")
    #expect(failure(valid(), [Override("gates.5", "x")])?.problems.first?.keyPath == "gates.5")
    #expect(failure(valid(), [Override(String(repeating: "request.body.", count: 500), 1)])?.kind == .invalid)
  }

  @Test func endpointFlag_PutsAURLInPlaceOfTheMock() throws {
    let scenario = try load(
      valid(#""endpoint": {"mock": {"api": "gemini"}}"#), endpoint: "http://127.0.0.1:1/x"
    ).variants[0].scenario

    #expect(scenario.endpoint.mock == nil)
    #expect(scenario.endpoint.url == "http://127.0.0.1:1/x")
    #expect(scenario.endpoint.api == .gemini)
  }

  @Test func flagsWithoutAFile_MakeTheSameDocumentAsAFile() throws {
    let document = try ScenarioFlags.document(
      endpoint: "http://localhost/v1/chat/completions",
      values: [
        ("--api", "openai-chat"), ("--concurrency", "5"), ("--sessions", "20"), ("--max-tokens", "7"),
      ],
      headers: [("X-Key", "${TOKEN_A}")])

    let loaded = try ScenarioFile.load(document: document, environment: ["TOKEN_A": "secret-value"])

    let scenario = loaded.variants[0].scenario
    #expect(scenario.endpoint.api == .openAIChat)
    #expect(scenario.load.concurrency == 5)
    #expect(scenario.load.sessions == 20)
    #expect(scenario.request.maxTokens == 7)
    #expect(scenario.endpoint.headers.first?.value == "secret-value")
    #expect(loaded.document.text().contains("secret-value") == false)
  }

  @Test func flagsAloneAreCautious_AndARateMakesAnOpenLoad() throws {
    let few = try ScenarioFile.load(
      document: ScenarioFlags.document(endpoint: nil, values: []), environment: [:]
    ).variants[0].scenario
    let open = try ScenarioFile.load(
      document: ScenarioFlags.document(endpoint: nil, values: [("--rate", "20"), ("--api", "sse")]),
      environment: [:]
    ).variants[0].scenario

    #expect(few.load.concurrency == 1)
    #expect(few.load.sessions == 10)
    #expect(open.load.model == .poisson)
    #expect(open.load.rate == 20)
    #expect(open.load.duration == .seconds(10))
    #expect(open.endpoint.mock?.api == .sse)
  }

  @Test func wrongFlagValueIsRefusedAtItsKey() throws {
    let document = try ScenarioFlags.document(endpoint: nil, values: [("--sessions", "many")])

    #expect(throws: ScenarioFailure.self) { try ScenarioFile.load(document: document, environment: [:]) }
  }
}
