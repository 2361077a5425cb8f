// A summary becomes one screen of plain text for the end of `run`.

package import Analysis
internal import Foundation
internal import Primitives
internal import Recording

package enum TerminalSummary {
  /// At most some thirty lines of about a hundred columns; `folder` is where the reports lie.
  package static func text(_ summary: Summary, folder: String) -> String {
    let run = summary.tree["run"] ?? .null
    var text = "\(Hostile.plain(run["name"]?.asString ?? "run")): \(summary.verdict.title.uppercased())\n"
    for reason in summary.reasons.prefix(3) { text += "  \(Hostile.plain(reason))\n" }
    text += "\n"
    for variant in summary.variants.prefix(4) {
      if summary.variants.count > 1 { text += "  \(Hostile.plain(variant["name"]?.asString ?? ""))\n" }
      for figure in Headline.five(variant) {
        let value = MarkdownPage.padded("\(figure.value) \(figure.unit)", 22)
        text += "  \(MarkdownPage.padded(figure.label, 22))\(value)\(figure.detail)\n"
      }
    }
    if summary.variants.count > 4 { text += "  and \(summary.variants.count - 4) more variants in the report\n" }
    let lost = summary.gates.filter { $0.held == false }
    if !summary.gates.isEmpty {
      let held = summary.gates.filter { $0.held == true }.count
      text += "\n  gates: \(held) of \(summary.gates.count) held\n"
      for gate in lost.prefix(5) { text += "  ✗ \(Hostile.plain(gate.sentence))\n" }
    }
    let warnings = summary.warnings.filter { $0.code != "sample_too_small" }
    if !warnings.isEmpty {
      text += "\n"
      for warning in warnings.prefix(4) {
        text += "  ! \(Hostile.plain(warning.message))\n    \(Hostile.plain(warning.hint))\n"
      }
      if warnings.count > 4 { text += "  and \(warnings.count - 4) more warnings in the report\n" }
    }
    let made = ["report.md", "report.html", "summary.json"].filter { FileManager.default.fileExists(atPath: "\(folder)/\($0)") }
    guard let first = made.first else { return text + "\n  report: none could be written into \(folder)\n" }
    return text + "\n  report: \(folder)/\(first)" + (made.count > 1 ? "  (and \(made.dropFirst().joined(separator: ", ")))" : "") + "\n"
  }
}
