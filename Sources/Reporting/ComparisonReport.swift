// Comparisons, and the gates over them where there are any, become text for a terminal, JSON and a page.

package import Analysis
package import Primitives

package struct ComparisonReport {
  let comparisons: [Comparison]
  /// Folders of both sides, for the head.
  private let baseline: [String]
  private let candidate: [String]
  /// Judged gates; where there are any, they decide in place of the result.
  package var gates: [GateResult] = []

  package init(_ comparisons: [Comparison], baseline: [String], candidate: [String]) {
    self.comparisons = comparisons
    self.baseline = baseline
    self.candidate = candidate
  }

  package var result: ComparisonResult { .worst(comparisons.map(\.result)) }

  /// 0 same or better, or all gates held; 1 worse, or one did not; 3 not comparable.
  package var exitStatus: Int32 {
    if result == .notComparable { return 3 }
    let hasFailed = gates.isEmpty ? result == .worse : gates.contains { $0.held == false }
    return hasFailed ? 1 : 0
  }

  /// The sentences that decide: gates that did not hold, then what differs.
  var why: [String] {
    gates.filter { $0.held == false && $0.reason != "not_comparable" }.map(\.sentence)
      + comparisons.flatMap { comparison -> [String] in
      if comparison.result == .notComparable { return comparison.notes }
      return comparison.figures.filter { $0.decides && $0.result != .same }.prefix(8).map {
        "\(comparison.candidateName): \($0.key): \($0.sentence)"
      }
    }
  }

  package var json: JSONValue {
    .object([
      "schema_version": .integer(1), "result": .string(result.rawValue), "exit_code": .integer(Int64(exitStatus)), "why": .array(why.map { .string($0) }),
      "baseline_runs": .array(baseline.map { .string($0) }), "candidate_runs": .array(candidate.map { .string($0) }),
      "comparisons": .array(comparisons.map(\.json)), "gates": .array(gates.map(\.json)),
    ])
  }

  static func title(_ result: ComparisonResult) -> String {
    switch result {
    case .same: "No difference shown"
    case .better: "Better"
    case .worse: "Worse"
    case .notComparable: "Not comparable"
    }
  }

  /// The result in words; with gates, first what they say.
  var headline: String {
    guard !gates.isEmpty, result != .notComparable else { return Self.title(result) }
    let lost = gates.filter { $0.held == false }.count
    let words = lost == 0 ? "Every gate held" : "\(lost) of \(gates.count) gates did not hold"
    return "\(words); \(Self.title(result).lowercased())"
  }

  package var text: String {
    var text = "\(headline)\n"
    for gate in gates { text += "  \(GateReport.line(gate))\n" }
    for comparison in comparisons {
      text += "\n\(Hostile.plain(comparison.candidateName)) against \(Hostile.plain(comparison.baselineName)): "
      text += "\(Self.title(comparison.result).lowercased())\n"
      for note in comparison.notes { text += "  ! \(Hostile.plain(note))\n" }
      if comparison.figures.isEmpty { continue }
      let shown = comparison.figures.filter { $0.decides || $0.result != .same }
      let rows = shown.map { figure in
        [
          figure.key, Number.text(figure.contrast.baseline), Number.text(figure.contrast.candidate),
          Self.percent(figure.contrast), figure.result == .same ? "~" : figure.sentence,
        ]
      }
      text += Self.aligned([["figure", "baseline", "candidate", "change, 95 %", ""]] + rows)
      let rest = comparison.figures.count - shown.count
      if rest > 0 { text += "  \(rest) more figures show no difference; --json and --html have them\n" }
    }
    return text
  }

  /// `+5.1 % (+4.2 to +6.0)`.
  static func percent(_ contrast: Contrast) -> String {
    guard let ratio = contrast.ratio, let interval = contrast.ratioInterval else { return "–" }
    func signed(_ value: Double) -> String {
      let percent = (value - 1) * 100
      return "\(percent < 0 ? "−" : "+")\(Number.decimal(abs(percent), places: abs(percent) < 10 ? 2 : 1))"
    }
    return "\(signed(ratio)) % (\(signed(interval.lowerBound)) to \(signed(interval.upperBound)))"
  }

  private static func aligned(_ rows: [[String]]) -> String {
    let widths = (0..<5).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = row.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 || column == 4 ? cell + space : space + cell
      }
      var line = "  " + cells.joined(separator: "  ")
      while line.hasSuffix(" ") { line.removeLast() }
      return line + "\n"
    }.joined()
  }

  /// What GitHub shows beside a job: an error a gate that did not hold, a warning a reason not to compare.
  package var annotations: String {
    if result != .notComparable { return GateReport.annotations(gates) }
    return why.map { "::warning title=ssebench compare::\(GateReport.message($0))\n" }.joined()
  }

  package var html: String {
    var page = HTMLPage()
    page.raw("<h1>Comparison</h1>")
    let names = "baseline: \(baseline.joined(separator: ", ")) · candidate: \(candidate.joined(separator: ", "))"
    page.raw("<p class=\"meta\">\(HTMLPage.escaped(names))</p>")
    let style = exitStatus == 1 ? "failed" : exitStatus == 3 ? "invalid" : "passed"
    let mark = exitStatus == 1 ? "✗" : exitStatus == 3 ? "!" : "✓"
    page.raw(
      "<section class=\"verdict \(style)\"><span class=\"mark\" aria-hidden=\"true\">\(mark)</span><div><strong>\(headline)</strong>"
        + why.map { "<p>\(HTMLPage.sentence($0))</p>" }.joined() + "</div></section>")
    page.gates(gates)
    for comparison in comparisons {
      page.heading("\(comparison.candidateName) against \(comparison.baselineName)", id: Slug.of(comparison.candidateName))
      for note in comparison.notes { page.raw("<p class=\"note\">\(HTMLPage.sentence(note))</p>") }
      page.raw("<div class=\"charts\">\(Self.forest(comparison))</div>")
      page.table(
        ["figure", "baseline", "candidate", "change, 95 %", "p, corrected", "noise floor", "what it says"],
        comparison.figures.map { figure in
          [
            .code(figure.key), .number(Number.text(figure.contrast.baseline)), .number(Number.text(figure.contrast.candidate)),
            .number(Self.percent(figure.contrast)), .number(Number.text(figure.adjustedP)),
            .number(figure.contrast.noiseFloor.map { Number.text($0) } ?? "–"), .text(figure.sentence),
          ]
        }, caption: "Figures of \(comparison.candidateName)")
    }
    page.note(
      "Intervals come from resampling sessions within each repeat, and seconds of the histogram logs for gaps; noise between repeats is added where they show it. p is corrected for the number of figures (Holm). A difference under 1 % decides nothing.")
    return page.document(title: "\(headline): comparison")
  }

  /// Ratios with their intervals, one line a figure, around the line of no difference.
  private static func forest(_ comparison: Comparison) -> String {
    let rows = comparison.figures.filter { $0.contrast.ratioInterval != nil }.prefix(30)
    guard !rows.isEmpty else { return "" }
    let bounds = rows.compactMap(\.contrast.ratioInterval)
    let low = min(0.98, bounds.map(\.lowerBound).min() ?? 1)
    let high = max(1.02, bounds.map(\.upperBound).max() ?? 1)
    let height = Double(rows.count) * 18 + 26
    func f(_ value: Double) -> String { Number.decimal(value, places: 1) }
    func x(_ ratio: Double) -> Double { 250 + (min(max(ratio, low), high) - low) / (high - low) * 670 }
    var svg = "<line class=\"hair\" x1=\"\(f(x(1)))\" x2=\"\(f(x(1)))\" y1=\"0\" y2=\"\(f(height - 20))\"/>"
    for (index, figure) in rows.enumerated() {
      guard let interval = figure.contrast.ratioInterval, let ratio = figure.contrast.ratio else { continue }
      let y = Double(index) * 18 + 10
      let style = figure.result == .worse ? 1 : figure.result == .better ? 2 : 0
      svg += "<text x=\"240\" y=\"\(f(y + 4))\" text-anchor=\"end\">\(HTMLPage.escaped(figure.key))</text>"
      svg += "<line class=\"l c\(style)\" x1=\"\(f(x(interval.lowerBound)))\" x2=\"\(f(x(interval.upperBound)))\" y1=\"\(f(y))\" y2=\"\(f(y))\"/>"
      svg += "<circle class=\"f\(style)\" cx=\"\(f(x(ratio)))\" cy=\"\(f(y))\" r=\"3.5\"><title>\(HTMLPage.escaped("\(figure.key): \(figure.sentence)"))</title></circle>"
    }
    for tick in Ticks.places(low...high, .linear, about: 8) {
      svg += "<text x=\"\(f(x(tick)))\" y=\"\(f(height - 5))\" text-anchor=\"middle\">\(Number.text(tick))</text>"
    }
    return """
      <figure class="wide"><figcaption>Candidate ÷ baseline<small>with 95 % intervals; 1 is no difference</small></figcaption>
      <svg viewBox="0 0 940 \(f(height))" role="img" aria-label="Ratios with their intervals">\(svg)</svg></figure>

      """
  }
}
