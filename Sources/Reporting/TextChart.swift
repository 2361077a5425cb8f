// Numbers become small charts of characters, for terminals and step summaries. They carry no numerals of their own.

package enum TextChart {
  private static let steps: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// One character a point, at most `width`; points are thinned by taking each stretch's largest.
  package static func spark(_ values: [Double], width: Int = 60) -> String {
    guard !values.isEmpty, let top = values.filter(\.isFinite).max(), top > 0 else { return "" }
    let count = min(width, values.count)
    return String(
      (0..<count).map { column -> Character in
        let from = column * values.count / count
        let to = max(from + 1, (column + 1) * values.count / count)
        let value = values[from..<to].filter(\.isFinite).max() ?? 0
        return steps[min(7, max(0, Int(value / top * 7.999)))]
      })
  }

  /// A bar in eighths of a character.
  package static func bar(_ value: Double, of top: Double, width: Int = 30) -> String {
    guard value.isFinite, top > 0, value > 0 else { return "" }
    let eighths = Int((min(1, value / top) * Double(width) * 8).rounded())
    let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
    let bar = String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
    return bar.isEmpty ? "▏" : bar
  }
}
