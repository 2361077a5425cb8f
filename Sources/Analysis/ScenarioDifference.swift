// Two scenarios become the first place where they differ, in words.

package import Primitives

package enum ScenarioDifference {
  /// "`load.concurrency` is 20 and not 10"; nil where the two are the same.
  package static func first(_ a: JSONValue, _ b: JSONValue, path: String = "") -> String? {
    if a == b { return nil }
    if let one = a.asObject, let other = b.asObject {
      for key in one.keys + other.keys.filter({ one[$0] == nil }) {
        let place = path.isEmpty ? key : "\(path).\(key)"
        if let found = first(one[key] ?? .null, other[key] ?? .null, path: place) { return found }
      }
      // The same keys in another order are the same scenario.
      return nil
    }
    let place = path.isEmpty ? "the whole" : "`\(path)`"
    return "\(place) is \(shown(a)) and not \(shown(b))"
  }

  private static func shown(_ value: JSONValue) -> String {
    let text = value.text()
    return text.count > 60 ? text.prefix(60) + "…" : text
  }
}
