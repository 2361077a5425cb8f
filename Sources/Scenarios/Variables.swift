// `${NAME}` in the strings of a file becomes the value from the environment. `$${` stands for the characters `${`.

import Primitives

/// The variables that a document names, with their values.
package struct Variables: Sendable {
  private let environment: [String: String]
  /// What the document uses, in order of first use.
  private(set) var used: [(name: String, value: String)] = []

  /// The shortest value that can be found again in a text without false alarms.
  static let shortestSecret = 4

  package init(environment: [String: String]) { self.environment = environment }

  /// Notes every variable in the strings of `value`; returns what is unset, too short or not a name.
  mutating func collect(_ value: JSONValue, at path: String = "") -> [ScenarioProblem] {
    switch value {
    case .string(let text): collect(text, at: path)
    case .array(let values):
      values.enumerated().flatMap { collect($1, at: path.appending(key: "\($0)")) }
    case .object(let object): object.pairs.flatMap { collect($0.value, at: path.appending(key: $0.key)) }
    default: []
    }
  }

  private mutating func collect(_ text: String, at path: String) -> [ScenarioProblem] {
    var problems: [ScenarioProblem] = []
    for piece in Self.pieces(of: text) {
      switch piece {
      case .literal: break
      case .malformed:
        problems.append(
          ScenarioProblem(
            path, "${ without a name and }", expected: "${NAME} with letters, digits and _",
            suggestion: "Write $${ for the characters ${"))
      case .variable(let name):
        guard let value = environment[name] else {
          problems.append(
            ScenarioProblem(
              path, "${\(name)} is not set in the environment", expected: "a value",
              suggestion: "Set it: export \(name)=…"))
          continue
        }
        if value.unicodeScalars.count < Self.shortestSecret {
          problems.append(
            ScenarioProblem(
              path, "${\(name)} has fewer than \(Self.shortestSecret) characters",
              expected: "a value that can be kept out of reports",
              suggestion: "Write a value that is no secret into the file"))
          continue
        }
        if !used.contains(where: { $0.name == name }) { used.append((name, value)) }
      }
    }
    return problems
  }

  /// A text from the command line with its variables replaced; what is unset or malformed ends it.
  package mutating func resolve(_ text: String, for flag: String) throws(ScenarioFailure) -> String {
    let problems = collect(text, at: flag)
    if !problems.isEmpty { throw ScenarioFailure(.invalid, problems) }
    return expand(text)
  }

  /// The text with every variable that is set replaced.
  func expand(_ text: String) -> String {
    if !text.utf8.contains(UInt8(ascii: "$")) { return text }
    return Self.pieces(of: text).map { piece in
      switch piece {
      case .literal(let text): text
      case .variable(let name): environment[name] ?? "${\(name)}"
      case .malformed: "${"
      }
    }.joined()
  }

  func expand(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(expand(text))
    case .array(let values): .array(values.map(expand))
    case .object(let object): .object(JSONObject(object.pairs.map { ($0.key, expand($0.value)) }))
    default: value
    }
  }

  /// The text so that `expand` gives it back as it is.
  static func escape(_ text: String) -> String { text.replacing("${", with: "$${") }

  static func hasVariable(_ text: String) -> Bool {
    pieces(of: text).contains { if case .variable = $0 { true } else { false } }
  }

  private enum Piece {
    case literal(String)
    case variable(String)
    case malformed
  }

  private static func pieces(of text: String) -> [Piece] {
    let bytes = Array(text.utf8)
    let (dollar, open, close) = (UInt8(ascii: "$"), UInt8(ascii: "{"), UInt8(ascii: "}"))
    var pieces: [Piece] = []
    var literal: [UInt8] = []
    var at = 0
    func flush() {
      if !literal.isEmpty { pieces.append(.literal(String(decoding: literal, as: UTF8.self))) }
      literal = []
    }
    while at < bytes.count {
      if bytes[at...].starts(with: [dollar, dollar, open]) {
        literal += [dollar, open]
        at += 3
      } else if bytes[at...].starts(with: [dollar, open]) {
        flush()
        let name = bytes[(at + 2)...].prefix { isNameByte($0) }
        let end = at + 2 + name.count
        if let first = name.first, !(0x30...0x39).contains(first), end < bytes.count, bytes[end] == close {
          pieces.append(.variable(String(decoding: name, as: UTF8.self)))
          at = end + 1
        } else {
          pieces.append(.malformed)
          at += 2
        }
      } else {
        literal.append(bytes[at])
        at += 1
      }
    }
    flush()
    return pieces
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
    default: false
    }
  }
}
