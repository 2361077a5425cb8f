// The text of a gate, `ttft_ms.p99 <= baseline * 1.10`, becomes a comparison of two terms over keys of a summary, or a
// problem with its column and the nearest key. Knows no values.

/// What is wrong with a gate's text.
package struct GateProblem: Error, Equatable, Sendable {
  package var expression: String
  /// From 1, in characters.
  package var column: Int
  package var message: String

  /// One sentence with the place: the caller puts file and key path before it.
  package var sentence: String { "`\(expression)`, column \(column): \(message)" }
}

/// A limit on a run's figures: two terms and a comparison.
package struct GateExpression: Equatable, Sendable {
  package enum Relation: String, Sendable, CaseIterable {
    case atMost = "<="
    case atLeast = ">="
    case equal = "=="
    case notEqual = "!="
    case below = "<"
    case above = ">"
  }

  /// A sum, product, number or key.
  package indirect enum Term: Equatable, Sendable {
    case number(Double)
    case key(GateKey)
    case baseline
    case negated(Term)
    case pair(Term, Operation, Term)
  }

  package enum Operation: Character, Sendable {
    case plus = "+"
    case minus = "-"
    case times = "*"
    case over = "/"
  }

  package let text: String
  package let left: Term
  package let relation: Relation
  package let right: Term

  /// Reads and checks a gate: grammar, every key against `knownKeys`, and `baseline` against the one key it stands for.
  package static func parse(_ text: String, knownKeys: KnownKeys) throws(GateProblem) -> GateExpression {
    var parser = GateParser(text: text, knownKeys: knownKeys)
    return try parser.expression()
  }

  /// The keys on both sides, each once.
  package var keys: [GateKey] {
    var found: [GateKey] = []
    for key in left.keys + right.keys where !found.contains(key) { found.append(key) }
    return found
  }

  package var usesBaseline: Bool { left.usesBaseline || right.usesBaseline }

  /// Whether every key says its variant or is the run's own, so that the gate is judged once and not for each variant.
  package var isOfRun: Bool { !keys.isEmpty && keys.allSatisfy { $0.scope != .eachVariant } }
}

extension GateExpression.Term {
  var keys: [GateKey] {
    switch self {
    case .number, .baseline: []
    case .key(let key): [key]
    case .negated(let term): term.keys
    case .pair(let a, _, let b): a.keys + b.keys
    }
  }

  var usesBaseline: Bool {
    switch self {
    case .number, .key: false
    case .baseline: true
    case .negated(let term): term.usesBaseline
    case .pair(let a, _, let b): a.usesBaseline || b.usesBaseline
    }
  }

  /// The value where every part has one; nil also for a division by zero.
  package func value(_ lookup: (GateKey) -> Double?, baseline: Double?) -> Double? {
    switch self {
    case .number(let number): return number
    case .key(let key): return lookup(key)
    case .baseline: return baseline
    case .negated(let term): return term.value(lookup, baseline: baseline).map { -$0 }
    case .pair(let a, let operation, let b):
      guard let x = a.value(lookup, baseline: baseline), let y = b.value(lookup, baseline: baseline) else { return nil }
      switch operation {
      case .plus: return x + y
      case .minus: return x - y
      case .times: return x * y
      case .over: return y == 0 ? nil : x / y
      }
    }
  }
}

extension GateExpression.Relation {
  package func holds(_ a: Double, _ b: Double) -> Bool {
    switch self {
    case .atMost: a <= b
    case .atLeast: a >= b
    case .equal: a == b
    case .notEqual: a != b
    case .below: a < b
    case .above: a > b
    }
  }
}

/// A place in a summary: a figure of each variant, of one variant by name, or of the run.
package struct GateKey: Hashable, Sendable {
  package enum Scope: Hashable, Sendable {
    case eachVariant
    case variant(String)
    case run
  }

  package var scope: Scope
  /// The path below the scope; array places are numbers.
  package var path: [String]

  package var text: String { path.joined(separator: ".") }
}

/// Recursive descent over the characters of one gate; at most `longest` of them and `deepest` parentheses.
private struct GateParser {
  static let longest = 2_000
  static let deepest = 50

  private let text: String
  private let characters: [Character]
  private let knownKeys: KnownKeys
  private var at = 0
  private var depth = 0

  init(text: String, knownKeys: KnownKeys) {
    self.text = text
    characters = Array(text.prefix(Self.longest + 1))
    self.knownKeys = knownKeys
  }

  private func problem(_ message: String, at place: Int? = nil) -> GateProblem {
    GateProblem(expression: text, column: (place ?? at) + 1, message: message)
  }

  mutating func expression() throws(GateProblem) -> GateExpression {
    if characters.count > Self.longest { throw problem("longer than \(Self.longest) characters", at: 0) }
    skipBlank()
    if at == characters.count { throw problem("empty; expected a comparison such as `ttft_ms.p99 < 400`") }
    let left = try sum()
    let relation = try self.relation()
    let right = try sum()
    skipBlank()
    if at < characters.count {
      throw problem("'\(String(characters[at...].prefix(20)))' after the end of the comparison; expected one comparison")
    }
    let expression = GateExpression(text: text, left: left, relation: relation, right: right)
    if expression.usesBaseline && expression.keys.count != 1 {
      throw problem(
        "`baseline` is the same key of the baseline run, so exactly one key is expected; found \(expression.keys.count)", at: 0)
    }
    if expression.keys.isEmpty { throw problem("no key of the summary in it; expected one such as `ttft_ms.p99`", at: 0) }
    return expression
  }

  private mutating func skipBlank() {
    while at < characters.count, characters[at].isWhitespace { at += 1 }
  }

  private mutating func relation() throws(GateProblem) -> GateExpression.Relation {
    skipBlank()
    for relation in GateExpression.Relation.allCases {
      let symbol = Array(relation.rawValue)
      if characters.count >= at + symbol.count, Array(characters[at..<at + symbol.count]) == symbol {
        at += symbol.count
        return relation
      }
    }
    throw problem("expected one of < <= > >= == != here")
  }

  private mutating func sum() throws(GateProblem) -> GateExpression.Term {
    var term = try product()
    while true {
      skipBlank()
      guard at < characters.count, characters[at] == "+" || characters[at] == "-",
        let operation = GateExpression.Operation(rawValue: characters[at])
      else { return term }
      at += 1
      term = .pair(term, operation, try product())
    }
  }

  private mutating func product() throws(GateProblem) -> GateExpression.Term {
    var term = try single()
    while true {
      skipBlank()
      guard at < characters.count, characters[at] == "*" || characters[at] == "/",
        let operation = GateExpression.Operation(rawValue: characters[at])
      else { return term }
      at += 1
      term = .pair(term, operation, try single())
    }
  }

  private mutating func single() throws(GateProblem) -> GateExpression.Term {
    skipBlank()
    guard at < characters.count else { throw problem("ends where a number or a key is expected") }
    depth += 1
    defer { depth -= 1 }
    if depth > Self.deepest { throw problem("nested deeper than \(Self.deepest)") }
    let character = characters[at]
    if character == "-" {
      at += 1
      return .negated(try single())
    }
    if character == "(" {
      at += 1
      let inner = try sum()
      skipBlank()
      guard at < characters.count, characters[at] == ")" else { throw problem("`)` is missing") }
      at += 1
      return inner
    }
    if character.isASCII && (character.isNumber || character == ".") { return .number(try number()) }
    if character.isLetter || character == "_" { return try key() }
    throw problem("'\(character)' where a number or a key is expected")
  }

  private mutating func number() throws(GateProblem) -> Double {
    let start = at
    while at < characters.count {
      let character = characters[at]
      let signs = (character == "+" || character == "-") && "eE".contains(characters[at - 1])
      guard character.isASCII && (character.isNumber || ".eE".contains(character)) || signs else { break }
      at += 1
    }
    let word = String(characters[start..<at])
    guard let value = Double(word), value.isFinite else { throw problem("'\(word)' is not a number", at: start) }
    if at < characters.count, characters[at].isLetter || characters[at] == "%" {
      throw problem("a number has no unit here: the key's name says it", at: start)
    }
    return value
  }

  private mutating func key() throws(GateProblem) -> GateExpression.Term {
    let start = at
    var path = [word()]
    while at < characters.count {
      if characters[at] == "." {
        at += 1
        guard at < characters.count, characters[at].isLetter || characters[at].isNumber || characters[at] == "_" else {
          throw problem("a name is expected after `.`")
        }
        path.append(word())
      } else if characters[at] == "[" {
        at += 1
        path.append(try subscripted())
      } else {
        break
      }
    }
    switch path {
    case ["baseline"]: return .baseline
    case ["true"]: return .number(1)
    case ["false"]: return .number(0)
    default: break
    }
    switch knownKeys.find(path) {
    case .success(let key): return .key(key)
    case .failure(let unknown): throw problem(unknown.message, at: start)
    }
  }

  private mutating func word() -> String {
    let start = at
    while at < characters.count, characters[at].isLetter || characters[at].isNumber || characters[at] == "_" { at += 1 }
    return String(characters[start..<at])
  }

  private mutating func subscripted() throws(GateProblem) -> String {
    skipBlank()
    guard at < characters.count else { throw problem("`]` is missing") }
    var name = ""
    let quote = characters[at]
    if quote == "\"" || quote == "'" {
      at += 1
      while at < characters.count, characters[at] != quote {
        name.append(characters[at])
        at += 1
      }
      guard at < characters.count else { throw problem("the closing \(quote) is missing") }
      at += 1
    } else {
      name = word()
    }
    skipBlank()
    guard at < characters.count, characters[at] == "]", !name.isEmpty else { throw problem("`]` is missing") }
    at += 1
    return name
  }
}
