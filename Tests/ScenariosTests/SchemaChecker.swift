// A small judge of JSON Schema, draft 2020-12: the keywords that our schemas use, and a failure for any other.

import Primitives

struct SchemaChecker {
  let root: JSONValue
  private let patterns: [String: Regex<AnyRegexOutput>]

  init(_ schema: JSONValue) {
    root = schema
    var patterns: [String: Regex<AnyRegexOutput>] = [:]
    Self.collect(schema, &patterns)
    self.patterns = patterns
  }

  private static func collect(_ value: JSONValue, _ patterns: inout [String: Regex<AnyRegexOutput>]) {
    switch value {
    case .object(let object):
      for (key, value) in object.pairs {
        if key == "pattern", case .string(let text) = value { patterns[text] = try? Regex(text) }
        collect(value, &patterns)
      }
    case .array(let values): for value in values { collect(value, &patterns) }
    default: break
    }
  }

  func accepts(_ value: JSONValue) -> Bool { accepts(value, root) }

  func resolve(_ schema: JSONValue) -> JSONValue {
    guard case .string(let reference)? = schema["$ref"] else { return schema }
    guard let found = root["$defs"]?[String(reference.dropFirst("#/$defs/".count))] else {
      preconditionFailure("no definition \(reference)")
    }
    return found
  }

  func accepts(_ value: JSONValue, _ schema: JSONValue) -> Bool {
    guard case .object(let keywords) = schema else { return schema == .bool(true) }
    return keywords.pairs.allSatisfy { keyword, argument in
      switch keyword {
      case "$schema", "$id", "$defs", "title", "description", "default", "examples", "then", "else",
        "additionalProperties":
        true
      case "$ref": accepts(value, resolve(schema))
      case "type": Self.isType(value, argument.asString ?? "")
      case "enum": argument.asArray?.contains(value) == true
      case "minimum": value.asDouble.map { $0 >= argument.asDouble ?? 0 } ?? true
      case "maximum": value.asDouble.map { $0 <= argument.asDouble ?? 0 } ?? true
      case "exclusiveMinimum": value.asDouble.map { $0 > argument.asDouble ?? 0 } ?? true
      case "minLength": value.asString.map { $0.unicodeScalars.count >= argument.asInt ?? 0 } ?? true
      case "maxLength": value.asString.map { $0.unicodeScalars.count <= argument.asInt ?? 0 } ?? true
      case "pattern": value.asString.map { text in matches(text, argument.asString ?? "") } ?? true
      case "items": value.asArray?.allSatisfy { accepts($0, argument) } ?? true
      case "minItems": value.asArray.map { $0.count >= argument.asInt ?? 0 } ?? true
      case "maxItems": value.asArray.map { $0.count <= argument.asInt ?? 0 } ?? true
      case "minProperties": value.asObject.map { $0.keys.count >= argument.asInt ?? 0 } ?? true
      case "maxProperties": value.asObject.map { $0.keys.count <= argument.asInt ?? 0 } ?? true
      case "required":
        value.asObject.map { object in
          argument.asArray?.allSatisfy { object[$0.asString ?? ""] != nil } == true
        } ?? true
      case "properties": properties(value, argument, schema["additionalProperties"])
      case "anyOf": argument.asArray?.contains { accepts(value, $0) } == true
      case "allOf": argument.asArray?.allSatisfy { accepts(value, $0) } == true
      case "not": !accepts(value, argument)
      case "if": accepts(value, schema[accepts(value, argument) ? "then" : "else"] ?? true)
      default: preconditionFailure("the keyword \(keyword) is not known here")
      }
    } && (keywords["properties"] != nil || properties(value, .object([:]), keywords["additionalProperties"]))
  }

  private func matches(_ text: String, _ pattern: String) -> Bool {
    guard let regex = patterns[pattern] else { preconditionFailure("\(pattern) is not a regular expression") }
    return (try? regex.firstMatch(in: text)) != nil
  }

  private func properties(_ value: JSONValue, _ properties: JSONValue, _ additional: JSONValue?) -> Bool {
    guard case .object(let object) = value else { return true }
    return object.pairs.allSatisfy { key, value in accepts(value, properties[key] ?? additional ?? true) }
  }

  private static func isType(_ value: JSONValue, _ type: String) -> Bool {
    switch (type, value) {
    case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool),
      ("number", .integer), ("number", .number):
      true
    case ("integer", .integer): true
    case ("integer", .number(let number)): number == number.rounded()
    default: false
    }
  }
}
