// Defaults that follow from other keys, written into a document before it is checked.

import Primitives

enum DependentDefaults {
  /// - Parameters:
  ///   - varied: key paths of `compare`; a default that would depend on one is left to each variant.
  static func fill(_ document: JSONValue, name: String, varied: Set<String>) -> JSONValue {
    guard case .object = document else { return document }
    var filled = document
    func given(_ path: String) -> JSONValue? { filled.value(at: path) }
    /// Sets a missing key inside objects that are there or missing; anything else is for the checker to refuse.
    func standard(_ path: String, _ value: JSONValue, unlessVaried others: String...) {
      if given(path) != nil || varied.contains(path) || others.contains(where: varied.contains) { return }
      let keys = path.keys
      let parents = keys.indices.dropFirst().compactMap { filled.value(at: keys[..<$0]) }
      if parents.allSatisfy({ $0.asObject != nil }) { try? filled.set(keys, to: value) }
    }

    if given("name") == nil { standard("name", .string(name)) }
    if case .object(let compare)? = given("compare"), !compare.isEmpty {
      standard("measure.repeats", 3)
    } else if varied.isEmpty {
      standard("measure.repeats", 1)
    }
    let hasURL =
      given("endpoint.url") != nil || given("endpoint.unix_socket") != nil || varied.contains("endpoint.url")
    if given("wukongim") != nil {
      standard(hasURL ? "endpoint.api" : "endpoint.mock.api", "wukongim", unlessVaried: "wukongim")
      // A reader lives as long as the run.
      standard("client.timeouts.total", "24h", unlessVaried: "wukongim", "client", "client.timeouts")
    }
    if hasURL {
      standard("endpoint.api", .string(API.sse.rawValue))
    } else {
      standard(
        "endpoint.api", given("endpoint.mock.api") ?? .string(MockSettings().api.rawValue),
        unlessVaried: "endpoint.mock.api", "endpoint.mock")
    }
    if given("endpoint.api") == "ollama" { standard("client.parser", "ndjson", unlessVaried: "endpoint.api") }
    if !varied.contains("client.stack"), !varied.contains("client.fidelity") {
      let preset = StackPreset(
        stack: given("client.stack")?.asString, fidelity: given("client.fidelity")?.asString,
        isLLM: given("endpoint.api")?.asString != API.sse.rawValue)
      // A policy of the user's own keeps its own numbers.
      let policyIsOwn = given("client.reconnect.policy") != nil || varied.contains("client.reconnect.policy")
      for (path, value) in preset.values where !(policyIsOwn && path.hasPrefix("client.reconnect.")) {
        standard(path, value, unlessVaried: "client", "endpoint.api", "endpoint.mock.api", "endpoint.mock")
      }
    }
    let model = given("load.model") ?? "closed"
    if model == "closed", let sessions = given("load.sessions"), given("load") != nil {
      standard("load.concurrency", sessions, unlessVaried: "load.model", "load.sessions", "load")
    }
    if let file = given("load.trace.file")?.asString, given("load.trace.format") == nil {
      standard(
        "load.trace.format", file.hasSuffix(".jsonl") ? "jsonl" : "csv", unlessVaried: "load.trace.file")
    }
    return filled
  }
}
