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
    var readable: [(index: Int, folder: String, startedAt: Int64)] = []
    var unreadable: [String] = []
    var problems: [String] = []
    for folder in folders {
      do throws(ReportFileError) {
        // Only the order is needed now; counts are read one shard at a time.
        let header: RunRecord
        if let known = StoredRecord.header(folder) {
          header = known
        } else {
          header = try RunRecovery.record(folder, problems: &problems)
        }
        readable.append((header.mergedShards.min() ?? header.shard?.index ?? 0, folder, header.startedAtMilliseconds))
      } catch {
        unreadable.append(folder)
      }
    }
    readable.sort { ($0.index, $0.folder) < ($1.index, $1.folder) }
    guard !readable.isEmpty else { throw .nothing(folders) }

    var merge = RunMerge()
    for shard in readable {
      var ignored: [String] = []
      guard let record = try? RunRecovery.record(shard.folder, problems: &ignored) else { continue }
      do throws(RunMerge.Refusal) { try merge.add(record, name: shard.folder) } catch { throw .refused(error.message) }
    }
    guard var record = merge.finish(unreadable: unreadable) else { throw .nothing(folders) }
    record.startedAt = UTCTime(milliseconds: record.startedAtMilliseconds).iso
    let shards = readable.map { (folder: $0.folder, startedAt: $0.startedAt) }
    do throws(ReportFileError) {
      return try write(record, shards, hosts: merge.hostList, out: out)
    } catch {
      throw .file(error)
    }
  }

  private static func write(
    _ merged: RunRecord, _ shards: [(folder: String, startedAt: Int64)], hosts: JSONValue, out: String
  ) throws(ReportFileError) -> Summary {
    let record = merged
    let folder = try RunFolder.Shell(path: out)
    let peaks = try seconds(shards, origin: record.startedAtMilliseconds, to: "\(out)/timeseries.csv")
    for variant in record.variants { if let peak = peaks[variant.name] { variant.peakLive = peak } }
    for name in ["sessions.csv", "memory.csv", "recovery.csv"] {
      try rows(name, shards.map(\.folder), to: "\(out)/\(name)")
    }
    let slugs = Slug.unique(record.variants.map(\.name))
    for variant in record.variants {
      for metric in RunFolder.loggedMetrics {
        try intervals("\(LogName.of(metric)).\(slugs[variant.name] ?? "").hlog", metric, shards, record, to: out)
      }
    }
    try OutputFile.replace(RecordFile.tree(record).text() + "\n", to: "\(out)/record.json")
    try OutputFile.replace(record.scenario.text(pretty: true), to: "\(out)/scenario.json")
    var tree = Summary(record).tree
    if case .object(var object) = tree {
      object["hosts"] = hosts
      tree = .object(object)
    }
    let summary = Summary(tree: tree)
    try ReportFiles.write(summary, in: folder.path)
    return summary
  }

  /// Copies the rows of one file from each shard, whole lines only, under one header.
  private static func rows(_ name: String, _ folders: [String], to path: String) throws(ReportFileError) {
    var output: OutputFile?
    var header: Substring?
    for folder in folders {
      guard let reader = try? LineReader("\(folder)/\(name)"), let first = try reader.line() else { continue }
      if output == nil {
        output = try OutputFile(creating: path)
        header = first
        try output?.append("\(first)\n")
      }
      guard let file = output else { continue }
      if first == header {
        try reader.copyWholeLines { bytes throws(ReportFileError) in try file.append(bytes: bytes) }
      } else {
        throw .badData(path: "\(folder)/\(name)", problem: "has other columns than the other shards' file")
      }
    }
    try output?.finish()
  }

  /// Adds the seconds of all shards by wall clock; answers each variant's largest sum of live sessions.
  private static func seconds(_ shards: [(folder: String, startedAt: Int64)], origin: Int64, to path: String)
    throws(ReportFileError) -> [String: Int64]
  {
    struct Place: Hashable {
      var variant: String
      var repetition: Int32
      var second: Int64
    }
    var sums: [Place: TimeSeriesRow] = [:]
    for shard in shards {
      guard let reader = try? LineReader("\(shard.folder)/timeseries.csv"), let header = try reader.record() else { continue }
      let columns = CSVColumns(header: header)
      while let fields = try reader.record() {
        guard let row = TimeSeriesRow(fields: fields, columns: columns),
          let variant = columns.text("variant", in: fields).map(CSV.original)
        else { continue }
        // Rows fall to the nearest whole second of the wall clock, which stays where it is when merged again.
        let second = Int64((Double(row.wallMilliseconds) / 1e3).rounded())
        let place = Place(variant: variant, repetition: row.repetition, second: second)
        sums[place] = sums[place].map { sum(row, $0) } ?? row
      }
    }
    let file = try OutputFile(creating: path)
    try file.append(TimeSeriesRow.csvHeader)
    var peaks: [String: Int64] = [:]
    let order = sums.sorted { ($0.key.second, $0.key.variant, $0.key.repetition) < ($1.key.second, $1.key.variant, $1.key.repetition) }
    for (place, sum) in order {
      var row = sum
      row.wallMilliseconds = place.second * 1_000
      row.time = Double(row.wallMilliseconds - origin) / 1e3
      peaks[place.variant] = max(peaks[place.variant] ?? 0, row.live)
      try file.append(row.csvLine(variantName: place.variant))
    }
    try file.finish()
    return peaks
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

  /// Adds one metric's intervals of all shards by wall clock, in counts by index, which stay small.
  private static func intervals(
    _ name: String, _ metric: Metric, _ shards: [(folder: String, startedAt: Int64)], _ record: RunRecord, to out: String
  ) throws(ReportFileError) {
    var sums: [Int64: [Int: Int64]] = [:]
    for shard in shards {
      guard let reader = try? LineReader("\(shard.folder)/\(name)") else { continue }
      while let line = try reader.line() {
        guard let interval = try? HistogramLog.interval(line) else { continue }
        let second = Int64((Double(shard.startedAt) / 1e3 + interval.start).rounded())
        for index in interval.histogram.usedIndices {
          let count = interval.histogram.count(at: index)
          if count > 0 { sums[second, default: [:]][index, default: 0] += count }
        }
      }
    }
    guard !sums.isEmpty else { return }
    let file = try OutputFile(creating: "\(out)/\(name)")
    try file.append(
      HistogramLog.header(
        startMilliseconds: record.startedAtMilliseconds, startedAt: record.startedAt,
        comment: "ssebench \(VariantFigures.path(metric)), in nanoseconds; merged shards"))
    for (second, counts) in sums.sorted(by: { $0.key < $1.key }) {
      let histogram = Histogram(counts: counts.map { (index: $0.key, count: $0.value) })
      try file.append(
        HistogramLog.line(
          histogram, fromMilliseconds: second * 1_000 - record.startedAtMilliseconds,
          toMilliseconds: (second + 1) * 1_000 - record.startedAtMilliseconds))
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
