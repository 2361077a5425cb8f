// What a folder holds becomes the charts of `report.html`: distributions, seconds, memory, recoveries, sessions.

internal import Analysis
internal import Primitives
internal import Recording

enum Charts {
  /// A logarithmic histogram and a percentile curve up to p99.99 of one metric, all variants in each.
  static func distribution(_ metric: Metric, _ title: String, _ data: ChartData) -> String {
    let with = data.variants.enumerated().filter { ($0.element.histograms[metric]?.count ?? 0) > 0 }
    guard !with.isEmpty else { return "" }
    let bars = with.map { index, variant in
      Plot.Series(
        name: variant.name, style: index, points: bins(variant.histograms[metric] ?? Histogram(), all: with.compactMap { $0.element.histograms[metric] }),
        form: with.count == 1 ? .bars : .line)
    }
    let curves = with.map { index, variant in
      Plot.Series(name: variant.name, style: index, points: curve(variant.histograms[metric] ?? Histogram()))
    }
    let hasTiny = with.contains { ($0.element.histograms[metric]?.value(atQuantile: 0.001) ?? 0) < finest }
    let tiny = hasTiny ? "; under 0.001 ms, such as two events of one read, in the first bin" : ""
    return Plot(
      title: "\(title): distribution", subtitle: metric.definition + tiny, xName: "\(metric.key), log scale", yName: "% of values",
      xScale: .logarithmic, series: bars
    ).markup
      + Plot(
        title: "\(title): percentile curve", subtitle: "up to the percentile that one value in the sample stands for, at most p99.99",
        xName: "percentile", yName: metric.key,
        xTicks: [(0, "p0"), (0.301_03, "p50"), (1, "p90"), (2, "p99"), (3, "p99.9"), (4, "p99.99")],
        series: curves
      ).markup
  }

  /// The lowest edge of a bin, in ns: what is shorter is no time that a stream took.
  private static let finest: Int64 = 1_000

  /// Share of the values in each of some sixty bins of equal ratio, over the range that all variants share.
  private static func bins(_ histogram: Histogram, all: [Histogram]) -> [(x: Double, y: Double)] {
    let low = Double(max(finest, all.map { $0.value(atQuantile: 0.000_5) }.min() ?? 1)) * 0.97
    let high = Double(max(2 * finest, all.map { $0.value(atQuantile: 0.999_5) }.max() ?? 2)) * 1.03
    // No bin finer than the layout's own resolution at three digits.
    let count = max(8, min(60, Int(Maths.log(high / low) / 0.002)))
    let width = Maths.log(high / low) / Double(count)
    var shares = [Double](repeating: 0, count: count)
    for index in histogram.usedIndices where histogram.count(at: index) > 0 {
      let (lowest, size) = Histogram.range(at: index)
      let middle = Double(lowest) + Double(size) / 2
      let bin = Int(Maths.log(max(middle, low) / low) / width)
      shares[min(max(bin, 0), count - 1)] += Double(histogram.count(at: index)) / Double(histogram.count) * 100
    }
    return shares.enumerated().map { (low * Maths.exp(Double($0) * width) / 1e6, $1) } + [(high / 1e6, 0)]
  }

  private static func curve(_ histogram: Histogram) -> [(x: Double, y: Double)] {
    let last = min(4.0, Maths.log(Double(max(2, histogram.count))) / Maths.log(10))
    return (0...60).map { step in
      let x = last * Double(step) / 60
      return (x, Double(histogram.value(atQuantile: 1 - Maths.pow(10, -x))) / 1e6)
    }
  }

  /// The seconds of all variants, one chart a figure. Repeats follow each other in time.
  static func seconds(_ data: ChartData) -> String {
    guard data.variants.contains(where: { $0.seconds.count > 1 }) else { return "" }
    func plot(_ title: String, _ yName: String, _ value: @escaping (TimeSeriesRow, Double) -> Double) -> String {
      let series = data.variants.enumerated().map { index, variant in
        Plot.Series(name: variant.name, style: index, points: points(variant.seconds, value))
      }
      guard series.contains(where: { $0.points.contains { $0.y.isFinite && $0.y != 0 } }) else { return "" }
      return Plot(title: title, xName: "seconds", yName: yName, series: series).markup
    }
    func known(_ value: Int64, _ scale: Double) -> Double { value < 0 ? .nan : Double(value) / scale }
    var text = plot("Live sessions", "live") { row, _ in Double(row.live) }
    text += plot("Events", "per s") { row, length in Double(row.events) / length }
    if data.variants.count == 1, let rows = data.variants.first?.seconds {
      text +=
        Plot(
          title: "Time to first token, second by second", xName: "seconds", yName: "ms",
          series: [
            Plot.Series(name: "p50", style: 0, points: points(rows) { row, _ in known(row.ttftP50, 1e6) }),
            Plot.Series(name: "p99", style: 1, points: points(rows) { row, _ in known(row.ttftP99, 1e6) }),
          ].filter { $0.points.contains { $0.y.isFinite } }
        ).markup
    } else {
      text += plot("Time to first token, p50 of each second", "ms") { row, _ in known(row.ttftP50, 1e6) }
    }
    text += plot("Failed sessions", "per s") { row, length in Double(row.failed) / length }
    text += plot("CPU of the client", "cores") { row, _ in row.cpu }
    text += plot("Resident memory", "MiB") { row, _ in known(row.residentBytes, 1_048_576) }
    return text
  }

  /// Points in the order of time; the line breaks where another variant ran in between.
  private static func points(_ rows: [TimeSeriesRow], _ value: (TimeSeriesRow, Double) -> Double) -> [(x: Double, y: Double)] {
    var points: [(x: Double, y: Double)] = []
    var before: TimeSeriesRow?
    let lengths = zip(rows, rows.dropFirst()).map { $1.time - $0.time }.filter { $0 > 0 }.sorted()
    let usual = lengths.isEmpty ? 1 : lengths[lengths.count / 2]
    for row in rows {
      if let before, row.repetition != before.repetition || row.time - before.time > 3 * usual {
        points.append((before.time, .nan))
      }
      points.append((row.time, value(row, max(usual, 1e-3))))
      before = row
    }
    return points
  }

  /// Allocated bytes over tokens, with the fitted line of each variant.
  static func memory(_ data: ChartData, _ summary: Summary) -> String {
    var text = ""
    for (index, variant) in data.variants.enumerated() {
      let samples = variant.memory.filter { $0.allocated >= 0 }
      guard samples.count > 2 else { continue }
      let first = samples.first?.repetition
      let one = samples.filter { $0.repetition == first }
      let figures = summary.variants.first { $0["name"]?.asString == variant.name }?["memory"]
      var series = [
        Plot.Series(
          name: "reading", style: index, points: one.map { (Double($0.tokens), Double($0.held) / 1_048_576) }, form: .dots)
      ]
      let plateau = MemoryAnalysis.plateau(one)
      if let slope = figures?["slope_bytes_per_token"]?.asDouble, let from = plateau.first, let to = plateau.last {
        let meanX = plateau.reduce(0.0) { $0 + Double($1.tokens) } / Double(plateau.count)
        let meanY = plateau.reduce(0.0) { $0 + Double($1.held) } / Double(plateau.count)
        let line = [from, to].map { sample in
          (x: Double(sample.tokens), y: (meanY + slope * (Double(sample.tokens) - meanX)) / 1_048_576)
        }
        series.append(Plot.Series(name: "fit on the plateau", style: (index + 1) % 6, points: line))
      }
      let interval = figures?["ci95"]
      text +=
        Plot(
          title: data.variants.count > 1 ? "Memory over tokens: \(variant.name)" : "Memory over tokens",
          subtitle: "slope \(Number.text(figures?["slope_bytes_per_token"])) bytes a token, 95 %: \(Number.text(interval?[0])) to \(Number.text(interval?[1]))",
          xName: "tokens received, all sessions", yName: "MiB held", startsAtZero: false, series: series
        ).markup
    }
    return text
  }

  /// When connections were lost and how long it took until new events came.
  static func recoveries(_ data: ChartData) -> String {
    let series = data.variants.enumerated().map { index, variant in
      Plot.Series(
        name: variant.name, style: index,
        points: variant.recoveries.filter { $0.detected >= 0 && $0.firstNewEvent >= $0.detected }.prefix(1_500).map {
          (Double($0.detected) / 1e9, Double($0.firstNewEvent - $0.detected) / 1e6)
        }, form: .dots)
    }
    return Plot(
      title: "Each recovery", subtitle: "loss of a connection detected → first new event; one dot a disconnection",
      xName: "seconds", yName: "ms", series: series
    ).markup + distribution(.recoveryTime, "Time to recover", data)
  }

  /// When each session began, had its first token, and ended.
  static func strip(_ variant: ChartData.Variant, _ style: Int, isAlone: Bool) -> String {
    let sessions = variant.sessions.filter { $0.origin >= 0 && $0.end >= 0 }.sorted { $0.origin < $1.origin }
    guard let first = sessions.first, sessions.count > 1 else { return "" }
    let begin = first.origin
    let last = max(begin + 1, sessions.map(\.end).max() ?? begin)
    let row = max(2.0, min(7.0, 420 / Double(sessions.count)))
    let height = row * Double(sessions.count) + 24
    func x(_ instant: Int64) -> Double { 6 + Double(instant - begin) / Double(last - begin) * 928 }
    func f(_ value: Double) -> String { Number.decimal(value, places: 1) }
    var svg = ""
    for (index, session) in sessions.enumerated() {
      let y = Double(index) * row
      let token = session.firstToken >= 0 ? session.firstToken : session.end
      let bar = "y=\"\(f(y))\" height=\"\(f(row * 0.8))\""
      svg += "<rect class=\"wait f\(style)\" x=\"\(f(x(session.origin)))\" \(bar) width=\"\(f(max(0.5, x(token) - x(session.origin))))\"/>"
      svg += "<rect class=\"stream f\(style)\" x=\"\(f(x(token)))\" \(bar) width=\"\(f(max(0.5, x(session.end) - x(token))))\"/>"
      if session.outcome == .failed {
        svg += "<line class=\"badmark\" x1=\"\(f(x(session.end)))\" x2=\"\(f(x(session.end)))\" y1=\"\(f(y))\" y2=\"\(f(y + row))\"/>"
      }
    }
    for disconnect in variant.recoveries where disconnect.detected >= begin {
      guard let index = sessions.firstIndex(where: { $0.session == disconnect.session && $0.repetition == disconnect.repetition })
      else { continue }
      let place = f(x(disconnect.detected))
      svg += "<line class=\"badmark\" x1=\"\(place)\" x2=\"\(place)\" y1=\"\(f(Double(index) * row))\" y2=\"\(f(Double(index + 1) * row))\"/>"
    }
    let range = Double(begin) / 1e9...Double(last) / 1e9
    for tick in Ticks.places(range, .linear, about: 10) {
      svg += "<text x=\"\(f(x(Int64(tick * 1e9))))\" y=\"\(f(height - 6))\" text-anchor=\"middle\">\(Ticks.text(tick))</text>"
    }
    let title = isAlone ? "Sessions" : "Sessions: \(variant.name)"
    return """
      <figure class="wide"><figcaption>\(HTMLPage.escaped(title))<small>\(sessions.count) of them, taken evenly: light while it \
      waits for the first token, full while it streams; a red mark is a failure or a lost connection; seconds below</small></figcaption>
      <svg viewBox="0 0 940 \(f(height))" role="img" aria-label="\(HTMLPage.escaped(title)) over time">\(svg)</svg>
      <p class="note">Each row in numbers: sessions.csv.</p></figure>

      """
  }
}
