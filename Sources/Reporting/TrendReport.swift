// The values of one figure over many runs become a chart in the terminal, a page, or JSON; changes of level are marked.

internal import Analysis
package import Primitives

package struct TrendReport {
  private let key: String
  private let trends: [Trend]
  /// Runs that a chart in the terminal has lines for.
  private static let lines = 60

  package init(key: String, points: [History.Point]) {
    self.key = key
    trends = Trend.all(points)
  }

  private var unit: String { FigureUnit.of(key: key) }

  /// One line a run, at most the last sixty of each trend; a change of level has a rule before it.
  package var text: String {
    trends.map { trend in
      var text = "\(key) of \(Hostile.plain(trend.title)), \(trend.points.count) runs\n\n"
      let top = trend.points.map(\.value).max() ?? 0
      let from = max(0, trend.points.count - Self.lines)
      if from > 0 { text += "  … \(from) earlier runs\n" }
      let values = trend.points.map { Number.text($0.value) }
      let width = values.map(\.count).max() ?? 0
      for index in trend.points.indices.dropFirst(from) {
        if trend.changes.contains(index) { text += "  \(Self.rule(trend, index))\n" }
        let value = String(repeating: " ", count: width - values[index].count) + values[index]
        let time = UTCTime(milliseconds: trend.points[index].startedAtMilliseconds).iso.prefix(16)
        let bar = MarkdownPage.padded(TextChart.bar(trend.points[index].value, of: top, width: 40), 41)
        text += "  \(time)  \(value)  \(bar)\(Hostile.plain(trend.points[index].version))\n"
      }
      return text
    }.joined(separator: "\n")
  }

  private static func rule(_ trend: Trend, _ index: Int) -> String {
    let (before, after) = trend.level(at: index)
    return "── level changes: \(Number.text(before)) → \(Number.text(after))\(change(trend, index)) "
      + String(repeating: "─", count: 20)
  }

  private static func change(_ trend: Trend, _ index: Int) -> String {
    guard let percent = trend.percent(at: index) else { return "" }
    return ", \(percent < 0 ? "−" : "+")\(Number.decimal(abs(percent), places: 1)) %"
  }

  /// `points` in the order of the trends; an index in `changes` is one in `points`.
  package var json: JSONValue {
    let starts = trends.indices.map { trends[..<$0].reduce(0) { $0 + $1.points.count } }
    return .object([
      "schema_version": .integer(1), "key": .string(key),
      "points": .array(
        trends.flatMap(\.points).map {
          .object([
            "started_at": .string(UTCTime(milliseconds: $0.startedAtMilliseconds).iso), "name": .string($0.name),
            "version": .string($0.version), "variant": .string($0.variant), "value": Figure.real($0.value),
          ])
        }),
      "changes": .array(
        zip(trends, starts).flatMap { trend, start in
          trend.changes.map { index in
            let (before, after) = trend.level(at: index)
            return .object([
              "index": .integer(Int64(start + index)), "name": .string(trend.name), "variant": .string(trend.variant),
              "before": Figure.real(before), "after": Figure.real(after),
            ])
          }
        }),
    ])
  }

  package var html: String {
    var page = HTMLPage()
    let count = trends.reduce(0) { $0 + $1.points.count }
    let changes = trends.reduce(0) { $0 + $1.changes.count }
    page.raw("<h1>Trend of <code>\(HTMLPage.escaped(key))</code></h1>")
    page.raw(
      "<p class=\"meta\">\(count) runs, \(changes) \(changes == 1 ? "change" : "changes") of level. Partial runs and those not to be trusted are left out.</p>")
    page.raw("<div class=\"charts\">\(trends.map(plot).joined())</div>")
    if changes > 0 {
      page.heading("Changes of level", id: "changes")
      page.table(
        ["scenario", "run", "when", "version", "before\(suffix)", "after\(suffix)", "change"],
        trends.flatMap { trend in trend.changes.map { row(trend, $0) } }, caption: "Changes of level")
    }
    for (index, trend) in trends.enumerated() {
      page.heading("Runs of \(trend.title)", id: "runs-\(index + 1)")
      page.table(
        ["run", "when", "version", "value\(suffix)"],
        trend.points.enumerated().map { index, point in
          [
            .number(String(index + 1)), .text(UTCTime(milliseconds: point.startedAtMilliseconds).iso), .text(point.version),
            .number(Number.text(point.value)),
          ]
        }, caption: "Runs of \(trend.title)")
    }
    page.note(
      "A level changes where binary segmentation finds a split that at most one in a hundred shuffles of the same runs would show; at least four runs stand on each side.")
    return page.document(title: "Trend of \(key)")
  }

  private var suffix: String { unit.isEmpty ? "" : ", \(unit)" }

  private func row(_ trend: Trend, _ index: Int) -> [HTMLPage.Cell] {
    let (before, after) = trend.level(at: index)
    return [
      .text(trend.title), .number(String(index + 1)),
      .text(UTCTime(milliseconds: trend.points[index].startedAtMilliseconds).iso), .text(trend.points[index].version),
      .number(Number.text(before)), .number(Number.text(after)),
      .number(String(Self.change(trend, index).dropFirst(2))),
    ]
  }

  private func plot(_ trend: Trend) -> String {
    let levels = trend.levels.flatMap { level -> [(x: Double, y: Double)] in
      let from = Double(level.range.lowerBound + 1)
      let to = Double(level.range.upperBound)
      return [(from - 0.3, level.mean), (to + 0.3, level.mean), (to + 0.3, .nan)]
    }
    return Plot(
      title: trend.title, subtitle: "run by run, with the level between changes", xName: "run, oldest first",
      yName: unit.isEmpty ? key : unit, startsAtZero: false,
      series: [
        Plot.Series(name: "value", style: 0, points: trend.points.enumerated().map { (Double($0 + 1), $1.value) }),
        Plot.Series(name: "level", style: 1, points: levels),
      ], isWide: true
    ).markup
  }
}
