// A place in a checked document, read as the types of a scenario: nil where nothing stands. Variables are replaced here.

import Primitives

struct Reading {
  var value: JSONValue?
  var path: String
  let variables: Variables

  init(_ value: JSONValue?, path: String = "", variables: Variables) {
    self.value = value
    self.path = path
    self.variables = variables
  }

  subscript(key: String) -> Reading {
    Reading(value?[key], path: path.appending(key: key), variables: variables)
  }

  var exists: Bool { value != nil }
  var string: String? { value?.asString.map(variables.expand) }
  var int: Int? { value?.asInt }
  var double: Double? { value?.asDouble }
  var bool: Bool? { value?.asBool }
  var duration: Nanoseconds? { string.flatMap(Units.duration) }
  var size: Int? { string.flatMap(Units.size) }
  var rate: Double? { string.flatMap(Units.rate) }

  func word<Word: RawRepresentable<String>>(_: Word.Type = Word.self) -> Word? {
    string.flatMap(Word.init(rawValue:))
  }

  var list: [Reading] {
    (value?.asArray ?? []).enumerated().map {
      Reading($1, path: path.appending(key: "\($0)"), variables: variables)
    }
  }

  var pairs: [(key: String, value: Reading)] {
    (value?.asObject?.pairs ?? []).map { ($0.key, self[$0.key]) }
  }
}
