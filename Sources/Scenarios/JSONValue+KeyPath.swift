// A value inside a document by its key path, `endpoint.mock.faults.0.kind`: read, and written.

package import Primitives

/// Why a key path cannot be written.
struct KeyPathError: Error {
  var message: String
}

extension JSONValue {
  /// The value at a key path; an array's elements by number.
  package func value(at path: some Collection<String>) -> JSONValue? {
    guard let key = path.first else { return self }
    switch self {
    case .object(let object): return object[key]?.value(at: path.dropFirst())
    case .array(let array):
      return Int(key).flatMap { array.indices.contains($0) ? array[$0] : nil }?.value(at: path.dropFirst())
    default: return nil
    }
  }

  package func value(at path: String) -> JSONValue? { value(at: path.keys) }

  /// Writes a value, making the objects and lists on the way; a list takes one element more at its end.
  mutating func set(_ path: some Collection<String>, to new: JSONValue) throws(KeyPathError) {
    guard let key = path.first else {
      self = new
      return
    }
    let rest = path.dropFirst()
    switch self {
    case .object(var object):
      var inner = object[key] ?? (rest.first.flatMap { Int($0) } == nil ? .object([:]) : .array([]))
      try inner.set(rest, to: new)
      object[key] = inner
      self = .object(object)
    case .array(var array):
      guard let index = Int(key), (0...array.count).contains(index) else {
        throw KeyPathError(
          message:
            "'\(key)' is not a place in a list of \(array.count); expected a number from 0 to \(array.count)")
      }
      if index == array.count { array.append(.object([:])) }
      try array[index].set(rest, to: new)
      self = .array(array)
    default:
      self = .object([:])
      try set(path, to: new)
    }
  }
}

extension String {
  /// The keys of a key path.
  var keys: [String] { split(separator: ".", omittingEmptySubsequences: false).map(String.init) }
}

extension Kind {
  /// The kind of the value at a key path, or the step at which the definition has no such key and what it has there.
  func kind(at path: some Collection<String>) -> Result<Kind, UnknownKey> {
    guard let key = path.first else { return .success(self) }
    let rest = path.dropFirst()
    switch self {
    case .object(let shape): return Self.find(key, shape.fields, rest)
    case .tagged(_, let fields): return Self.find(key, fields, rest)
    case .map(let kind): return kind.kind(at: rest)
    case .list(let kind, _):
      return Int(key) != nil ? kind.kind(at: rest) : .failure(UnknownKey(key: key, known: []))
    case .anything: return .success(.anything)
    case .either(let kinds):
      let results = kinds.map { $0.kind(at: path) }
      return results.first { if case .success = $0 { true } else { false } } ?? results.last
        ?? .failure(UnknownKey(key: key, known: []))
    default: return .failure(UnknownKey(key: key, known: []))
    }
  }

  private static func find(_ key: String, _ fields: [Field], _ rest: some Collection<String>) -> Result<
    Kind, UnknownKey
  > {
    guard let field = fields.first(where: { $0.name == key }) else {
      return .failure(UnknownKey(key: key, known: fields.map(\.name)))
    }
    return field.kind.kind(at: rest)
  }
}

/// A step of a key path that the definition does not know.
struct UnknownKey: Error {
  var key: String
  /// The keys that stand there; empty where none can.
  var known: [String]
}
