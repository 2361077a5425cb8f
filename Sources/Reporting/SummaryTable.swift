// A summary becomes `summary.csv`: one row a variant and metric, in the fields of a latency; single figures have their
// value in `value`.

package import Analysis
internal import Primitives
internal import Recording

package enum SummaryTable {
  package static func csv(_ summary: Summary) -> String {
    var text = (["variant", "metric", "value"] + Figure.latencyFields).joined(separator: ",") + "\n"
    for variant in summary.variants {
      let name = CSV.text(variant["name"]?.asString ?? "")
      rows(variant, path: "", name: name, into: &text)
    }
    return text
  }

  private static func rows(_ value: JSONValue, path: String, name: String, into text: inout String) {
    guard case .object(let object) = value else { return }
    for (key, value) in object.pairs where !["name", "client", "error_samples"].contains(key) || !path.isEmpty {
      let key = path.isEmpty ? key : "\(path).\(key)"
      switch value {
      case .object(let inner) where inner["count"] != nil && inner["p50"] != nil:
        let fields = Figure.latencyFields.map { inner[$0].map(field) ?? "" }
        text += "\(name),\(CSV.text(key)),,\(fields.joined(separator: ","))\n"
      case .object: rows(value, path: key, name: name, into: &text)
      // Rows of their own kind, which no table of figures holds.
      case .array(let values) where values.contains { $0.asObject != nil }: continue
      case .array(let values):
        for (index, value) in values.enumerated() { single("\(key).\(index)", value, name, &text) }
      default: single(key, value, name, &text)
      }
    }
  }

  private static func single(_ key: String, _ value: JSONValue, _ name: String, _ text: inout String) {
    let empty = String(repeating: ",", count: Figure.latencyFields.count)
    text += "\(name),\(CSV.text(key)),\(field(value))\(empty)\n"
  }

  private static func field(_ value: JSONValue) -> String {
    switch value {
    case .null: ""
    case .string(let string): CSV.text(string)
    case .bool(let yes): yes ? "1" : "0"
    default: value.text()
    }
  }
}
