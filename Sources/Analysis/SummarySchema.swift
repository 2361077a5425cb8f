// The JSON Schema of `summary.json`, made from the code that makes summaries, so that the two cannot differ.

package import Primitives
internal import Recording

package enum SummarySchema {
  /// Draft 2020-12. Figures may be null: not measured. Objects may gain keys within a schema version.
  package static var document: JSONValue {
    let variant = VariantRecord(name: "", client: .object(JSONObject()))
    variant.memory = MemoryFigures()
    variant.hasLedger = true
    variant.numbering = .known
    variant.hasSLO = true
    variant.wukongim = WuKongRecord()
    variant.instrument.mockCPUSeconds = 0
    variant.total.counters.cancelled = 1
    variant.steadyState = (0, 0, 0, 0)
    for metric in Metric.allCases { variant.total.record(metric, 1) }
    var record = RunRecord()
    record.shard = RunShard(index: 0, count: 1)
    record.variants = [variant]
    let tree = Summary(record).tree

    var properties = JSONObject()
    for (key, value) in tree.asObject?.pairs ?? [] {
      switch key {
      case "schema_version": properties[key] = .object(["const": .integer(Int64(Summary.schemaVersion))])
      case "verdict": properties[key] = words(["passed", "failed", "invalid", "partial"])
      case "scenario": properties[key] = .object(["type": .array([.string("object"), .string("null")])])
      case "variants": properties[key] = list(schema(of: value[0] ?? .null, path: "variants"))
      case "gates":
        properties[key] = list(schema(of: GateResult(expression: "").json, path: "gates"))
      case "warnings":
        properties[key] = list(
          .object([
            "type": .string("object"), "required": .array([.string("code"), .string("message"), .string("hint")]),
            "properties": .object([
              "code": .object(["type": .string("string")]), "message": .object(["type": .string("string")]),
              "hint": .object(["type": .string("string")]), "variant": nullable("string"),
              "shard": .object(["type": .array([.string("integer"), .string("null")])]),
            ]),
          ]))
      case "verdict_reasons": properties[key] = list(.object(["type": .string("string")]))
      default: properties[key] = schema(of: value, path: key)
      }
    }
    properties["hosts"] = list(.object(["type": .string("object")]))
    return .object([
      "$schema": .string("https://json-schema.org/draft/2020-12/schema"), "title": .string("ssebench summary.json"),
      "type": .string("object"),
      "required": .array((tree.asObject?.keys ?? []).map { .string($0) }),
      "properties": .object(properties),
    ])
  }

  /// Parts that stand only where a run has something to say in them.
  private static let occasional: Set<String> = ["cancel", "wukongim", "steady_state"]

  private static func words(_ words: [String]) -> JSONValue { .object(["enum": .array(words.map { .string($0) })]) }
  private static func list(_ items: JSONValue) -> JSONValue { .object(["type": .string("array"), "items": items]) }
  private static func nullable(_ type: String) -> JSONValue {
    .object(["type": .array([.string(type), .string("null")])])
  }

  private static func schema(of value: JSONValue, path: String) -> JSONValue {
    switch value {
    case .object(let object):
      // Names that come from outside stand here: any may.
      if object.isEmpty || path.hasSuffix("models") || path.hasSuffix("error_samples") || path.hasSuffix("client") {
        return .object(["type": .array([.string("object"), .string("null")])])
      }
      var properties = JSONObject()
      for (key, value) in object.pairs {
        var schema = schema(of: value, path: "\(path).\(key)")
        if let metric = Metric.allCases.first(where: { $0.key == key }), case .object(var described) = schema {
          described["description"] = .string(metric.definition)
          schema = .object(described)
        }
        properties[key] = schema
      }
      return .object([
        "type": .array([.string("object"), .string("null")]), "required": .array(object.keys.filter { !occasional.contains($0) }.map { .string($0) }),
        "properties": .object(properties),
      ])
    case .array: return .object(["type": .array([.string("array"), .string("null")])])
    case .string: return nullable("string")
    case .bool: return nullable("boolean")
    case .integer, .number: return .object(["type": .array([.string("number"), .string("string"), .string("null")])])
    case .null: return .object(["type": .array(["number", "boolean", "array", "object", "string", "null"].map { .string($0) })])
    }
  }
}
