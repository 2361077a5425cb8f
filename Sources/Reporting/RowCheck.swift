// Whether a run's folder still has a row for each session that its record counts: a file that was cut would be compared and merged
// as if the rest had never been.

internal import Recording

enum RowCheck {
  /// What is wrong with `sessions.csv` where it has fewer rows than `ended` sessions; nil where nothing is.
  static func problem(_ folder: String, ended: Int64) -> String? {
    if ended == 0 { return nil }
    var lines: Int64 = 0
    do throws(ReportFileError) {
      let reader = try LineReader("\(folder)/sessions.csv")
      try reader.wholeLines { bytes throws(ReportFileError) in
        for byte in bytes where byte == 0x0A { lines += 1 }
      }
    } catch {
      return "sessions.csv cannot be read, though \(ended) sessions ended."
    }
    let rows = max(0, lines - 1)
    return rows < ended ? "sessions.csv has \(rows) rows, though \(ended) sessions ended." : nil
  }
}
