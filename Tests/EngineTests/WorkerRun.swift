// One worker with sessions of a scenario, to their end, and what came of them.

import Engine
import Primitives
import Recording
import Scenarios
import Streams
import Transports

struct WorkerRun {
  var records: [SessionRecord] = []
  let total = IntervalRecord()

  /// - Parameters:
  ///   - client: the key `client` of a scenario, as JSON.
  ///   - reads: the body of every response, one read each, without a network; nil: what `url` answers.
  init(
    client: String, url: String = "http://127.0.0.1:9/", reads: [[UInt8]]? = nil, sessions: Int = 1,
    foreignDecoder: (@Sendable () -> any ForeignDecoder)? = nil
  ) throws {
    let text = """
      {"endpoint": {"url": "\(url)", "api": "openai-chat"}, "request": {"model": "m", "prompt": "p"},
       "load": {"sessions": \(sessions)}, "client": \(client)}
      """
    let scenario = try ScenarioFile.load(text: text.utf8, file: "test.json", environment: [:]).variants[0].scenario
    var settings = try SessionSettings(scenario, mockURLs: nil)
    settings.foreignDecoder = foreignDecoder
    if let reads {
      settings.transportFactory = { _, places, _, receiver in
        NullTransport(reads: reads, places: places, receiver: receiver)
      }
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
      for interval in report.intervals { total.add(interval.record) }
    }
  }

  /// An event with one token, as OpenAI's chat completions have it.
  static let token = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
  static let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":99}}\n\n"
  static let done = "data: [DONE]\n\n"
}
