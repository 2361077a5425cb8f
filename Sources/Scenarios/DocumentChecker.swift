// A document and its definition become the document as used, with every default filled in and the keys in the order of
// the definition, and the list of everything that does not fit. A value that does not fit is left out, so that later
// checks go on with the rest. Knows no key by name.

import Primitives

struct DocumentChecker {
  let environment: Variables
  /// Key paths whose value varies between variants: a key that depends on one of them is not judged here.
  var varied: Set<String> = []
  /// Whether keys without a meaning under the other keys are dropped in silence, as in one variant of several.
  var dropsUnused = false
  private(set) var problems: [ScenarioProblem] = []

  init(environment: Variables) { self.environment = environment }

  /// The document as used; what does not fit is added to `problems`.
  mutating func check(_ value: JSONValue, as shape: Shape) -> JSONValue {
    check(value, as: .object(shape), at: "") ?? .object([:])
  }

  /// More problems than anyone reads are not collected.
  private static let mostProblems = 1_000

  private mutating func refuse(
    _ path: String, _ found: String, _ expected: String, _ suggestion: String = "", isRule: Bool = false
  ) -> JSONValue? {
    if problems.count < Self.mostProblems {
      var problem = ScenarioProblem(path, found, expected: expected, suggestion: suggestion)
      problem.isRule = isRule
      problems.append(problem)
    }
    return nil
  }

  private mutating func check(_ value: JSONValue, as kind: Kind, at path: String) -> JSONValue? {
    if !kind.takesType(of: value) { return wrongType(value, kind, path) }
    switch (kind, value) {
    case (.either(let kinds), _):
      guard let match = kinds.first(where: { $0.takesType(of: value) }) else {
        return wrongType(value, kind, path)
      }
      return check(value, as: match, at: path)
    case (.anything, _), (.boolean, _): return value
    case (.integer(let range), _):
      guard let number = value.asInt else {
        return refuse(path, "\(excerpt(value)) is not a whole number", kind.expectation)
      }
      return range.contains(number) ? .integer(Int64(number)) : outOfRange(value, kind, path)
    case (.number(let range, let above), _):
      guard let number = value.asDouble, range.contains(number), !above || number > range.lowerBound else {
        return outOfRange(value, kind, path)
      }
      return value
    case (.list(let kind, let count), .array(let elements)): return list(elements, of: kind, count, at: path)
    case (.map(let kind), .object(let object)):
      return .object(
        JSONObject(
          object.pairs.compactMap { key, value in
            check(value, as: kind, at: path.appending(key: key)).map { (key, $0) }
          }))
    case (.object(let shape), .object(let object)): return self.object(object, as: shape, at: path)
    case (.tagged(_, let fields), .object(let object)): return tagged(object, fields, kind, at: path)
    case (_, .string(let text)): return self.text(text, as: kind, at: path)
    default: return wrongType(value, kind, path)
    }
  }

  private mutating func wrongType(_ value: JSONValue, _ kind: Kind, _ path: String) -> JSONValue? {
    var suggestion = ""
    if let number = value.asDouble, case .string(let text)? = Self.withUnit(number, kind) {
      suggestion = "Write \"\(text)\""
    } else if case .string(let text) = value, Kind.takesNumber(kind), Double(text) != nil {
      suggestion = "Write it without quotes"
    }
    let what: String =
      switch value {
      case .null: "null"
      case .bool, .integer, .number: excerpt(value)
      case .string: "the text \(excerpt(value))"
      case .array: "a list"
      case .object: "an object"
      }
    return refuse(path, "\(what) is of the wrong type", kind.expectation, suggestion)
  }

  /// What a bare number most likely meant.
  private static func withUnit(_ number: Double, _ kind: Kind) -> JSONValue? {
    guard number >= 0 else { return nil }
    switch kind {
    case .duration: return .string(JSONValue.numberText(number) + "ms")
    case .rate: return number > 0 ? .string(Units.rateText(perSecond: number)) : nil
    case .size: return .string(JSONValue.numberText(number) + "B")
    case .either(let kinds): return kinds.lazy.compactMap { withUnit(number, $0) }.first
    default: return nil
    }
  }

  private mutating func outOfRange(_ value: JSONValue, _ kind: Kind, _ path: String) -> JSONValue? {
    refuse(path, "\(excerpt(value)) is out of range", kind.expectation)
  }

  private mutating func list(
    _ elements: [JSONValue], of kind: Kind, _ count: ClosedRange<Int>, at path: String
  ) -> JSONValue? {
    if !count.contains(elements.count) {
      return refuse(path, "a list of \(elements.count)", Kind.list(kind, count).expectation)
    }
    return .array(elements.enumerated().compactMap { check($1, as: kind, at: path.appending(key: "\($0)")) })
  }

  private mutating func text(_ text: String, as kind: Kind, at path: String) -> JSONValue? {
    let before = problems.count
    let checked = self.checked(text, as: kind, at: path)
    // What is in the environment no schema can know.
    if problems.count > before, Variables.hasVariable(text) { problems[before].isRule = true }
    return checked
  }

  private mutating func checked(_ text: String, as kind: Kind, at path: String) -> JSONValue? {
    let used = environment.expand(text)
    let shown = excerpt(.string(text))
    switch kind {
    case .text(let length):
      let count = used.unicodeScalars.count
      if !length.contains(count) { return refuse(path, "\(count) characters", kind.expectation) }
    case .url:
      let schemes = ["http://", "https://", "ws://", "wss://"]
      guard schemes.contains(where: { used.hasPrefix($0) }), !used.utf8.contains(UInt8(ascii: "\\")),
        WebAddress(anyScheme: used) != nil
      else { return refuse(path, "\(shown) is not a URL", kind.expectation) }
    case .word(let words):
      if !words.contains(used) {
        let near = NearestWord.find(used, among: words)
        return refuse(
          path, "\(shown) is not known here", kind.expectation, near.map { "Did you mean \"\($0)\"?" } ?? "")
      }
    case .duration(let positive):
      guard let duration = Units.duration(used), !positive || duration > .zero else {
        return refuse(
          path, "\(shown) is not a duration", kind.expectation,
          Self.unitHint(used, Units.durations.map(\.unit), "ms"),
          isRule: Units.isTooLongDuration(used))
      }
    case .size(let range):
      guard let size = Units.size(used) else {
        return refuse(
          path, "\(shown) is not a size", kind.expectation,
          Self.unitHint(used, Units.sizes.map(\.unit), "KiB"))
      }
      if !range.contains(size) {
        return refuse(path, "\(shown) is out of range", kind.expectation, isRule: true)
      }
    case .rate(let positive):
      guard let rate = Units.rate(used), rate.isFinite, !positive || rate > 0 else {
        return refuse(
          path, "\(shown) is not a rate", kind.expectation, Self.unitHint(used, Units.rates.map(\.unit), "/s")
        )
      }
    default: break
    }
    return .string(text)
  }

  /// Which unit was meant, where the number is right and the unit is not.
  private static func unitHint(_ text: String, _ units: [String], _ usual: String) -> String {
    if text.hasPrefix("-") { return "It cannot be negative" }
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard !number.isEmpty else { return "" }
    let unit = text.dropFirst(number.count).filter { $0 != " " }
    if unit.isEmpty { return "Write the unit: \"\(number)\(usual)\"" }
    if units.contains(unit) {
      return unit.count == text.count - number.count ? "" : "Write \"\(number)\(unit)\""
    }
    return "The units are \(units.filter { $0 != "µs" }.joined(separator: ", "))"
  }

  private mutating func tagged(_ object: JSONObject, _ fields: [Field], _ kind: Kind, at path: String)
    -> JSONValue?
  {
    guard object.pairs.count == 1 else {
      return refuse(
        path,
        object.isEmpty ? "an empty object" : "an object with the keys \(object.keys.joined(separator: ", "))",
        kind.expectation, object.isEmpty ? "" : "Exactly one of them may stand")
    }
    let (key, value) = object.pairs[0]
    guard let field = fields.first(where: { $0.name == key }) else {
      return unknown(key, fields.map(\.name), at: path)
    }
    return check(value, as: field.kind, at: path.appending(key: key)).map { .object(JSONObject([(key, $0)])) }
  }

  private mutating func unknown(_ key: String, _ known: [String], at path: String) -> JSONValue? {
    if problems.count >= Self.mostProblems { return nil }
    let near = NearestWord.find(key, among: known)
    return refuse(
      path.appending(key: String(key.prefix(100))), "an unknown key",
      "one of \(known.filter { $0 != "$schema" }.joined(separator: ", "))",
      near.map { "Did you mean \"\($0)\"?" } ?? "")
  }

  private mutating func object(_ object: JSONObject, as shape: Shape, at path: String) -> JSONValue? {
    for key in object.keys where shape.field(key) == nil {
      _ = unknown(key, shape.fields.map(\.name), at: path)
    }
    for (one, other) in shape.exclusive where object[one] != nil && object[other] != nil {
      _ = refuse(path.appending(key: other), "\(one) and \(other) stand together", "only one of them")
    }
    var result = JSONObject()
    for field in shape.fields {
      let place = path.appending(key: field.name)
      let applies = self.applies(field, in: object, shape, at: path)
      guard let value = object[field.name] else {
        if field.isRequired, applies == .yes {
          _ = refuse(place, "is missing", field.kind.expectation, "\(field.doc)")
        }
        let isReplaced =
          field.unless.map { object[$0] != nil || varied.contains(path.appending(key: $0)) } ?? false
        if let standard = field.standard, applies == .yes, !isReplaced {
          result[field.name] = check(standard, as: field.kind, at: place)
        }
        continue
      }
      if case .no(let found, let words) = applies {
        if dropsUnused { continue }
        _ = refuse(
          place, "has no meaning where \(found)",
          "\(words.key) to be one of \(words.values.joined(separator: ", "))", "Leave it out")
        continue
      }
      let checked = check(value, as: field.kind, at: place)
      if field.name != "$schema" { result[field.name] = checked }
    }
    return .object(result)
  }

  private enum Applies: Equatable {
    case yes
    /// Allowed; its default is not filled in.
    case tolerated
    case no(String, Words)

    struct Words: Equatable {
      var key: String
      var values: [String]
    }
  }

  private func applies(_ field: Field, in object: JSONObject, _ shape: Shape, at path: String) -> Applies {
    guard let condition = field.condition else { return .yes }
    if varied.contains(path.appending(key: condition.key)) { return .tolerated }
    let value = object[condition.key] ?? shape.field(condition.key)?.standard
    guard case .string(let raw)? = value else { return .tolerated }
    let word = environment.expand(raw)
    guard case .word(let words)? = shape.field(condition.key)?.kind, words.contains(word) else {
      return .tolerated
    }
    if condition.values.contains(word) { return .yes }
    if condition.tolerated.contains(word) { return .tolerated }
    return .no("\(condition.key) is \"\(word)\"", .init(key: condition.key, values: condition.values))
  }

  /// The value as it stands in the file, at most 60 characters of it.
  private func excerpt(_ value: JSONValue) -> String {
    let text = value.text()
    return text.count > 60 ? text.prefix(57) + "…" : text
  }
}

extension Kind {
  fileprivate static func takesNumber(_ kind: Kind) -> Bool {
    switch kind {
    case .integer, .number: true
    case .either(let kinds): kinds.contains(where: takesNumber)
    default: false
    }
  }
}

extension String {
  /// The key path one step further.
  func appending(key: String) -> String { isEmpty ? key : "\(self).\(key)" }
}
