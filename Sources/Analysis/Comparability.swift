// Two summaries become the reasons why their figures must not be compared; none when they may.

internal import Primitives

package enum Comparability {
  /// Keys of a scenario that do not change what is measured.
  private static let free = ["name", "seed", "gates", "$schema", "budget"]

  /// Sentences, each with the key that differs. `ignoring` are key paths that may differ, `endpoint.url`.
  package static func reasons(_ a: Summary, _ b: Summary, ignoring: [String] = []) -> [String] {
    var reasons = trust(a, "The baseline") + trust(b, "The candidate")
    for key in ["system", "processor", "cores", "memory_bytes"] {
      let left = a.tree["machine"]?[key] ?? .null
      let right = b.tree["machine"]?[key] ?? .null
      if left != right { reasons.append("Other machine: `machine.\(key)` is \(shown(left)) and \(shown(right)).") }
    }
    if a.tree["run"]?["build"] != b.tree["run"]?["build"] {
      reasons.append("One of them is a debug build of ssebench.")
    }
    var differing: [(String, JSONValue, JSONValue)] = []
    differences(a.tree["scenario"] ?? .null, b.tree["scenario"] ?? .null, path: "", into: &differing)
    for (path, left, right) in differing where !free.contains(path) && !free.contains(String(path.prefix { $0 != "." })) {
      if ignoring.contains(where: { path == $0 || path.hasPrefix($0 + ".") }) { continue }
      let what = path.hasPrefix("load") ? "Other load" : "Other scenario"
      reasons.append("\(what): `\(path)` is \(shown(left)) and \(shown(right)).")
    }
    return reasons
  }

  /// Why a run's own figures are not to be compared with anything.
  package static func trust(_ summary: Summary, _ name: String) -> [String] {
    switch summary.verdict {
    case .invalid: ["\(name) is not to be trusted: \(summary.reasons.first ?? "")"]
    case .partial: ["\(name) is partial: \(summary.reasons.first ?? "")"]
    case .passed, .failed: []
    }
  }

  private static func differences(
    _ a: JSONValue, _ b: JSONValue, path: String, into found: inout [(String, JSONValue, JSONValue)]
  ) {
    if case .object(let left) = a, case .object(let right) = b {
      for key in left.keys + right.keys.filter({ left[$0] == nil }) {
        let place = path.isEmpty ? key : "\(path).\(key)"
        differences(left[key] ?? .null, right[key] ?? .null, path: place, into: &found)
      }
    } else if a != b, a.asDouble == nil || a.asDouble != b.asDouble {
      found.append((path, a, b))
    }
  }

  private static func shown(_ value: JSONValue) -> String {
    let text = value.isNull ? "absent" : value.text()
    return text.count > 60 ? "\(text.prefix(60))…" : text
  }
}
