// A definition becomes the commented scenario that `init` writes: what a first run needs is in force, every other key
// stands commented out with its default or an example.

import Primitives

package enum StarterFile {
  /// Key paths in force; objects on the way included.
  private static let inForce: Set<String> = [
    "name", "seed", "endpoint", "endpoint.mock", "endpoint.mock.api", "endpoint.mock.tokens",
    "endpoint.mock.first_token",
    "endpoint.mock.interval", "request", "request.model", "request.prompt", "request.max_tokens", "load",
    "load.model",
    "load.concurrency", "load.sessions", "load.ramp_up", "client", "client.stack", "client.parser", "measure",
    "measure.warm_up", "measure.repeats", "slo", "slo.ttft_ms", "slo.itl_ms", "gates",
  ]

  package static func text() -> String {
    var text = """
      // A scenario for ssebench: what is asked of which server, by how many sessions, and what is measured.
      // Comments and trailing commas are allowed. What is commented out shows a default or an example.
      // Durations, sizes and rates have units: "200ms", "16KiB", "20/s". ${NAME} is read from the environment and kept
      // out of every report. Where a value can vary it takes {"lognormal": {"median": "200ms", "p99": "900ms"}},
      // {"uniform": [a, b]}, {"exponential": {"mean": a}} or {"trace": "file"}.
      {

      """
    write(ScenarioDefinition.scenario, path: "", indent: "  ", to: &text)
    return text + "}\n"
  }

  private static func write(_ shape: Shape, path: String, indent: String, to text: inout String) {
    for field in shape.fields where field.name != "$schema" || path.isEmpty {
      let place = path.appending(key: field.name)
      if inForce.contains(place), case .object(let inner) = field.kind {
        text += "\n\(indent)// \(field.doc).\n\(indent)\"\(field.name)\": {\n"
        write(inner, path: place, indent: indent + "  ", to: &text)
        text += "\(indent)},\n"
      } else {
        let value =
          field.example ?? (field.standard.flatMap { $0 == .object([:]) ? nil : $0 }) ?? sample(field.kind)
        let line = "\(indent)\(inForce.contains(place) ? "" : "// ")\"\(field.name)\": \(value.text()),"
        let doc = "// \(field.doc)"
        if line.count + doc.count + 2 <= 118 {
          text += "\(line)  \(doc)\n"
        } else {
          text += "\(indent)\(doc)\n\(line)\n"
        }
      }
    }
  }

  /// A value of a kind, for keys that have neither default nor example.
  static func sample(_ kind: Kind) -> JSONValue {
    switch kind {
    case .text: "text"
    case .url: "https://host/path"
    case .word(let words): .string(words[0])
    case .integer(let range): .integer(Int64(max(range.lowerBound, min(10, range.upperBound))))
    case .number(let range, _): .number(min(10, range.upperBound))
    case .boolean: true
    case .duration: "10s"
    case .size(let range): .string(Units.sizeText(max(range.lowerBound, 16_384)))
    case .rate: "20/s"
    case .list(let kind, let count): .array((0..<max(1, count.lowerBound)).map { _ in sample(kind) })
    case .map(let kind): .object(["key": sample(kind)])
    case .object(let shape):
      .object(
        JSONObject(
          shape.fields.filter { $0.condition == nil && ($0.isRequired || $0.standard != nil) }.map {
            ($0.name, $0.standard ?? sample($0.kind))
          }))
    case .tagged(_, let fields): .object(JSONObject([(fields[0].name, sample(fields[0].kind))]))
    case .either(let kinds): sample(kinds[0])
    case .anything: .object([:])
    }
  }
}
