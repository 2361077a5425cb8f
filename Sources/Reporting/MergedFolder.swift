// Shard folders become one run folder. Rows are copied as they stream by, seconds and intervals are added up by wall
// clock; memory does not grow with the number of shards or sessions.

import Foundation
package import Analysis
internal import Primitives
internal import Recording

package enum MergedFolder {
  /// Merges `folders` into a new folder at `out`. Folders that cannot be read make the result partial; folders of
  /// another run are refused.
  package static func make(_ folders: [String], out: String) throws(MergeError) -> Summary {
    var merge = RunMerge()
    var sources: [MergeSource] = []
    var unreadable: [String] = []
    for folder in folders {
      var ignored: [String] = []
      guard var record = try? RunRecovery.record(folder, problems: &ignored) else {
        unreadable.append(folder)
        continue
      }
      // A folder without a record of itself says no shard: its rows cannot be told from those of another run.
      if record.shard == nil && record.version.isEmpty {
        unreadable.append(folder)
        continue
      }
      let ended = record.variants.reduce(Int64(0)) { $0 + $1.total.counters.completed + $1.total.counters.failed }
      if let problem = RowCheck.problem(folder, ended: ended) { record.partialBecause = record.partialBecause ?? problem }
      do throws(RunMerge.Refusal) { try merge.add(record, name: folder) } catch { throw .refused(error.message) }
      sources.append(MergeSource(folder, record))
    }
    guard var record = merge.finish(unreadable: unreadable) else { throw .nothing(folders) }
    record.startedAt = UTCTime(milliseconds: record.startedAtMilliseconds).iso
    sources.sort { ($0.index, $0.folder) < ($1.index, $1.folder) }
    do throws(ReportFileError) {
      return try write(record, sources, out: out)
    } catch {
      throw .file(error)
    }
  }

  private static func write(_ record: RunRecord, _ sources: [MergeSource], out: String) throws(ReportFileError) -> Summary {
    let folder = try RunFolder.Shell(path: out)
    let grid = SecondGrid(startAtMilliseconds: record.startAtMilliseconds)
    let peaks = try seconds(sources, grid, origin: record.startedAtMilliseconds, to: "\(out)/timeseries.csv")
    for variant in record.variants {
      // A run shorter than a second has no row with live sessions; one shard's own peak is the least there was.
      let least = record.hosts.flatMap { $0.variants.filter { $0.name == variant.name }.map(\.peakLive) }.max() ?? 0
      if let peak = peaks[variant.name] { variant.peakLive = max(peak, least) }
    }
    for (name, instants) in MergeSource.instantColumns {
      try rows(name, instants, sources, record, to: "\(out)/\(name)")
    }
    let slugs = Slug.unique(record.variants.map(\.name))
    let decoder = HistogramDecoder()
    for variant in record.variants {
      for metric in RunFolder.loggedMetrics {
        let name = "\(LogName.of(metric)).\(slugs[variant.name] ?? "").hlog"
        try intervals(name, metric, sources, grid, record, decoder, to: out)
      }
    }
    try OutputFile.replace(RecordFile.tree(record).text() + "\n", to: "\(out)/record.json")
    try OutputFile.replace(record.scenario.text(pretty: true), to: "\(out)/scenario.json")
    let summary = Summary(record)
    try ReportFiles.write(summary, in: folder.path)
    return summary
  }

  /// Carries the rows of one file over from each shard, whole lines only, under one header.
  private static func rows(
    _ name: String, _ instants: Set<String>, _ sources: [MergeSource], _ record: RunRecord, to path: String
  ) throws(ReportFileError) {
    var output: OutputFile?
    var header: Substring?
    for source in sources {
      guard let reader = try? LineReader("\(source.folder)/\(name)"), let first = try reader.line() else { continue }
      if output == nil {
        output = try OutputFile(creating: path)
        header = first
        try output?.append("\(first)\n")
      }
      guard let file = output else { continue }
      guard first == header else {
        throw .badData(path: "\(source.folder)/\(name)", problem: "has other columns than the other shards' file")
      }
      var shift = source.shift(name, first, instants, record)
      if shift.isNothing {
        try reader.wholeLines { lines throws(ReportFileError) in try file.append(bytes: lines) }
      } else {
        try reader.wholeLines { lines throws(ReportFileError) in
          try shift.move(lines) { moved throws(ReportFileError) in try file.append(bytes: moved) }
        }
      }
    }
    try output?.finish()
  }

  /// Adds the seconds of all shards by wall clock; answers each variant's largest sum of live sessions.
  private static func seconds(
    _ sources: [MergeSource], _ grid: SecondGrid, origin: Int64, to path: String
  ) throws(ReportFileError) -> [String: Int64] {
    var sums: [Place: TimeSeriesRow] = [:]
    for source in sources {
      for (place, row) in try own(source, grid) { sums[place] = sums[place].map { sum(row, $0) } ?? row }
    }
    let file = try OutputFile(creating: path)
    try file.append(TimeSeriesRow.csvHeader)
    var peaks: [String: Int64] = [:]
    let order = sums.sorted { ($0.key.second, $0.key.variant, $0.key.repetition) < ($1.key.second, $1.key.variant, $1.key.repetition) }
    for (place, sum) in order {
      var row = sum
      row.wallMilliseconds = grid.milliseconds(place.second)
      row.time = Double(row.wallMilliseconds - origin) / 1e3
      peaks[place.variant] = max(peaks[place.variant] ?? 0, row.live)
      try file.append(row.csvLine(variantName: place.variant))
    }
    try file.finish()
    return peaks
  }

  private struct Place: Hashable {
    var variant: String
    var repetition: Int32
    var second: Int64
  }

  /// The seconds of one folder. Two rows that fall to the same second (the last one is short) are one: what was counted
  /// is added, what was read off at the end of each is not.
  private static func own(_ source: MergeSource, _ grid: SecondGrid) throws(ReportFileError) -> [Place: TimeSeriesRow] {
    var rows: [Place: TimeSeriesRow] = [:]
    guard let reader = try? LineReader("\(source.folder)/timeseries.csv"), let header = try reader.record() else { return [:] }
    let columns = CSVColumns(header: header)
    while let fields = try reader.record() {
      guard let row = TimeSeriesRow(fields: fields, columns: columns),
        let variant = columns.text("variant", in: fields).map(CSV.original)
      else { continue }
      let second = grid.second(nanoseconds: row.wallMilliseconds * 1_000_000 - source.clockOffset)
      let place = Place(variant: variant, repetition: row.repetition, second: second)
      guard let before = rows[place] else {
        rows[place] = row
        continue
      }
      var both = sum(before, row)
      both.live = max(before.live, row.live)
      both.cpu = max(before.cpu, row.cpu)
      both.residentBytes = max(before.residentBytes, row.residentBytes)
      both.allocatedBytes = max(before.allocatedBytes, row.allocatedBytes)
      rows[place] = both
    }
    return rows
  }

  private static func sum(_ a: TimeSeriesRow, _ b: TimeSeriesRow) -> TimeSeriesRow {
    var sum = a
    sum.started += b.started
    sum.live += b.live
    sum.completed += b.completed
    sum.failed += b.failed
    sum.events += b.events
    sum.tokens += b.tokens
    sum.bytes += b.bytes
    sum.cpu += b.cpu
    sum.residentBytes = a.residentBytes < 0 || b.residentBytes < 0 ? max(a.residentBytes, b.residentBytes) : a.residentBytes + b.residentBytes
    sum.allocatedBytes = a.allocatedBytes < 0 || b.allocatedBytes < 0 ? max(a.allocatedBytes, b.allocatedBytes) : a.allocatedBytes + b.allocatedBytes
    // Percentiles are never averaged: of several shards' the worst stands; the merged log has the true one.
    sum.ttftP50 = max(a.ttftP50, b.ttftP50)
    sum.ttftP99 = max(a.ttftP99, b.ttftP99)
    return sum
  }

  /// Adds one metric's intervals of all shards by wall clock.
  private static func intervals(
    _ name: String, _ metric: Metric, _ sources: [MergeSource], _ grid: SecondGrid, _ record: RunRecord,
    _ decoder: HistogramDecoder, to out: String
  ) throws(ReportFileError) {
    var sums: [Int64: PagedCounts] = [:]
    var counts: [(index: Int, count: Int64)] = []
    for source in sources {
      guard let reader = try? LineReader("\(source.folder)/\(name)") else { continue }
      while let line = try reader.lineBytes() {
        var second: Int64 = 0
        counts.removeAll(keepingCapacity: true)
        let isInterval = try? HistogramLog.read(line, with: decoder) { start in
          second = grid.second(nanoseconds: source.correctedStart + Int64((start * 1e9).rounded()))
        } _: { index, count in
          counts.append((index, count))
        }
        // A line that was cut short says nothing; the log of a killed shard ends in one.
        guard isInterval == true else { continue }
        // Taken out while it changes, so that it is not copied.
        var sum = sums.removeValue(forKey: second) ?? PagedCounts()
        for (index, count) in counts { sum.add(count, at: index) }
        sums[second] = sum
      }
    }
    guard !sums.isEmpty else { return }
    let file = try OutputFile(creating: "\(out)/\(name)")
    try file.append(
      HistogramLog.header(
        startMilliseconds: record.startedAtMilliseconds, startedAt: record.startedAt,
        comment: "ssebench \(VariantFigures.path(metric)), in nanoseconds; merged shards"))
    for (second, counts) in sums.sorted(by: { $0.key < $1.key }) {
      let from = grid.milliseconds(second) - record.startedAtMilliseconds
      try file.append(HistogramLog.line(counts.histogram, fromMilliseconds: from, toMilliseconds: from + 1_000))
    }
    try file.finish()
  }
}

/// Why shards do not become one run.
package enum MergeError: Error, Sendable {
  /// None of the folders could be read.
  case nothing([String])
  /// A folder of another scenario, seed, version or number of shards.
  case refused(String)
  case file(ReportFileError)
}
