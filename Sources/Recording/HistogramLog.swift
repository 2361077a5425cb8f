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

  /// Reads one line without making a histogram of it: its start in seconds after the log's base time, then each count.
  /// False for a comment, the legend or an empty line.
  package static func read(
    _ line: UnsafeBufferPointer<UInt8>, with decoder: HistogramDecoder, start: (Double) -> Void,
    _ take: (_ index: Int, _ count: Int64) -> Void
  ) throws(HistogramCodingError) -> Bool {
    guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: "\"") else { return false }
    let isTagged = line.starts(with: "Tag=".utf8)
    var commas: [Int] = []
    for (at, byte) in line.enumerated() where byte == UInt8(ascii: ",") {
      commas.append(at)
      if commas.count == (isTagged ? 4 : 3) { break }
    }
    guard commas.count == (isTagged ? 4 : 3) else { throw .damaged }
    let from = isTagged ? commas[0] + 1 : 0
    let to = isTagged ? commas[1] : commas[0]
    guard let seconds = Double(String(decoding: line[from..<to], as: UTF8.self)) else { throw .damaged }
    start(seconds)
    try decoder.decode(UnsafeBufferPointer(rebasing: line[(commas[commas.count - 1] + 1)...]), take)
    return true
  }

  private static func thousandths(_ value: Int64) -> String {
    let fraction = String(value.magnitude % 1_000)
    return (value < 0 ? "-" : "") + String(value.magnitude / 1_000) + "."
      + String(repeating: "0", count: 3 - fraction.count) + fraction
  }
}
