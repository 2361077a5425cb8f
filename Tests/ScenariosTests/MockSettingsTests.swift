// MOCK.json: what `endpoint.mock` is, and back.

import Primitives
import Scenarios
import Testing

@Suite struct MockSettingsTests {
  @Test func emptyFile_IsTheDefaultMock() throws {
    #expect(try MockFile.load(text: "{}".utf8, environment: [:]) == MockSettings())
  }

  @Test func settingsReadBackFromTheirJSON() throws {
    var mock = MockSettings()
    mock.api = .anthropicMessages
    mock.tokens = .uniform(low: 5, high: 900)
    mock.firstToken = .lognormal(median: 200e6, p99: 900e6)
    mock.interval = .exponential(mean: 1_500)
    mock.tokenSize = .constant(9)
    mock.text = .mixed
    mock.reasoningTokens = 5
    mock.toolCall = true
    mock.replayBuffer = 0
    mock.stamp = false
    mock.faults = FaultKind.allCases.map { kind in
      var fault = Fault(kind: kind)
      fault.at = .runTime(.milliseconds(7))
      fault.times = nil
      fault.connection = 3
      fault.sessions = .list([4, 9])
      if kind == .length { fault.by = -5 }
      if kind == .status { fault.body = "costs ${x} and $${y}" }
      if kind == .stall { fault.length = .seconds(1.5) }
      return fault
    }

    let read = try MockFile.load(text: mock.json.text().utf8, environment: [:])

    #expect(read == mock)
  }

  @Test func wrongKeyIsRefused() {
    #expect(throws: ScenarioFailure.self) { try MockFile.load(text: #"{"token": 5}"#.utf8, environment: [:]) }
    #expect(throws: ScenarioFailure.self) {
      try MockFile.load(
        text: #"{"tokens": 5}"#.utf8, overrides: [Override("interval", "5")], environment: [:])
    }
  }
}
