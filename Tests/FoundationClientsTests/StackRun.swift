// Sessions of a stack against a scripted server, through the engine itself, and what came of them.

import Engine
import FoundationClients
import Primitives
import Recording
import Scenarios
import Streams

struct StackRun {
  var records: [SessionRecord] = []
  var disconnects: [DisconnectRecord] = []
  var errors: [String] = []
  var total = IntervalRecord()

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
    var next: Int64 = 0
    let load = WorkerLoad(
      kind: .closed([Int64](repeating: 0, count: sessions)), capacity: sessions, concurrency: sessions, warmUp: 0,
      rampUp: 0, startsEnd: nil, drain: nil, dropsBeyond: false, lateAfter: .max, budget: BudgetShare(),
      starts: {
        if next == Int64(sessions) { return nil }
        next += 1
        return SessionStart(index: next - 1, at: 0)
      }, think: { _ in 0 }, bodyFor: { _ in [] })
    let engine = try EngineRun(settings: settings, loads: [load], origin: .now())
    engine.start()
    engine.join()
    for report in engine.take() {
      records += report.sessions
      disconnects += report.disconnects
      errors += report.errorSamples.map { "\($0.kind.word): \($0.message)" }
      for interval in report.intervals { total.add(interval.record) }
    }
    records.sort { $0.session < $1.session }
  }

  /// The only session's.
  var outcome: String {
    guard let record = records.first else { return "none" }
    return record.error.map { "\(record.outcome.word) \($0.word)" } ?? record.outcome.word
  }
  var tokens: Int64 { records.first?.tokenEvents ?? -1 }
}
