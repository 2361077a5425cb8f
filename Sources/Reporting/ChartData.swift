// The files beside a summary become what charts draw: the seconds, the distributions, memory over tokens, recoveries and
// a strip of sessions, all thinned to a bounded number of points whatever the run's length.

package import Recording
package import Primitives

package struct ChartData: Sendable {
  package struct Variant: Sendable {
    package var name = ""
    package var seconds: [TimeSeriesRow] = []
    package var memory: [MemorySample] = []
    package var recoveries: [DisconnectRecord] = []
    package var sessions: [SessionRecord] = []
    /// Full distributions, from `record.json`.
    package var histograms: [Metric: Histogram] = [:]
  }

  package var variants: [Variant] = []
  /// What is missing or damaged, in sentences.
  package var problems: [String] = []

  package init() {}

  /// Points kept of one series.
  static let mostPoints = 600
  /// Sessions shown in the strip.
  static let mostSessions = 160

  /// Reads what there is; a missing file is no problem where a run need not have it.
  package static func read(folder: String, variants names: [String]) -> ChartData {
    var data = ChartData()
    data.variants = names.map { name in
      var variant = Variant()
      variant.name = name
      return variant
    }
    data.rows(folder, "timeseries.csv", required: true, limit: mostPoints, merge: merge) { TimeSeriesRow(fields: $0, columns: $1) }
      store: { $0.seconds = $1 }
    data.rows(folder, "memory.csv", required: false, limit: mostPoints, merge: { $1 }) { MemorySample(fields: $0, columns: $1) }
      store: { $0.memory = $1 }
    data.rows(folder, "recovery.csv", required: false, limit: 4_000, merge: { $1 }) { DisconnectRecord(fields: $0, columns: $1) }
      store: { $0.recoveries = $1 }
    data.rows(
      folder, "sessions.csv", required: true, limit: mostSessions, enough: mostSessions * 4 * max(1, names.count),
      merge: { a, _ in a }
    ) {
      SessionRecord(fields: $0, columns: $1)
    } store: { $0.sessions = $1 }
    data.histograms(folder)
    return data
  }

  /// Two neighbouring seconds as one row of twice the length: sums of what happened, the later of what stood.
  static func merge(_ a: TimeSeriesRow, _ b: TimeSeriesRow) -> TimeSeriesRow {
    guard a.repetition == b.repetition else { return b }
    var row = b
    row.started += a.started
    row.completed += a.completed
    row.failed += a.failed
    row.events += a.events
    row.tokens += a.tokens
    row.bytes += a.bytes
    row.cpu = (a.cpu + b.cpu) / 2
    row.live = max(a.live, b.live)
    row.ttftP50 = max(a.ttftP50, b.ttftP50)
    row.ttftP99 = max(a.ttftP99, b.ttftP99)
    return row
  }

  /// Reads a file of rows by variant, of a file with more than `enough` rows an even share. When a variant has twice `limit`, neighbours are merged, so memory stays bounded.
  private mutating func rows<Row>(
    _ folder: String, _ file: String, required: Bool, limit: Int, enough: Int? = nil, merge: (Row, Row) -> Row,
    parse: ([String], CSVColumns) -> Row?, store: (inout Variant, [Row]) -> Void
  ) {
    let path = "\(folder)/\(file)"
    do {
      let reader = try LineReader(path)
      guard let header = try reader.record() else {
        if required { problems.append("\(file) is empty.") }
        return
      }
      let columns = CSVColumns(header: header)
      var thinners: [String: Thinner<Row>] = [:]
      var damaged = 0
      // A row of sessions takes some 200 bytes: of a long file only as many rows are read as can be drawn.
      let between = enough.map { max(0, reader.size / 200 / $0 - 1) } ?? 0
      while let fields = try reader.record() {
        guard let name = columns.text("variant", in: fields).map(CSV.original), let row = parse(fields, columns) else {
          damaged += 1
          continue
        }
        thinners[name, default: Thinner(limit: limit)].add(row, merge: merge)
        if between > 0, try !reader.skip(lines: between) { break }
      }
      if reader.endsCutShort { problems.append("\(file) ends in a half-written line, which is left out.") }
      if damaged > 0 { problems.append("\(file): \(damaged) lines could not be read and are left out.") }
      for index in variants.indices { store(&variants[index], thinners[variants[index].name]?.rows ?? []) }
    } catch {
      if required { problems.append("\(error)") }
    }
  }

  private mutating func histograms(_ folder: String) {
    guard let record = try? StoredRecord.read(folder) else { return }
    for index in variants.indices {
      guard let variant = record.variants.first(where: { $0.name == variants[index].name }) else { continue }
      for metric in Metric.allCases where variant.total[metric].count > 0 {
        variants[index].histograms[metric] = variant.total[metric]
      }
    }
  }
}

/// Keeps at most twice a number of rows by merging neighbours each time it is full.
struct Thinner<Row> {
  private let limit: Int
  private(set) var rows: [Row] = []
  private var stride = 1
  private var pending: Row?
  private var pendingCount = 0

  /// - Parameter isReserved: whether room for all rows is made at once.
  init(limit: Int, isReserved: Bool = false) {
    self.limit = limit
    if isReserved { rows.reserveCapacity(2 * limit) }
  }

  mutating func add(_ row: Row, merge: (Row, Row) -> Row) {
    pending = pending.map { merge($0, row) } ?? row
    pendingCount += 1
    guard pendingCount == stride, let merged = pending else { return }
    rows.append(merged)
    pending = nil
    pendingCount = 0
    guard rows.count >= 2 * limit else { return }
    let half = rows.count / 2
    for index in 0..<half { rows[index] = merge(rows[2 * index], rows[2 * index + 1]) }
    rows.removeLast(rows.count - half)
    stride *= 2
  }
}
