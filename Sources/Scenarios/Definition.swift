// The language in which the keys of a file are defined, once: from such a definition come decoding, default values,
// the JSON Schema and the commented file of `init`. Knows no key by name.

import Primitives

/// What a value may be.
indirect enum Kind: Sendable {
  case text(ClosedRange<Int>)
  /// http, https, ws or wss.
  case url
  case word([String])
  case integer(ClosedRange<Int>)
  /// A number in a range, or above its lower bound when `above`.
  case number(ClosedRange<Double>, above: Bool = false)
  case boolean
  /// Text with a unit; `positive` excludes 0.
  case duration(positive: Bool = false)
  case size(ClosedRange<Int>)
  case rate(positive: Bool = true)
  case list(Kind, ClosedRange<Int>)
  /// An object with keys of the user's.
  case map(Kind)
  case object(Shape)
  /// An object with exactly one of these keys.
  case tagged(String, [Field])
  /// Kinds of different JSON types; the value's type chooses.
  case either([Kind])
  case anything
}

/// An object with known keys.
struct Shape: Sendable {
  /// What it is called in the schema and in messages.
  var name: String
  var fields: [Field]
  /// Pairs of keys that may not stand together.
  var exclusive: [(String, String)] = []

  func field(_ name: String) -> Field? { fields.first { $0.name == name } }
}

/// One key.
struct Field: Sendable {
  var name: String
  var kind: Kind
  /// Filled in where the key is missing; nil: stays missing.
  var standard: JSONValue?
  /// One sentence without a full stop: meaning, unit, rule.
  var doc: String
  var isRequired = false
  /// Another key whose value decides whether this one has a meaning.
  var condition: Condition?
  /// The default is not filled in beside this key.
  var unless: String?
  /// Shown in the file that `init` writes, in force or commented out.
  var example: JSONValue?

  struct Condition: Sendable {
    var key: String
    var values: [String]
    /// Values under which the key is allowed but its default not filled in.
    var tolerated: [String] = []

    func holds(_ value: String) -> Bool { values.contains(value) || tolerated.contains(value) }
  }
}

extension Field {
  static func key(
    _ name: String, _ kind: Kind, _ standard: JSONValue? = nil, _ doc: String, required: Bool = false,
    when condition: Condition? = nil, unless: String? = nil, example: JSONValue? = nil
  ) -> Field {
    Field(
      name: name, kind: kind, standard: standard, doc: doc, isRequired: required, condition: condition,
      unless: unless,
      example: example)
  }
}

extension Kind {
  /// What is expected, for messages: `a duration such as "200ms"`.
  var expectation: String {
    switch self {
    case .text(let length):
      length.lowerBound > 0 ? "text of \(length.lowerBound) to \(length.upperBound) characters" : "text"
    case .url: "a URL such as \"https://host/path\""
    case .word(let words): words.map { "\"\($0)\"" }.joined(separator: ", ")
    case .integer(let range): "a whole number \(Kind.text(range.lowerBound, range.upperBound, Int.max))"
    case .number(let range, let above):
      above
        ? "a number above \(JSONValue.numberText(range.lowerBound))"
          + (range.upperBound < 1e15 ? ", at most \(JSONValue.numberText(range.upperBound))" : "")
        : "a number \(Kind.text(range.lowerBound, range.upperBound, 1e15))"
    case .boolean: "true or false"
    case .duration(let positive):
      "a duration\(positive ? " above 0" : ""), at most a year, such as \"200ms\", \"2.5s\" or \"1m\""
    case .size(let range):
      "a size from \(Units.sizeText(range.lowerBound)) to \(Units.sizeText(range.upperBound)), such as \"16KiB\""
    case .rate(let positive):
      "\(positive ? "more than 0" : "0 or more") per second, such as \"20/s\" or \"90/min\""
    case .list(let kind, let count):
      "a list of \(count.upperBound < 1_000_000 ? "\(count.lowerBound) to \(count.upperBound)" : count.lowerBound > 0 ? "\(count.lowerBound) or more" : "any number") of: \(kind.expectation)"
    case .map: "an object"
    case .object(let shape): "an object with the keys of \(shape.name)"
    case .tagged(_, let fields):
      "an object with one of the keys \(fields.map(\.name).joined(separator: ", "))"
    case .either(let kinds): kinds.map(\.expectation).joined(separator: ", or ")
    case .anything: "any JSON value"
    }
  }

  private static func text<Number: Comparable>(_ low: Number, _ high: Number, _ endless: Number) -> String {
    func word(_ number: Number) -> String { (number as? Double).map(JSONValue.numberText) ?? "\(number)" }
    return high >= endless ? "from \(word(low))" : "from \(word(low)) to \(word(high))"
  }

  /// Whether a value's JSON type is one that this kind takes.
  func takesType(of value: JSONValue) -> Bool {
    switch (self, value) {
    case (.text, .string), (.url, .string), (.word, .string), (.duration, .string), (.size, .string),
      (.rate, .string),
      (.integer, .integer), (.integer, .number), (.number, .integer), (.number, .number), (.boolean, .bool),
      (.list, .array), (.map, .object), (.object, .object), (.tagged, .object), (.anything, _):
      true
    case (.either(let kinds), _): kinds.contains { $0.takesType(of: value) }
    default: false
    }
  }
}
