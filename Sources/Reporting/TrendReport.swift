// The values of one figure over many runs become a chart in the terminal, a page, or JSON; changes of level are marked.

internal import Analysis
package import Primitives

package struct TrendReport {
  private let key: String
  private let points: [History.Point]
  private let changes: [Int]

  package init(key: String, points: [History.Point]) {
    self.key = key
    self.points = points
    changes = ChangePoints.of(points.map(\.value))
  }

  /// One line a run, at most the last sixty; a change of level has a rule before it.
  package var text: String {
    var text = "\(key), \(points.count) runs\n\n"
    let top = points.map(\.value).max() ?? 0
    let from = max(0, points.count - 60)
    if from > 0 { text += "  … \(from) earlier runs\n" }
    let values = points.map { Number.text($0.value) }
    let width = values.map(\.count).max() ?? 0
    for index in points.indices.dropFirst(from) {
      if changes.contains(index) { text += "  \(change(index))\n" }
      let value = String(repeating: " ", count: width - values[index].count) + values[index]
      let time = UTCTime(milliseconds: points[index].startedAtMilliseconds).iso.prefix(16)
      let bar = MarkdownPage.padded(TextChart.bar(points[index].value, of: top, width: 40), 41)
      text += "  \(time)  \(value)  \(bar)\(Hostile.plain("\(points[index].version) \(points[index].variant)"))\n"
    }
    return text
  }

  private func level(_ index: Int) -> (before: Double, after: Double) {
    let bounds = [0] + changes + [points.count]
    let place = bounds.firstIndex(of: index) ?? 1
    func mean(_ range: Range<Int>) -> Double { points[range].reduce(0) { $0 + $1.value } / Double(max(1, range.count)) }
    return (mean(bounds[place - 1]..<index), mean(index..<bounds[place + 1]))
  }

  private func change(_ index: Int) -> String {
    let (before, after) = level(index)
    let share = before == 0 ? "" : ", \(after > before ? "+" : "−")\(Number.decimal(abs(after / before - 1) * 100, places: 1)) %"
    return "── level changes: \(Number.text(before)) → \(Number.text(after))\(share) " + String(repeating: "─", count: 20)
  }

  package var json: JSONValue {
    .object([
      "schema_version": .integer(1), "key": .string(key),
      "points": .array(
        points.map {
          .object([
            "started_at": .string(UTCTime(milliseconds: $0.startedAtMilliseconds).iso), "name": .string($0.name),
            "version": .string($0.version), "variant": .string($0.variant), "value": Figure.real($0.value),
          ])
        }),
      "changes": .array(
        changes.map { index in
          let (before, after) = level(index)
          return .object(["index": .integer(Int64(index)), "before": Figure.real(before), "after": Figure.real(after)])
        }),
    ])
  }

  package var html: String {
    var page = HTMLPage()
    page.raw("<h1>Trend of <code>\(HTMLPage.escaped(key))</code></h1>")
    page.raw("<p class=\"meta\">\(points.count) runs, \(changes.count) changes of level</p>")
    let bounds = [0] + changes + [points.count]
    let levels = zip(bounds, bounds.dropFirst()).flatMap { from, to -> [(x: Double, y: Double)] in
      let mean = points[from..<to].reduce(0) { $0 + $1.value } / Double(max(1, to - from))
      return [(Double(from + 1), mean), (Double(to), mean), (Double(to), .nan)]
    }
    page.raw(
      "<div class=\"charts\">"
        + Plot(
          title: key, subtitle: "run by run, with the level between changes", xName: "run", yName: key, startsAtZero: false,
          series: [
            Plot.Series(name: "value", style: 0, points: points.enumerated().map { (Double($0 + 1), $1.value) }),
            Plot.Series(name: "level", style: 1, points: levels),
          ], isWide: true
        ).markup + "</div>")
    page.heading("Changes of level", id: "changes")
    page.table(
      ["run", "when", "version", "before", "after"],
      changes.map { index in
        let (before, after) = level(index)
        return [
          .number(String(index + 1)), .text(UTCTime(milliseconds: points[index].startedAtMilliseconds).iso),
          .text(points[index].version), .number(Number.text(before)), .number(Number.text(after)),
        ]
      }, caption: "Changes of level")
    page.heading("Runs", id: "runs")
    page.table(
      ["run", "when", "name", "version", "variant", "value"],
      points.enumerated().map { index, point in
        [
          .number(String(index + 1)), .text(UTCTime(milliseconds: point.startedAtMilliseconds).iso), .text(point.name),
          .text(point.version), .text(point.variant), .number(Number.text(point.value)),
        ]
      }, caption: "Runs")
    return page.document(title: "Trend of \(key)")
  }
}
