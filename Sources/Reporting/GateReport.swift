// Judged gates become lines for a terminal, annotations and a step summary for GitHub.

package import Analysis
internal import Primitives
internal import Recording

package struct GateReport {
  private let summary: Summary

  package init(_ summary: Summary) { self.summary = summary }

  package var text: String {
    var text = "\(summary.verdict.title): \(Hostile.plain(summary.reasons.first ?? ""))\n"
    for gate in summary.gates {
      text += "  \(Self.line(gate))\n"
    }
    return text
  }

  /// One gate on one line.
  static func line(_ gate: GateResult) -> String {
    let mark = gate.held == true ? "✓" : gate.held == false ? "✗" : "–"
    var line = "\(mark) \(gate.expression)\(gate.variant.map { " [\($0)]" } ?? ""): observed \(gate.observed.map { Number.text($0) } ?? "nothing")"
    if let limit = gate.limit { line += ", limit \(Number.text(limit))" }
    if let reason = gate.reason { line += " (\(reason))" }
    if let interval = gate.interval {
      line += ", beyond it by \(Number.text(interval.lowerBound)) to \(Number.text(interval.upperBound))"
    }
    return Hostile.plain(line)
  }

  /// Workflow commands that GitHub shows beside a job: an error a gate that did not hold, a warning a doubt.
  package var annotations: String {
    var text = Self.annotations(summary.gates)
    for warning in summary.warnings where warning.code != "sample_too_small" {
      let level = Judgement.invalidating.contains(warning.code) ? "error" : "warning"
      text += "::\(level) title=\(Self.property("ssebench \(warning.code)"))::\(Self.message(warning.message))\n"
    }
    return text
  }

  static func annotations(_ gates: [GateResult]) -> String {
    gates.filter { $0.held == false }.map {
      "::error title=\(property("ssebench gate"))::\(message($0.sentence))\n"
    }.joined()
  }

  /// Escapes of the runner's toolkit: %, CR and LF in messages, also : and , in properties.
  static func message(_ text: String) -> String {
    Hostile.plain(text).replacing("%", with: "%25")
  }

  private static func property(_ text: String) -> String {
    message(text).replacing(":", with: "%3A").replacing(",", with: "%2C")
  }

  /// Markdown for `$GITHUB_STEP_SUMMARY`.
  package var stepSummary: String {
    var page = MarkdownPage()
    page.heading(2, "\(summary.tree["run"]?["name"]?.asString ?? "run"): \(summary.verdict.title)")
    for reason in summary.reasons { page.paragraph(MarkdownPage.sentence(reason)) }
    page.gates(summary.gates)
    for variant in summary.variants.prefix(6) {
      if summary.variants.count > 1 { page.paragraph("**\(MarkdownPage.escaped(variant["name"]?.asString ?? ""))**") }
      page.table(
        ["", "", ""], Headline.five(variant).map { [$0.label, "**\($0.value)** \($0.unit)", $0.detail] }, right: [])
    }
    page.list(
      WarningGroup.of(summary.warnings).map { group in
        "`\(MarkdownPage.code(group.code))` \(group.messages.map(MarkdownPage.sentence).joined(separator: " "))"
      })
    return page.text + "\n"
  }
}
