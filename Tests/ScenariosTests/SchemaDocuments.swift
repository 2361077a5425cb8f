// Documents made at random from a schema, right ones and, by one change, mostly wrong ones.

import Primitives

struct SchemaDocuments {
  let checker: SchemaChecker
  var random: SeededRandom

  /// A document that follows the schema but for rules between keys.
  mutating func make() -> JSONValue { make(checker.root, depth: 0) }

  private mutating func make(_ schema: JSONValue, depth: Int) -> JSONValue {
    let schema = checker.resolve(schema)
    if let words = schema["enum"]?.asArray { return words.randomElement(using: &random) ?? .null }
    if let choices = schema["anyOf"]?.asArray {
      let plain = choices.filter { $0["$ref"] != "#/$defs/from_environment" }
      return make(plain.randomElement(using: &random) ?? true, depth: depth)
    }
    switch schema["type"]?.asString {
    case "string": return .string(text(schema))
    case "boolean": return .bool(Bool.random(using: &random))
    case "integer":
      let low = schema["minimum"]?.asInt ?? -100
      return .integer(
        Int64(Int.random(in: low...min(schema["maximum"]?.asInt ?? .max, low + 50), using: &random)))
    case "number":
      let low = schema["minimum"]?.asDouble ?? schema["exclusiveMinimum"]?.asDouble ?? 0
      let high = min(schema["maximum"]?.asDouble ?? 1e9, low + 100)
      return .number(high - (high - low) * random.uniform() * 0.99)
    case "array":
      let low = schema["minItems"]?.asInt ?? 0
      let count = Int.random(in: low...min(schema["maxItems"]?.asInt ?? 3, low + 2), using: &random)
      return .array((0..<count).map { _ in make(schema["items"] ?? true, depth: depth + 1) })
    case "object": return object(schema, depth: depth)
    default:
      return [.null, 5, "any", .array([1]), .object(["k": true])].randomElement(using: &random) ?? .null
    }
  }

  private mutating func object(_ schema: JSONValue, depth: Int) -> JSONValue {
    var object = JSONObject()
    let properties = schema["properties"]?.asObject?.pairs ?? []
    let required = (schema["required"]?.asArray ?? []).compactMap(\.asString)
    let most = schema["maxProperties"]?.asInt ?? .max
    for (key, inner) in properties.shuffled(using: &random) {
      let isNeeded = required.contains(key) || (schema["minProperties"] != nil && object.isEmpty)
      guard object.keys.count < most, isNeeded || random.uniform() < (depth < 2 ? 0.35 : 0.5) else {
        continue
      }
      object[key] = make(inner, depth: depth + 1)
    }
    if properties.isEmpty, let inner = schema["additionalProperties"], inner != .bool(false) {
      object["X-Key"] = make(inner, depth: depth + 1)
    }
    // Keys that have no meaning beside the others go.
    for rule in schema["allOf"]?.asArray ?? [] where !checker.accepts(.object(object), rule) {
      for key in rule["else"]?["properties"]?.asObject?.keys ?? [] { object[key] = nil }
      if let key = rule["not"]?["required"]?.asArray?.last?.asString { object[key] = nil }
    }
    return .object(object)
  }

  private mutating func text(_ schema: JSONValue) -> String {
    let pattern = schema["pattern"]?.asString ?? ""
    let words: [String] =
      if pattern.contains("https") {
        ["http://h/x", "https://[::1]:5/?q=1", "ws://h"]
      } else if pattern.contains("KiB") {
        ["16KiB", "64B", "1.5MiB", "512KiB"]
      } else if pattern.contains("min") { ["20/s", "90/min", "0.5/h"] } else if pattern.contains("ms") {
        ["200ms", "2.5s", "1m", "7ns", "3us"]
      } else {
        ["a", "data", "text with blanks", "0.0.0.0", "é漢"].filter {
          $0.count <= schema["maxLength"]?.asInt ?? 99
        }
      }
    return words.randomElement(using: &random) ?? "a"
  }

  /// One place of a document changed.
  mutating func spoil(_ document: JSONValue) -> JSONValue {
    switch document {
    case .object(var object):
      let key = object.keys.randomElement(using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: object["no_such_key"] = 5
      case 1: if let key { object[key] = nil }
      case 2:
        if let key, let value = object[key] {
          object[key] = nil
          object[key + "x"] = value
        }
      case 3: if let key { object[key] = scalar() }
      default: if let key, let value = object[key] { object[key] = spoil(value) }
      }
      return .object(object)
    case .array(var array):
      guard let index = array.indices.randomElement(using: &random) else { return scalar() }
      array[index] = spoil(array[index])
      return .array(array)
    default: return scalar()
    }
  }

  private mutating func scalar() -> JSONValue {
    let values: [JSONValue] = [
      .null, true, 0, -1, 3, 1_000_000_001, .number(0.5), .number(2), .number(-0.25), "", "5", "5 s", "-5s",
      "0s", "0.0/s", "1e3s", "5MB", "any",
      "always", "id", "sse", "whatwg", "http://", "http://a b", "${NAMED_VALUE}", "x${NAMED_VALUE}",
      "$${NAMED_VALUE}", .array([]), .array([1, 2]), .object([:]),
      .object(["events": 5]), .object(["uniform": .array([1, 2])]), .object(["trace": "no-such-file"]),
    ]
    return values.randomElement(using: &random) ?? .null
  }
}
