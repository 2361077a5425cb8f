// What is wrong with a scenario or mock file, where, and what to write instead. Knows no exit code: the command maps
// the kind of a failure to one.

/// One thing to fix.
package struct ScenarioProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// As the user named it; `--set` for an override, `-` for standard input.
  package var file: String
  /// `load.rate`, `endpoint.mock.faults.0.kind`; empty for the file as a whole.
  package var keyPath: String
  /// From 1; nil where the key does not stand in the file.
  package var line: Int?
  /// What stands there and what is wrong with it. Never holds a value from the environment.
  package var found: String
  package var expected: String
  /// A sentence with what to do; may be empty.
  package var suggestion: String
  /// Whether it shows only when keys are read together, from a unit's range, or from the environment or a file: what
  /// the JSON Schema cannot say.
  package var isRule = true

  package init(
    file: String = "", _ keyPath: String, _ found: String, expected: String = "", suggestion: String = ""
  ) {
    self.file = file
    self.keyPath = keyPath
    self.found = found
    self.expected = expected
    self.suggestion = suggestion
  }

  /// `quickstart.json:12: load.rate: "0/s" is not a rate; expected more than 0 per second. Write …`
  package var description: String {
    var text = file
    if let line { text += ":\(line)" }
    if !text.isEmpty { text += ": " }
    if !keyPath.isEmpty { text += "\(keyPath): " }
    text += found
    if !expected.isEmpty { text += "; expected \(expected)" }
    if !suggestion.isEmpty { text += ". \(suggestion)" }
    return text
  }
}

/// Why there is no scenario.
package struct ScenarioFailure: Error, Sendable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable {
    /// Missing, a folder, or not readable.
    case unreadable
    /// Not JSON, over 16 MiB, or nested deeper than 64.
    case badData
    /// JSON, but not a scenario; also an unset `${NAME}`.
    case invalid
  }

  package var kind: Kind
  /// All of them, in the order of the file, at most some thousand; never empty.
  package var problems: [ScenarioProblem]

  package init(_ kind: Kind, _ problems: [ScenarioProblem]) {
    self.kind = kind
    self.problems = problems
  }

  package var description: String { problems.map(\.description).joined(separator: "\n") }
}
