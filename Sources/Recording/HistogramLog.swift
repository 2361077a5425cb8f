// Interval histograms become lines of an HdrHistogram log (format 1.3) and back; readable by the public tools.
// Knows no file: lines out, lines in.


package enum HistogramLog {
  /// The lines before the first interval. Times in the lines after it count from `startMilliseconds` (since 1970).
  package static func header(startMilliseconds: Int64, startedAt: String, comment: String) -> String {
    let seconds = thousandths(startMilliseconds)
    return """
      #[\(comment)]
      #[Histogram log format version 1.3]
      #[StartTime: \(seconds) (seconds since epoch), \(startedAt)]
      #[BaseTime: \(seconds) (seconds since epoch)]
      "StartTimestamp","Interval_Length","Interval_Max","HdrHistogram_base64_compressed"

      """
  }

  /// One interval; both times in milliseconds after the log's base time. The maximum is printed in milliseconds.
  package static func line(
    _ histogram: Histogram, fromMilliseconds: Int64, toMilliseconds: Int64, tag: String? = nil
  ) -> String {
    let tagged = tag.map { "Tag=\($0)," } ?? ""
    let length = thousandths(max(0, toMilliseconds - fromMilliseconds))
    let maximum = thousandths(histogram.largest / 1_000)
    return "\(tagged)\(thousandths(fromMilliseconds)),\(length),\(maximum),\(histogram.base64)\n"
  }

  /// One interval read back.
  package struct Interval: Sendable {
    package var tag: String?
    /// Seconds after the log's base time.
    package var start: Double
    package var length: Double
    package var histogram: Histogram
  }

  /// Reads one line: nil for a comment, the legend or an empty line.
  package static func interval(_ line: Substring) throws(HistogramCodingError) -> Interval? {
    if line.isEmpty || line.hasPrefix("#") || line.hasPrefix("\"") { return nil }
    var fields = line.split(separator: ",", omittingEmptySubsequences: false)
    var tag: String?
    if let first = fields.first, first.hasPrefix("Tag=") {
      tag = String(first.dropFirst(4))
      fields.removeFirst()
    }
    guard fields.count == 4, let start = Double(fields[0]), let length = Double(fields[1]) else { throw .damaged }
    return Interval(tag: tag, start: start, length: length, histogram: try Histogram(base64: fields[3]))
  }

  private static func thousandths(_ value: Int64) -> String {
    let fraction = String(value.magnitude % 1_000)
    return (value < 0 ? "-" : "") + String(value.magnitude / 1_000) + "."
      + String(repeating: "0", count: 3 - fraction.count) + fraction
  }
}
