// A run's records become the files of its folder, as they come: what is flushed once a second survives a kill. The
// folder is made new; an existing one is never written into. Owned by one thread.

import Foundation
package import Analysis
package import Primitives
package import Recording

package final class RunFolder {
  package let path: String
  private let sessions: OutputFile
  private let series: OutputFile
  private var memory: OutputFile?
  private var recovery: OutputFile?
  private var logs: [String: OutputFile] = [:]
  private var slugs: [String: String] = [:]
  private var record = RunRecord()
  private var lastFlush = Instant.now()
  /// The seconds of each variant's first repeat, merged by twos when they are too many.
  private var seconds: [String: Thinner<TimeSeriesRow>] = [:]
  private var memorySeries: [String: MemorySeries] = [:]
  /// The first error of any file: the run is then partial.
  package private(set) var failure: ReportFileError?
  /// What the run came to, after `finish`.
  package private(set) var summary: Summary?

  /// Metrics with a log of their own, `ttft.<variant>.hlog`.
  package static let loggedMetrics: [Metric] = [
    .ttft, .itl, .e2e, .eventGap, .sendLag, .scheduledTTFT, .scheduledE2E, .recoveryTime, .loopIteration, .itlError,
  ]

  /// `Reports/<slug>-<UTC time>` under `parent`; a run of the same second gets a number behind it.
  package static func create(name: String, startedAtMilliseconds: Int64, under parent: String = "Reports")
    throws(ReportFileError) -> RunFolder
  {
    let base = "\(parent)/\(Slug.of(name))-\(UTCTime(milliseconds: startedAtMilliseconds).compact)"
    for attempt in 1...100 {
      do {
        return try RunFolder(path: attempt == 1 ? base : "\(base)-\(attempt)")
      } catch {
        guard case .exists = error else { throw error }
      }
    }
    throw .exists(path: base)
  }

  /// A folder made new, with the folders above it; empty.
  struct Shell {
    let path: String

    init(path: String) throws(ReportFileError) {
      self.path = path
      let parts = path.split(separator: "/", omittingEmptySubsequences: true)
      var above = path.hasPrefix("/") ? "" : "."
      for part in parts.dropLast() {
        above += "/\(part)"
        if mkdir(above, 0o755) != 0 {
          let code = errno
          if code != EEXIST { throw .cannotCreate(path: above, errno: code) }
        }
      }
      if mkdir(path, 0o755) != 0 {
        let code = errno
        throw code == EEXIST ? .exists(path: path) : .cannotCreate(path: path, errno: code)
      }
    }
  }

  package init(path: String) throws(ReportFileError) {
    self.path = try Shell(path: path).path
    sessions = try OutputFile(creating: "\(path)/sessions.csv")
    series = try OutputFile(creating: "\(path)/timeseries.csv")
    try sessions.append(SessionRecord.csvHeader)
    try series.append(TimeSeriesRow.csvHeader)
    try flush()
  }

  /// What is known before the first session: scenario, seed, machine and variants, so that a killed run can be told.
  package func begin(_ record: RunRecord) throws(ReportFileError) {
    self.record = record
    slugs = Slug.unique(record.variants.map(\.name))
    try note { () throws(ReportFileError) in
      try OutputFile.replace(record.scenario.text(pretty: true), to: "\(path)/scenario.json")
      var header = record
      header.partialBecause = "The run was killed before it could write its summary."
      try OutputFile.replace(RecordFile.tree(header, withHistograms: false).text() + "\n", to: "\(path)/record.json")
    }
  }

  package func append(_ session: SessionRecord, variantName: String) throws(ReportFileError) {
    try note { () throws(ReportFileError) in try sessions.append(session.csvLine(variantName: variantName)) }
  }

  package func append(_ row: TimeSeriesRow, variantName: String) throws(ReportFileError) {
    if row.repetition == 0 {
      seconds[variantName, default: Thinner(limit: ChartData.mostPoints)].add(row, merge: ChartData.merge)
    }
    try note { () throws(ReportFileError) in try series.append(row.csvLine(variantName: variantName)) }
  }

  /// Makes room for all of a variant's samples and seconds: an array that doubles would show in the very figures it
  /// holds. To be called before the idle state is read.
  package func expectMemory(of variantName: String) {
    if memorySeries[variantName] == nil { memorySeries[variantName] = MemorySeries() }
    if seconds[variantName] == nil { seconds[variantName] = Thinner(limit: ChartData.mostPoints, isReserved: true) }
  }

  package func append(_ sample: MemorySample, variantName: String) throws(ReportFileError) {
    expectMemory(of: variantName)
    memorySeries[variantName]?.add(sample)
    try note { () throws(ReportFileError) in
      if memory == nil {
        memory = try OutputFile(creating: "\(path)/memory.csv")
        try memory?.append(MemorySample.csvHeader)
      }
      try memory?.append(sample.csvLine(variantName: variantName))
    }
  }

  package func append(_ disconnect: DisconnectRecord, variantName: String) throws(ReportFileError) {
    try note { () throws(ReportFileError) in
      if recovery == nil {
        recovery = try OutputFile(creating: "\(path)/recovery.csv")
        try recovery?.append(DisconnectRecord.csvHeader)
      }
      try recovery?.append(disconnect.csvLine(variantName: variantName))
    }
  }

  /// One interval of a variant: a line in each log whose metric has values in it. Wall times in ms since 1970.
  package func appendInterval(
    variantName: String, interval: IntervalRecord, startMilliseconds: Int64, endMilliseconds: Int64
  ) throws(ReportFileError) {
    try note { () throws(ReportFileError) in
      for metric in Self.loggedMetrics where interval[metric].count > 0 {
        let log = try self.log(metric, variantName)
        try log.append(
          HistogramLog.line(
            interval[metric], fromMilliseconds: startMilliseconds - record.startedAtMilliseconds,
            toMilliseconds: endMilliseconds - record.startedAtMilliseconds))
      }
    }
  }

  /// Writes out what is buffered; at most once a second unless `now`.
  package func flush(now: Bool = true) throws(ReportFileError) {
    let time = Instant.now()
    if !now && (time - lastFlush).value < 1_000_000_000 { return }
    lastFlush = time
    try note { () throws(ReportFileError) in
      var first: ReportFileError?
      for file in files {
        do throws(ReportFileError) { try file.flush() } catch { first = first ?? error }
      }
      if let first { throw first }
    }
  }

  /// Closes the files that grew, then writes the summary and every report. A file that cannot be written does not keep
  /// the others from it: the verdict is then partial.
  package func finish(_ record: RunRecord) throws(ReportFileError) -> Verdict {
    for file in files {
      do throws(ReportFileError) { try file.finish() } catch { failure = failure ?? error }
    }
    var record = record
    addMemory(to: record)
    for variant in record.variants {
      guard let steady = SteadyState(seconds[variant.name]?.rows ?? []) else { continue }
      variant.steadyState = (steady.from, steady.to, steady.meanLive, steady.eventsPerSecond)
    }
    if let failure {
      record.ioError = true
      record.partialBecause = record.partialBecause ?? "\(failure)"
    }
    do throws(ReportFileError) { try OutputFile.replace(RecordFile.tree(record).text() + "\n", to: "\(path)/record.json") } catch {
      failure = failure ?? error
    }
    do throws(ReportFileError) { try OutputFile.replace(record.scenario.text(pretty: true), to: "\(path)/scenario.json") } catch {
      failure = failure ?? error
    }
    if let failure {
      record.ioError = true
      record.partialBecause = record.partialBecause ?? "\(failure)"
    }
    let summary = Summary(record)
    self.summary = summary
    do throws(ReportFileError) { try ReportFiles.write(summary, in: path) } catch { failure = failure ?? error }
    return failure == nil ? summary.verdict : .partial
  }

  /// The exit status of the finished run: the summary's, or 74 after an I/O error that came too late to stand in it.
  package var exitStatus: Int32 {
    let status = summary?.exitStatus ?? 70
    return failure != nil && status != 130 ? 74 : status
  }

  /// The slope over this folder's samples where the engine left it open.
  private func addMemory(to record: RunRecord) {
    for variant in record.variants {
      guard let series = memorySeries[variant.name], !series.samples.rows.isEmpty else { continue }
      var own = MemoryAnalysis.figures(series.samples.rows)
      own.peakAllocatedBytes = series.peakAllocated
      own.peakRSSBytes = series.peakRSS
      if !variant.tokensKnown {
        own.slopeBytesPerToken = nil
        own.slopeLow = nil
        own.slopeHigh = nil
        own.slopeAbsentBecause = "tokens were not counted (the decoder is none)"
      }
      var figures = variant.memory ?? own
      if figures.slopeBytesPerToken == nil {
        figures.slopeBytesPerToken = own.slopeBytesPerToken
        figures.slopeLow = own.slopeLow
        figures.slopeHigh = own.slopeHigh
        figures.slopeAbsentBecause = own.slopeAbsentBecause
      }
      figures.perSessionBytes = figures.perSessionBytes ?? own.perSessionBytes
      figures.perSessionAbsentBecause = figures.perSessionBytes == nil ? own.perSessionAbsentBecause : nil
      figures.peakAllocatedBytes = figures.peakAllocatedBytes ?? own.peakAllocatedBytes
      figures.peakRSSBytes = figures.peakRSSBytes ?? own.peakRSSBytes
      figures.allocationsPerEvent = figures.allocationsPerEvent ?? own.allocationsPerEvent
      variant.memory = figures
    }
  }

  private var files: [OutputFile] {
    [sessions, series] + [memory, recovery].compactMap { $0 } + logs.sorted { $0.key < $1.key }.map(\.value)
  }

  private func log(_ metric: Metric, _ variantName: String) throws(ReportFileError) -> OutputFile {
    let name = "\(LogName.of(metric)).\(slug(variantName)).hlog"
    if let file = logs[name] { return file }
    let file = try OutputFile(creating: "\(path)/\(name)")
    try file.append(
      HistogramLog.header(
        startMilliseconds: record.startedAtMilliseconds, startedAt: record.startedAt,
        comment: "ssebench \(VariantFigures.path(metric)), in nanoseconds; variant \(slug(variantName))"))
    logs[name] = file
    return file
  }

  /// A variant's part of a file name; one that `begin` did not name gets its own as it comes.
  private func slug(_ variantName: String) -> String {
    if let slug = slugs[variantName] { return slug }
    let slug = Slug.distinct(variantName, from: Set(slugs.values))
    slugs[variantName] = slug
    return slug
  }

  /// Runs a write and keeps the first failure; later ones are silent, so the caller hears of a full disk once.
  private func note(_ body: () throws(ReportFileError) -> Void) throws(ReportFileError) {
    do {
      try body()
    } catch {
      let isFirst = failure == nil
      failure = failure ?? error
      if isFirst { throw error }
    }
  }
}

/// A variant's readings of memory for its slope, of bounded number however long the run; `memory.csv` holds all.
private struct MemorySeries {
  private(set) var samples = Thinner<MemorySample>(limit: 3_000, isReserved: true)
  private(set) var peakAllocated: Int64?
  private(set) var peakRSS: Int64?

  mutating func add(_ sample: MemorySample) {
    if sample.allocated >= 0 { peakAllocated = max(peakAllocated ?? 0, sample.allocated) }
    if sample.rss >= 0 { peakRSS = max(peakRSS ?? 0, sample.rss) }
    samples.add(sample) { $1 }
  }
}
