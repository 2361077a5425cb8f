// The flags of `run --endpoint URL` without a file become the document that a file would hold.

package import Primitives

package enum ScenarioFlags {
  /// A flag that stands for one key.
  package struct Flag: Sendable {
    package var name: String
    /// Of its value, in the help.
    package var value: String
    package var keyPath: String
    /// One sentence without a full stop, from the definition.
    package var help: String
    /// Where the value is one of few words.
    package var choices: [String] = []
  }

  package static let all: [Flag] = [
    flag("--api", "API", "endpoint.api"),
    flag("--concurrency", "N", "load.concurrency"),
    flag("--sessions", "M", "load.sessions"),
    flag("--rate", "R", "load.rate"),
    flag("--duration", "D", "load.duration"),
    flag("--ramp-up", "D", "load.ramp_up"),
    flag("--warm-up", "D", "measure.warm_up"),
    flag("--model", "NAME", "request.model"),
    flag("--prompt", "TEXT", "request.prompt"),
    flag("--max-tokens", "N", "request.max_tokens"),
    flag("--stack", "NAME", "client.stack"),
    flag("--parser", "MODE", "client.parser"),
    flag("--decoder", "NAME", "client.decoder"),
    flag("--http", "VERSION", "endpoint.http"),
    flag("--wait-ready", "D", "endpoint.wait_ready"),
  ]

  /// The document of these flags: with a rate a Poisson load of 10 s, else one session at a time, 10 in all, where
  /// nothing else is said.
  ///
  /// - Parameters:
  ///   - endpoint: a URL; nil: the mock.
  ///   - values: flag names of `all` with what was typed.
  ///   - headers: names and values, in order.
  package static func document(
    endpoint: String?, values: [(flag: String, text: String)], headers: [(name: String, value: String)] = []
  ) throws(ScenarioFailure) -> JSONValue {
    var document = JSONValue.object([:])
    func set(_ keyPath: [String], _ value: JSONValue, _ flag: String) throws(ScenarioFailure) {
      do throws(KeyPathError) { try document.set(keyPath, to: value) } catch {
        throw ScenarioFailure(
          .invalid, [ScenarioProblem(file: flag, keyPath.joined(separator: "."), error.message)])
      }
    }
    if let endpoint { try set(["endpoint", "url"], .string(endpoint), "--endpoint") }
    for (name, text) in values {
      guard let flag = all.first(where: { $0.name == name }) else {
        preconditionFailure("\(name) is not a flag that stands for a key")
      }
      // Without a file, the mock is what speaks the API.
      let path = endpoint == nil && flag.keyPath == "endpoint.api" ? "endpoint.mock.api" : flag.keyPath
      try set(path.keys, value(text, of: flag.keyPath), name)
    }
    for (name, value) in headers { try set(["endpoint", "headers", name], .string(value), "-H") }

    let isOpen = document.value(at: "load.rate") != nil
    if isOpen { try set(["load", "model"], "poisson", "--rate") }
    if document.value(at: "load.sessions") == nil && document.value(at: "load.duration") == nil {
      if isOpen {
        try set(["load", "duration"], "10s", "--duration")
      } else {
        try set(["load", "sessions"], document.value(at: "load.concurrency") ?? 10, "--sessions")
      }
    }
    if !isOpen && document.value(at: "load.concurrency") == nil {
      try set(["load", "concurrency"], 1, "--concurrency")
    }
    return document
  }

  /// The same flags beside a file.
  package static func overrides(_ values: [(flag: String, text: String)]) -> [Override] {
    values.compactMap { name, text in
      all.first { $0.name == name }.map { Override($0.keyPath, value(text, of: $0.keyPath)) }
    }
  }

  private static func flag(_ name: String, _ value: String, _ keyPath: String) -> Flag {
    var fields = ScenarioDefinition.scenario.fields
    var found: Field?
    for key in keyPath.keys {
      found = fields.first { $0.name == key }
      if case .object(let shape)? = found?.kind { fields = shape.fields }
    }
    guard let found else { preconditionFailure("\(keyPath) is not a key of a scenario") }
    var flag = Flag(name: name, value: value, keyPath: keyPath, help: found.doc)
    if case .word(let words) = found.kind { flag.choices = words }
    return flag
  }

  /// What was typed as the JSON that the key takes; a bare number of a rate is per second.
  private static func value(_ text: String, of keyPath: String) -> JSONValue {
    guard case .success(let kind) = Kind.object(ScenarioDefinition.scenario).kind(at: keyPath.keys) else {
      return .string(text)
    }
    switch kind {
    case .integer, .number, .boolean: return (try? JSONReader.read(text)) ?? .string(text)
    case .rate: return Double(text) != nil ? .string("\(text)/s") : .string(text)
    default: return .string(text)
    }
  }
}
