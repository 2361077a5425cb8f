// What became of one gate on one variant.

package import Primitives

package struct GateResult: Sendable, Equatable {
  package var expression: String
  /// nil where the gate speaks of the run as a whole or names its variants itself.
  package var variant: String?
  /// The left side's value; nil where it was not measured.
  package var observed: Double?
  /// The right side's value.
  package var limit: Double?
  /// nil: not judged, because it needs a baseline and none was given.
  package var held: Bool?
  /// A word where it did not simply hold or not: `not_measured`, `needs_baseline`, `within_noise`, `beyond_limit`,
  /// `not_comparable`.
  package var reason: String?
  /// With a baseline: the 95 % interval of observed − limit.
  package var interval: ClosedRange<Double>?

  package init(expression: String) { self.expression = expression }

  /// One sentence for a person.
  package var sentence: String {
    let place = variant.map { " (variant \($0))" } ?? ""
    let seen = observed.map { Number.text($0) } ?? "no value"
    switch held {
    case true?: return "Gate `\(expression)`\(place) held: observed \(seen)."
    case nil: return "Gate `\(expression)`\(place) needs a baseline and was not judged."
    case false? where reason == "not_measured": return "Gate `\(expression)`\(place) did not hold: not measured."
    case false? where reason == "not_comparable":
      return "Gate `\(expression)`\(place) could not be judged: the baseline is not comparable."
    case false?: return "Gate `\(expression)`\(place) did not hold: observed \(seen)."
    }
  }

  package var json: JSONValue {
    var object = JSONObject([
      ("expression", .string(expression)), ("variant", Figure.word(variant)), ("observed", Figure.real(observed)),
      ("limit", Figure.real(limit)), ("held", Figure.yes(held)), ("reason", Figure.word(reason)),
    ])
    if let interval {
      object["interval"] = .array([Figure.real(interval.lowerBound), Figure.real(interval.upperBound)])
    }
    return .object(object)
  }

  package init?(_ json: JSONValue) {
    guard let expression = json["expression"]?.asString else { return nil }
    self.expression = expression
    variant = json["variant"]?.asString
    observed = json["observed"]?.asDouble
    limit = json["limit"]?.asDouble
    held = json["held"]?.asBool
    reason = json["reason"]?.asString
    if let low = json["interval"]?[0]?.asDouble, let high = json["interval"]?[1]?.asDouble, low <= high {
      interval = low...high
    }
  }
}
