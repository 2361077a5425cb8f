// Gates become JUnit XML: one test case a gate and variant, so that any CI shows them.

package import Analysis
internal import Primitives

package enum JUnitReport {
  /// `doubts` are reasons from outside the run why its gates say nothing, such as a baseline of another scenario.
  package static func text(_ summary: Summary, doubts: [String] = []) -> String {
    let run = summary.tree["run"] ?? .null
    let gates = summary.gates
    let failed = gates.filter { $0.held == false }.count
    let skipped = gates.filter { $0.held == nil }.count
    let isUntrusted = summary.verdict == .invalid || summary.verdict == .partial
    let reasons = doubts + (isUntrusted ? summary.reasons : [])
    let isBroken = !reasons.isEmpty || isUntrusted
    let kind = isUntrusted ? summary.verdict.rawValue : "not_comparable"
    let counts = "tests=\"\(gates.count + 1)\" failures=\"\(failed)\" errors=\"\(isBroken ? 1 : 0)\" skipped=\"\(skipped)\""
    let time = "time=\"\(Number.decimal(run["duration_s"]?.asDouble ?? 0, places: 3))\""
    let name = XML.escaped(run["name"]?.asString ?? "run")
    var text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites name="ssebench" \(counts) \(time)>
        <testsuite name="\(name)" \(counts) \(time) timestamp="\(XML.escaped(run["started_at"]?.asString ?? ""))">
          <testcase classname="ssebench" name="the measurement can be trusted">

      """
    if isBroken {
      text += "      <error type=\"\(kind)\" message=\"\(XML.escaped(reasons.first ?? ""))\">"
      text += XML.escaped(reasons.joined(separator: "\n")) + "</error>\n"
    }
    text += "    </testcase>\n"
    for gate in gates {
      text += "    <testcase classname=\"gates\(gate.variant.map { ".\(XML.escaped($0))" } ?? "")\" name=\"\(XML.escaped(gate.expression))\""
      switch gate.held {
      case true?: text += "/>\n"
      case nil: text += "><skipped message=\"\(XML.escaped(gate.reason ?? ""))\"/></testcase>\n"
      case false?:
        text += ">\n      <failure type=\"\(XML.escaped(gate.reason ?? "beyond_limit"))\" message=\"\(XML.escaped(gate.sentence))\">"
        text += XML.escaped(detail(gate)) + "</failure>\n    </testcase>\n"
      }
    }
    return text + "  </testsuite>\n</testsuites>\n"
  }

  private static func detail(_ gate: GateResult) -> String {
    var detail = "observed \(gate.observed.map { Number.text($0) } ?? "nothing"), limit \(gate.limit.map { Number.text($0) } ?? "none")"
    if let interval = gate.interval {
      detail += "; 95 % interval of the difference \(Number.text(interval.lowerBound)) to \(Number.text(interval.upperBound))"
    }
    return detail
  }
}

/// Text inside XML and HTML, in elements and in quoted attributes.
enum XML {
  static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "'": out += "&#39;"
      case "\n", "\t": out.unicodeScalars.append(scalar)
      default:
        if Hostile.isControl(scalar) || scalar.value & 0xFFFE == 0xFFFE { out += "�" } else { out.unicodeScalars.append(scalar) }
      }
    }
    return out
  }
}
