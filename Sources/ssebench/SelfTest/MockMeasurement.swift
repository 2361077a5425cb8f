// How exact the instrument is here: a small run against its own mock, whose send times are known, read back from the
// run's own report.

import Foundation
import Primitives
import Scenarios

struct MockMeasurement {
  var stack: String
  var sessions: Int
  /// As the run's report has them: `p50`, `p99` in milliseconds, null where the sample is too small.
  var ttftError: JSONValue
  var itlError: JSONValue
  /// Nanoseconds of CPU for one event.
  var clientCost: Double?
  var mockCost: Double?
  var verdict: String
  var bottleneck: String?

  /// Tokens come 20 a second in every session.
  static func take(stack: String, sessions: Int, tokens: Int) throws -> MockMeasurement {
    let document = """
      {"name": "self-test", "endpoint": {"mock": {"api": "openai-chat", "tokens": \(tokens), "first_token": "200ms",
       "interval": "50ms"}}, "load": {"model": "closed", "concurrency": \(sessions), "sessions": \(sessions),
       "ramp_up": "\(sessions > 100 ? "500ms" : "100ms")"}, "client": {"stack": "\(stack)"}}
      """
    let loaded: LoadedScenario
    do throws(ScenarioFailure) {
      guard let value = try? JSONReader.read(Array(document.utf8)) else {
        throw ScenarioFailure(.invalid, [])
      }
      loaded = try ScenarioFile.load(document: value, overrides: [], environment: [:])
    } catch {
      throw CommandFailure(.software, "self-test: \(error.description)")
    }
    let folder = NSTemporaryDirectory() + "/ssebench-self-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var options = RunOptions()
    options.out = folder
    options.quiet = true
    let code = try RunConductor(loaded, options: options).run()
    if code == .interrupted { throw CommandFailure(.interrupted, "self-test: interrupted") }
    guard let data = FileManager.default.contents(atPath: folder + "/summary.json"),
      let summary = try? JSONReader.read(Array(data)), let variant = summary["variants"]?[0]
    else { throw CommandFailure(.software, "self-test: the run left no summary") }
    let instrument = variant["instrument"]
    let mock = instrument?["mock"]
    let mockCost = mock?["cpu_s"]?.asDouble.flatMap { seconds in
      mock?["events"]?.asDouble.flatMap { $0 > 0 ? seconds / $0 * 1e9 : nil }
    }
    func errors(_ key: String) -> JSONValue {
      .object(["p50": instrument?[key]?["p50"] ?? .null, "p99": instrument?[key]?["p99"] ?? .null])
    }
    return MockMeasurement(
      stack: stack, sessions: sessions, ttftError: errors("ttft_error_ms"), itlError: errors("itl_error_ms"),
      clientCost: instrument?["cpu_s_per_million_events"]?.asDouble.map { $0 * 1e3 }, mockCost: mockCost,
      verdict: summary["verdict"]?.asString ?? "partial", bottleneck: instrument?["bottleneck"]?.asString)
  }
}
