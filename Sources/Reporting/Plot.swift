// Series of points become one SVG chart with axes, a legend, the values under the pointer and a table behind it.

internal import Analysis
internal import Primitives

struct Plot {
  enum Scale { case linear, logarithmic }

  struct Series {
    var name: String
    /// Index of colour and dash pattern, 0 to 5.
    var style: Int
    var points: [(x: Double, y: Double)]
    var form: Form = .line
    enum Form { case line, bars, dots }
  }

  var title: String
  var subtitle = ""
  var xName: String
  var yName: String
  var xScale = Scale.linear
  var yScale = Scale.linear
  /// Names for places on the x axis where numbers would say little: (place, name).
  var xTicks: [(Double, String)] = []
  var startsAtZero = true
  var series: [Series]
  var isWide = false

  private static let width = 460.0
  private static let wideWidth = 940.0
  private static let height = 230.0
  private static let left = 48.0
  private static let right = 10.0
  private static let top = 24.0
  private static let bottom = 34.0
  /// Points kept for the pointer and the table.
  private static let readable = 120

  var markup: String {
    let drawn = series.filter { !$0.points.isEmpty }
    guard !drawn.isEmpty else { return "" }
    let box = Box(self, drawn)
    var svg = axes(box)
    for series in drawn { svg += draw(series, box, isAlone: drawn.count == 1) }
    svg += "<line class=\"hair\" y1=\"\(f(Self.top))\" y2=\"\(f(Self.height - Self.bottom))\" x1=\"0\" x2=\"0\" style=\"visibility:hidden\"/>"
    let label = HTMLPage.escaped("\(title). \(subtitle)")
    let data = reading(drawn, box)
    return """
      <figure\(isWide ? " class=\"wide\"" : "")><figcaption>\(HTMLPage.escaped(title))\
      \(subtitle.isEmpty ? "" : "<small>\(HTMLPage.escaped(subtitle))</small>")</figcaption>
      <svg viewBox="0 0 \(f(box.width)) \(f(Self.height))" role="img" aria-label="\(label)"\(data)>\(svg)</svg>
      \(legend(drawn))<div class="read" aria-hidden="true"></div>
      \(table(drawn))</figure>

      """
  }

  /// The ranges of both axes and where their values lie on the page.
  private struct Box {
    var x: ClosedRange<Double>
    var y: ClosedRange<Double>
    var width: Double
    let plot: Plot

    init(_ plot: Plot, _ drawn: [Series]) {
      self.plot = plot
      width = plot.isWide ? Plot.wideWidth : Plot.width
      let xs = drawn.flatMap { $0.points.map(\.x) }.filter(\.isFinite)
      let ys = drawn.flatMap { $0.points.map(\.y) }.filter(\.isFinite)
      x = Box.range(xs, plot.xScale, zero: false)
      y = Box.range(ys, plot.yScale, zero: plot.startsAtZero)
    }

    private static func range(_ values: [Double], _ scale: Scale, zero: Bool) -> ClosedRange<Double> {
      switch scale {
      case .logarithmic:
        let positive = values.filter { $0 > 0 }
        let low = positive.min() ?? 1
        let high = positive.max() ?? 10
        return low...max(high, low * 1.5)
      case .linear:
        let low = zero ? min(0, values.min() ?? 0) : values.min() ?? 0
        let high = values.max() ?? 1
        if high - low < 1e-12 { return low...(low + max(1e-9, abs(low) * 0.1, zero ? 1 : 0)) }
        return low...(zero ? high + (high - low) * 0.05 : high)
      }
    }

    func placeX(_ value: Double) -> Double {
      Plot.left + Box.share(value, x, plot.xScale) * (width - Plot.left - Plot.right)
    }

    func placeY(_ value: Double) -> Double {
      let usable = Plot.height - Plot.top - Plot.bottom
      return Plot.height - Plot.bottom - Box.share(value, y, plot.yScale) * usable
    }

    private static func share(_ value: Double, _ range: ClosedRange<Double>, _ scale: Scale) -> Double {
      let share: Double
      switch scale {
      case .linear: share = (value - range.lowerBound) / (range.upperBound - range.lowerBound)
      case .logarithmic:
        let low = Maths.log(range.lowerBound)
        share = (Maths.log(max(value, range.lowerBound)) - low) / (Maths.log(range.upperBound) - low)
      }
      return min(max(share, 0), 1)
    }
  }

  private func f(_ value: Double) -> String { Number.decimal(value, places: value == value.rounded() ? 0 : 1) }

  private func axes(_ box: Box) -> String {
    var svg = ""
    let floor = Self.height - Self.bottom
    for tick in Ticks.places(box.y, yScale, about: 4) {
      let y = f(box.placeY(tick))
      svg += "<line class=\"grid\" x1=\"\(f(Self.left))\" x2=\"\(f(box.width - Self.right))\" y1=\"\(y)\" y2=\"\(y)\"/>"
      // The lowest name stands a little higher, clear of the other axis's first one.
      let drop = box.placeY(tick) > floor - 6 ? -1 : 4
      svg += "<text x=\"\(f(Self.left - 6))\" y=\"\(y)\" dy=\"\(drop)\" text-anchor=\"end\">\(Ticks.text(tick))</text>"
    }
    let named = xTicks.isEmpty ? Ticks.places(box.x, xScale, about: isWide ? 10 : 5).map { ($0, Ticks.text($0)) } : xTicks
    for (place, name) in named where place >= box.x.lowerBound && place <= box.x.upperBound {
      let x = f(box.placeX(place))
      // A name at the very edge would stand outside the drawing.
      let anchor = box.placeX(place) > box.width - Self.right - 16 ? "end" : "middle"
      svg += "<line class=\"axis\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(f(floor))\" y2=\"\(f(floor + 4))\"/>"
      svg += "<text x=\"\(x)\" y=\"\(f(floor + 16))\" text-anchor=\"\(anchor)\">\(HTMLPage.escaped(name))</text>"
    }
    svg += "<line class=\"axis\" x1=\"\(f(Self.left))\" x2=\"\(f(box.width - Self.right))\" y1=\"\(f(floor))\" y2=\"\(f(floor))\"/>"
    svg += "<text x=\"\(f(box.width - Self.right))\" y=\"\(f(Self.height - 2))\" text-anchor=\"end\">\(HTMLPage.escaped(xName))</text>"
    return svg + "<text x=\"2\" y=\"13\">\(HTMLPage.escaped(yName))</text>"
  }

  private func draw(_ series: Series, _ box: Box, isAlone: Bool) -> String {
    let style = series.style % 6
    switch series.form {
    case .line:
      var path = ""
      var isPenDown = false
      for point in series.points {
        guard point.y.isFinite, point.x.isFinite else {
          isPenDown = false
          continue
        }
        // A point without neighbours is a stroke of no length, which round ends make a dot.
        path += "\(isPenDown ? "L" : "M")\(f(box.placeX(point.x))) \(f(box.placeY(point.y)))\(isPenDown ? "" : "h0")"
        isPenDown = true
      }
      return "<path data-s=\"\(style)\" class=\"l c\(style)\" d=\"\(path)\"/>"
    case .bars:
      var svg = "<g data-s=\"\(style)\" class=\"bar f\(style)\(isAlone ? " solo" : "")\">"
      let floor = Self.height - Self.bottom
      for (index, point) in series.points.enumerated() where point.y > 0 {
        let x = box.placeX(point.x)
        let next = index + 1 < series.points.count ? box.placeX(series.points[index + 1].x) : x + 4
        let y = box.placeY(point.y)
        svg += "<rect x=\"\(f(x))\" y=\"\(f(y))\" width=\"\(f(max(1, next - x - 0.6)))\" height=\"\(f(max(0.8, floor - y)))\"/>"
      }
      return svg + "</g>"
    case .dots:
      var svg = "<g data-s=\"\(style)\" class=\"dot f\(style)\">"
      for point in series.points where point.y.isFinite {
        svg += "<circle cx=\"\(f(box.placeX(point.x)))\" cy=\"\(f(box.placeY(point.y)))\" r=\"2.2\"/>"
      }
      return svg + "</g>"
    }
  }

  private func legend(_ drawn: [Series]) -> String {
    guard drawn.count > 1 else { return "" }
    var text = "<div class=\"legend\">"
    for series in drawn {
      let style = series.style % 6
      text += "<button type=\"button\" aria-pressed=\"true\" data-k=\"\(style)\"><svg viewBox=\"0 0 26 8\" aria-hidden=\"true\">"
      text += series.form == .dots
        ? "<circle class=\"f\(style)\" cx=\"13\" cy=\"4\" r=\"3\"/>" : "<path class=\"l c\(style)\" d=\"M0 4H26\"/>"
      text += "</svg>\(HTMLPage.escaped(series.name))</button>"
    }
    return text + "</div>"
  }

  /// The series' values on common places of the x axis, thinned; empty where they share none.
  private func common(_ drawn: [Series]) -> (xs: [Double], ys: [[Double?]])? {
    let lines = drawn.filter { $0.form != .dots }
    guard let longest = lines.max(by: { $0.points.count < $1.points.count }), !longest.points.isEmpty else { return nil }
    let step = max(1, (longest.points.count + Self.readable - 1) / Self.readable)
    let xs = stride(from: 0, to: longest.points.count, by: step).map { longest.points[$0].x }
    let ys = lines.map { series -> [Double?] in
      var at = 0
      return xs.map { x in
        guard !series.points.isEmpty else { return nil }
        while at + 1 < series.points.count, series.points[at + 1].x <= x { at += 1 }
        let value = series.points[at].y
        return value.isFinite ? value : nil
      }
    }
    return (xs, ys)
  }

  private func reading(_ drawn: [Series], _ box: Box) -> String {
    guard let (xs, ys) = common(drawn) else { return "" }
    let lines = drawn.filter { $0.form != .dots }
    let data = JSONValue.object([
      "px": .array(xs.map { .number((box.placeX($0) * 10).rounded() / 10) }),
      "x": .array(xs.map { x in .string(xTicks.isEmpty ? Number.text(x) : Ticks.percentile(x)) }),
      "xu": .string(xTicks.isEmpty ? xName : ""), "yu": .string(""), "names": .array(lines.map { .string($0.name) }),
      "y": .array(ys.map { .array($0.map { $0.map { .string(Number.text($0)) } ?? .null }) }),
    ])
    return " data-plot=\"\(HTMLPage.escaped(data.text()))\""
  }

  private func table(_ drawn: [Series]) -> String {
    guard let (xs, ys) = common(drawn), !xs.isEmpty else { return "" }
    let lines = drawn.filter { $0.form != .dots }
    let step = max(1, (xs.count + 39) / 40)
    let rows = stride(from: 0, to: xs.count, by: step).map { index -> [HTMLPage.Cell] in
      [.number(xTicks.isEmpty ? Number.text(xs[index]) : Ticks.percentile(xs[index]))]
        + ys.map { .number($0[index].map { Number.text($0) } ?? "–") }
    }
    let table = HTMLPage.table([xName] + lines.map { "\($0.name), \(yName)" }, rows, caption: "\(title), as a table")
    return "<details class=\"data\"><summary>As a table</summary>\(table)</details>"
  }
}

/// Places and names of an axis.
enum Ticks {
  static func places(_ range: ClosedRange<Double>, _ scale: Plot.Scale, about count: Int) -> [Double] {
    switch scale {
    case .linear:
      let raw = (range.upperBound - range.lowerBound) / Double(count)
      guard raw > 0, raw.isFinite else { return [range.lowerBound] }
      let power = Maths.pow(10, (Maths.log(raw) / Maths.log(10)).rounded(.down))
      let step = [1, 2, 2.5, 5, 10].map { $0 * power }.first { $0 >= raw * 0.999 } ?? raw
      var places: [Double] = []
      var at = (range.lowerBound / step).rounded(.up) * step
      while at <= range.upperBound + step * 1e-9, places.count < 30 {
        places.append(abs(at) < step * 1e-9 ? 0 : at)
        at += step
      }
      return places
    case .logarithmic:
      var places: [Double] = []
      let decades = (Maths.log(range.upperBound) - Maths.log(range.lowerBound)) / Maths.log(10)
      // Over so short a range round numbers of equal distance are more than powers and their halves.
      if decades < 0.5 { return Self.places(range, .linear, about: count) }
      let within: [Double] = decades < 1 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : decades < 2.5 ? [1, 2, 5] : [1]
      var power = Maths.pow(10, (Maths.log(range.lowerBound) / Maths.log(10)).rounded(.down))
      while power <= range.upperBound, places.count < 40 {
        for factor in within where factor * power >= range.lowerBound * 0.999 && factor * power <= range.upperBound * 1.001 {
          places.append(factor * power)
        }
        power *= 10
      }
      return places
    }
  }

  /// 1500 → 1.5k: an axis is for the eye.
  static func text(_ value: Double) -> String {
    let size = abs(value)
    for (limit, letter) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] where size >= limit {
      return Number.text(value / (letter == "k" ? 1e3 : limit)) + letter
    }
    return Number.text(value)
  }

  /// The x axis of a percentile curve is −log10(1 − p).
  static func percentile(_ x: Double) -> String { "p\(Number.text((1 - Maths.pow(10, -x)) * 100))" }
}
