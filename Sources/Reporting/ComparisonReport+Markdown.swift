// A comparison becomes Markdown for a CI job's summary: the result, the gates, and the figures that decide or differ.

internal import Analysis
internal import Primitives

extension ComparisonReport {
  package var markdown: String {
    var page = MarkdownPage()
    let mark = exitStatus == 0 ? "✅" : exitStatus == 3 ? "⚠️" : "❌"
    page.heading(2, "\(mark) \(headline)")
    page.list(why.map(MarkdownPage.sentence))
    page.gates(gates)
    for comparison in comparisons where !comparison.figures.isEmpty {
      page.heading(3, "\(comparison.candidateName) against \(comparison.baselineName)")
      page.list(comparison.notes.map(MarkdownPage.sentence))
      page.table(
        ["figure", "baseline", "candidate", "change, 95 %", "what it says"],
        comparison.figures.filter { $0.decides || $0.result != .same }.map { figure in
          [
            "`\(figure.key)`", "\(Number.text(figure.contrast.baseline)) \(figure.unit)",
            "\(Number.text(figure.contrast.candidate)) \(figure.unit)", Self.percent(figure.contrast),
            figure.result == .same ? "\\~" : MarkdownPage.escaped(figure.sentence),
          ]
        }, right: [1, 2, 3])
    }
    return page.text + "\n"
  }
}
