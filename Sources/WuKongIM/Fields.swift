// Typed reading of an object from the wire. A missing or null field is nil; one of another type is an error that names
// the place. Numbers that the server writes as strings are accepted where the protocol knows both forms.

internal import Primitives

struct Fields {
  let value: JSONValue
  let place: String

  init(_ value: JSONValue, place: String) {
    self.value = value
    self.place = place
  }

  private func present(_ name: String) -> JSONValue? {
    guard let field = value[name], !field.isNull else { return nil }
    return field
  }

  private func wrong(_ name: String, _ expected: String) -> DecodeProblem {
    .wrongType("\(place).\(name)", expected: expected)
  }

  func string(_ name: String) throws(DecodeProblem) -> String? {
    guard let field = present(name) else { return nil }
    guard let text = field.asString else { throw wrong(name, "a string") }
    return text
  }

  /// A string that will be remembered: bounded.
  func key(_ name: String) throws(DecodeProblem) -> String? {
    guard let text = try string(name) else { return nil }
    if text.utf8.count > StreamEvent.maximumKeyBytes {
      throw .tooLong("\(place).\(name)", limit: StreamEvent.maximumKeyBytes)
    }
    return text
  }

  func integer(_ name: String) throws(DecodeProblem) -> Int? {
    guard let field = present(name) else { return nil }
    guard let number = field.asInt else { throw wrong(name, "a whole number") }
    return number
  }

  /// A byte offset: whole and not negative.
  func offset(_ name: String) throws(DecodeProblem) -> Int? {
    guard let number = try integer(name) else { return nil }
    if number < 0 { throw wrong(name, "a number of bytes, 0 or more") }
    return number
  }

  /// A message sequence: a number, or a string of digits as event data has it. Zero and other texts mean unknown.
  func sequence(_ name: String) throws(DecodeProblem) -> Int64? {
    guard let field = present(name) else { return nil }
    switch field {
    case .integer(let number): return number > 0 ? number : nil
    case .string(let text):
      guard let number = Int64(text), number > 0 else { return nil }
      return number
    default:
      guard let number = field.asInt else { throw wrong(name, "a sequence number") }
      return number > 0 ? Int64(number) : nil
    }
  }

  func bool(_ name: String) throws(DecodeProblem) -> Bool? {
    guard let field = present(name) else { return nil }
    guard let flag = field.asBool else { throw wrong(name, "true or false") }
    return flag
  }

  func object(_ name: String) throws(DecodeProblem) -> JSONValue? {
    guard let field = present(name) else { return nil }
    guard field.asObject != nil else { throw wrong(name, "an object") }
    return field
  }

  func array(_ name: String) throws(DecodeProblem) -> [JSONValue]? {
    guard let field = present(name) else { return nil }
    guard let elements = field.asArray else { throw wrong(name, "an array") }
    return elements
  }

  /// Whether `kind` is `text`; `orAbsent` is the answer where there is no kind.
  func isText(orAbsent: Bool) throws(DecodeProblem) -> Bool {
    guard let kind = try string("kind") else { return orAbsent }
    return ByteText(kind) == "text"
  }
}
