// How the tests of this target load scenarios: text in, a LoadedScenario or the problems out.

import Primitives
import Scenarios

/// A scenario that is valid with one load; `more` is put before its end.
func valid(_ more: String = "") -> String {
  #"{"load": {"concurrency": 2, "sessions": 4}"# + (more.isEmpty ? "" : ", \(more)") + "}"
}

func load(
  _ text: String, _ overrides: [Override] = [], endpoint: String? = nil, folder: String = "",
  environment: [String: String] = [:]
) throws(ScenarioFailure) -> LoadedScenario {
  try ScenarioFile.load(
    text: text.utf8, file: "test.json", name: "test", folder: folder, overrides: overrides,
    endpoint: endpoint,
    environment: environment)
}

/// The failure of a text; nil where it loads.
func failure(
  _ text: String, _ overrides: [Override] = [], folder: String = "", environment: [String: String] = [:]
) -> ScenarioFailure? {
  do throws(ScenarioFailure) {
    _ = try load(text, overrides, folder: folder, environment: environment)
    return nil
  } catch {
    return error
  }
}

/// The key paths that are refused, in order.
func refused(_ text: String, folder: String = "", environment: [String: String] = [:]) -> [String] {
  failure(text, folder: folder, environment: environment)?.problems.map(\.keyPath) ?? []
}

func json(_ text: String) -> JSONValue {
  do { return try JSONReader.read(text, extended: true) } catch { preconditionFailure("not JSON: \(text)") }
}
