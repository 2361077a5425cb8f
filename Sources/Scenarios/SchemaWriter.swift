// A definition becomes a JSON Schema (draft 2020-12) that accepts exactly the documents whose keys, types and ranges
// the decoder accepts. Rules between keys that a schema cannot say are the decoder's alone.

package import Primitives

package enum SchemaWriter {
  /// The schema of a scenario file.
  package static func scenario() -> JSONValue {
    schema(ScenarioDefinition.scenario, "scenario", "A scenario of ssebench")
  }

  /// The schema of a MOCK.json.
  package static func mock() -> JSONValue { schema(MockDefinition.mock, "mock", "A mock of ssebench") }

  private static func schema(_ shape: Shape, _ name: String, _ title: String) -> JSONValue {
    var definitions = Definitions()
    let root = definitions.object(shape)
    var schema = JSONObject([
      ("$schema", "https://json-schema.org/draft/2020-12/schema"),
      ("$id", .string("urn:ssebench:\(name):\(ScenarioDefinition.version)")),
      ("title", .string(title)),
    ])
    for (key, value) in root.asObject?.pairs ?? [] { schema[key] = value }
    schema["$defs"] = .object(
      JSONObject(definitions.shared.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
    return .object(schema)
  }

  /// Schemas that are referred to by name.
  private struct Definitions {
    var shared: [String: JSONValue] = [
      "from_environment": .object([
        "description": "${NAME} is read from the environment", "type": "string",
        "pattern": #"(?:^|[^$])\$\{[A-Za-z_][A-Za-z0-9_]*\}"#,
      ]),
      "duration": unit("A duration with its unit", Units.durationPattern, "200ms"),
      "duration_above_0": unit("A duration above 0", positive(Units.durationPattern), "200ms"),
      "size": unit("A size with its unit", Units.sizePattern, "16KiB"),
      "rate": unit("Events per second, minute or hour", Units.ratePattern, "20/s"),
      "rate_above_0": unit("Events per second, minute or hour, above 0", positive(Units.ratePattern), "20/s"),
      "url": .object([
        "type": "string",
        "pattern": #"^(?:https?|wss?)://[^\u0000-\u0020\u007f\\]+$|(?:^|[^$])\$\{[A-Za-z_][A-Za-z0-9_]*\}"#,
      ]),
    ]

    /// A name's schema, made once.
    mutating func named(_ name: String, _ make: (inout Definitions) -> JSONValue) -> JSONValue {
      if shared[name] == nil {
        shared[name] = .bool(true)
        shared[name] = make(&self)
      }
      return reference(name)
    }

    mutating func object(_ shape: Shape) -> JSONValue {
      var properties = JSONObject()
      var rules: [JSONValue] = []
      for field in shape.fields {
        properties[field.name] = self.field(field)
        guard let condition = field.condition, let other = shape.field(condition.key) else { continue }
        rules.append(rule(field, condition, isDefault: other.standard?.asString))
      }
      for (one, other) in shape.exclusive {
        rules.append(.object(["not": .object(["required": .array([.string(one), .string(other)])])]))
      }
      var schema = JSONObject([
        ("type", "object"), ("additionalProperties", false), ("properties", .object(properties)),
      ])
      let required = shape.fields.filter { $0.isRequired && $0.condition == nil }.map {
        JSONValue.string($0.name)
      }
      if !required.isEmpty { schema["required"] = .array(required) }
      if !rules.isEmpty { schema["allOf"] = .array(rules) }
      return .object(schema)
    }

    /// A key that has a meaning under some values of another key only.
    private func rule(_ field: Field, _ condition: Field.Condition, isDefault standard: String?) -> JSONValue
    {
      let allowed = condition.values + condition.tolerated
      var test = JSONObject([
        (
          "properties",
          .object(
            JSONObject([
              (
                condition.key,
                .object([
                  "anyOf": .array([
                    .object(["enum": .array(allowed.map { .string($0) })]), reference("from_environment"),
                  ])
                ])
              )
            ]))
        )
      ])
      if standard.map(allowed.contains) != true { test["required"] = .array([.string(condition.key)]) }
      return .object([
        "if": .object(test),
        "then": true,
        "else": .object(["properties": .object(JSONObject([(field.name, false)]))]),
      ])
    }

    private mutating func field(_ field: Field) -> JSONValue {
      var schema = JSONObject([("description", .string(field.doc))])
      let kind = self.kind(field.kind)
      // A reference may stand beside other keywords in this draft.
      for (key, value) in kind.asObject?.pairs ?? [] where key != "description" { schema[key] = value }
      if let standard = field.standard { schema["default"] = standard }
      if let example = field.example { schema["examples"] = .array([example]) }
      return .object(schema)
    }

    mutating func kind(_ kind: Kind) -> JSONValue {
      switch kind {
      case .text(let length):
        var schema = JSONObject([("type", "string")])
        if length.lowerBound > 0 { schema["minLength"] = .integer(Int64(length.lowerBound)) }
        schema["maxLength"] = .integer(Int64(length.upperBound))
        return environmentOr(.object(schema), isNeeded: length.upperBound < 1_000)
      case .url: return reference("url")
      case .word(let words):
        return environmentOr(.object(["enum": .array(words.map { .string($0) })]), isNeeded: true)
      case .integer(let range):
        var schema = JSONObject([("type", "integer")])
        if range.lowerBound > .min { schema["minimum"] = .integer(Int64(range.lowerBound)) }
        if range.upperBound < .max { schema["maximum"] = .integer(Int64(range.upperBound)) }
        return .object(schema)
      case .number(let range, let above):
        return .object([
          "type": "number", above ? "exclusiveMinimum" : "minimum": .number(range.lowerBound),
          "maximum": .number(range.upperBound),
        ])
      case .boolean: return .object(["type": "boolean"])
      case .duration(let positive): return reference(positive ? "duration_above_0" : "duration")
      case .size: return reference("size")
      case .rate(let positive): return reference(positive ? "rate_above_0" : "rate")
      case .list(let kind, let count):
        var schema = JSONObject([("type", "array"), ("items", self.kind(kind))])
        if count.lowerBound > 0 { schema["minItems"] = .integer(Int64(count.lowerBound)) }
        schema["maxItems"] = .integer(Int64(count.upperBound))
        return .object(schema)
      case .map(let kind): return .object(["type": "object", "additionalProperties": self.kind(kind)])
      case .object(let shape): return named(shape.name) { $0.object(shape) }
      case .tagged(let name, let fields):
        return named(name) { definitions in
          .object([
            "type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
            "properties": .object(JSONObject(fields.map { ($0.name, definitions.field($0)) })),
          ])
        }
      case .either(let kinds): return .object(["anyOf": .array(kinds.map { self.kind($0) })])
      case .anything: return .bool(true)
      }
    }

    private func environmentOr(_ schema: JSONValue, isNeeded: Bool) -> JSONValue {
      isNeeded ? .object(["anyOf": .array([schema, reference("from_environment")])]) : schema
    }

    private func reference(_ name: String) -> JSONValue { .object(["$ref": .string("#/$defs/\(name)")]) }

    private static func unit(_ description: String, _ pattern: String, _ example: String) -> JSONValue {
      .object([
        "description": .string(description), "type": "string",
        "pattern": .string("^(?:\(pattern))$|" + #"(?:^|[^$])\$\{[A-Za-z_][A-Za-z0-9_]*\}"#),
        "examples": .array([.string(example)]),
      ])
    }

    /// The pattern for numbers with a digit other than 0.
    private static func positive(_ pattern: String) -> String { #"(?=[0.]*[1-9])"# + pattern }
  }
}
