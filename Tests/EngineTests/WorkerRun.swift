// One worker with sessions of a scenario, to their end, and what came of them.

import Engine
import Recording
import Scenarios
import TestSupport
import Transports

struct WorkerRun {
  let records: [SessionRecord]
  let total: IntervalRecord

  /// - Parameters:
  ///   - client: the key `client` of a scenario, as JSON.
  ///   - reads: the body of every response, one read each, without a network; nil: what `url` answers.
  ///   - change: what no scenario can say.
  init(
    client: String, url: String = "http://127.0.0.1:9/", reads: [[UInt8]]? = nil, sessions: Int = 1,
    change: (inout SessionSettings) -> Void = { _ in }
  ) throws {
    let text = """
      {"endpoint": {"url": "\(url)", "api": "openai-chat"}, "request": {"model": "m", "prompt": "p"},
       "load": {"sessions": \(sessions)}, "client": \(client)}
      """
    let scenario = try ScenarioFile.load(text: text.utf8, file: "test.json", environment: [:]).variants[0].scenario
    var settings = try SessionSettings(scenario, mockURLs: nil)
    if let reads {
      settings.transportFactory = { _, places, _, receiver in
        NullTransport(reads: reads, places: places, receiver: receiver)
      }
    }
    change(&settings)
    let outcome = try EngineOutcome(settings, sessions: sessions)
    records = outcome.records
    total = outcome.total
  }

  /// An event with one token, as OpenAI's chat completions have it.
  static let token = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
  static let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":99}}\n\n"
  static let done = "data: [DONE]\n\n"
}
