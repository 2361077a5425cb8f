// Sessions of a stack against a scripted server, through the engine itself, and what came of them.

import Engine
import FoundationClients
import Primitives
import Recording
import Scenarios
import Streams
import TestSupport

struct StackRun {
  let records: [SessionRecord]
  let disconnects: [DisconnectRecord]
  let errors: [String]
  let total: IntervalRecord

  /// - Parameters:
  ///   - client: the key `client` of a scenario, as JSON.
  ///   - more: further keys of the scenario, each with a comma before it.
  ///   - headers: `endpoint.headers`.
  init(
    _ client: String, _ server: LoopbackServer, api: String = "sse", sessions: Int = 1, more: String = "",
    headers: String = "{}"
  ) throws {
    let text = """
      {"endpoint": {"url": "\(server.url)", "api": "\(api)", "method": "GET", "headers": \(headers)}, "load": {"sessions": \(sessions)},
       "client": \(client)\(more)}
      """
    let scenario = try ScenarioFile.load(text: text.utf8, file: "test.json", environment: [:]).variants[0].scenario
    var settings = try SessionSettings(scenario, mockURLs: nil)
    settings.foreignDecoder = { FoundationDecoder() }
    if scenario.client.stack.isURLSession {
      var options = URLSessionOptions()
      options.sessionPerTransfer = scenario.client.connections == .fresh
      // In strict the engine's limits are exact and Foundation's stand behind them.
      if scenario.client.fidelity == .faithful { options.requestTimeout = scenario.client.timeouts.idle.seconds }
      settings.transportFactory = URLSessionTransport.factory(options)
    }
    let outcome = try EngineOutcome(settings, sessions: sessions)
    records = outcome.records
    disconnects = outcome.disconnects
    errors = outcome.errors
    total = outcome.total
  }

  /// The only session's.
  var outcome: String {
    guard let record = records.first else { return "none" }
    return record.error.map { "\(record.outcome.word) \($0.word)" } ?? record.outcome.word
  }
  var tokens: Int64 { records.first?.tokenEvents ?? -1 }
}
