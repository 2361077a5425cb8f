// A JSON document as a value that keeps the order of keys and tells integers from fractions. Our own reader and not
// Foundation's, since scenario files need key order, line numbers, comments, duplicate keys and a depth limit.

/// A JSON value. Objects keep their keys in the order of the text.
package indirect enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  package static func object(_ pairs: KeyValuePairs<String, JSONValue>) -> JSONValue {
    .object(JSONObject(pairs.map { ($0.key, $0.value) }))
  }

  package subscript(key: String) -> JSONValue? {
    if case .object(let object) = self { return object[key] }
    return nil
  }

  package subscript(index: Int) -> JSONValue? {
    if case .array(let array) = self, array.indices.contains(index) { return array[index] }
    return nil
  }

  package var asString: String? { if case .string(let s) = self { s } else { nil } }
  package var asBool: Bool? { if case .bool(let b) = self { b } else { nil } }
  package var asArray: [JSONValue]? { if case .array(let a) = self { a } else { nil } }
  package var asObject: JSONObject? { if case .object(let o) = self { o } else { nil } }
  package var isNull: Bool { self == .null }

  /// A number as a double, whether it was written as an integer or not.
  package var asDouble: Double? {
    switch self {
    case .integer(let i): Double(i)
    case .number(let d): d
    default: nil
    }
  }

  /// A whole number, also when it was written `1e3` or `2.0`.
  package var asInt: Int? {
    switch self {
    case .integer(let i): Int(exactly: i)
    case .number(let d): Int(exactly: d)
    default: nil
    }
  }
}

/// An object: keys in order, found by a linear search when few, by a table when many.
package struct JSONObject: Equatable, Sendable {
  package private(set) var pairs: [(key: String, value: JSONValue)]
  private var table: [String: Int]

  package init(_ pairs: [(String, JSONValue)] = []) {
    self.pairs = []
    table = [:]
    for (key, value) in pairs { self[key] = value }
  }

  package var keys: [String] { pairs.map(\.key) }
  package var isEmpty: Bool { pairs.isEmpty }

  package subscript(key: String) -> JSONValue? {
    get { table[key].map { pairs[$0].value } }
    set {
      if let at = table[key] {
        if let newValue {
          pairs[at].value = newValue
        } else {
          pairs.remove(at: at)
          table = Dictionary(uniqueKeysWithValues: pairs.enumerated().map { ($1.key, $0) })
        }
      } else if let newValue {
        table[key] = pairs.count
        pairs.append((key, newValue))
      }
    }
  }

  package static func == (a: JSONObject, b: JSONObject) -> Bool {
    a.pairs.count == b.pairs.count && zip(a.pairs, b.pairs).allSatisfy { $0 == $1 }
  }
}
