// The rows and logs of a folder become a run's record: whole from `record.json`, else counted again from
// `sessions.csv` and the histogram logs up to the last whole line.

import Foundation
internal import Primitives
package import Recording

package enum RunRecovery {
  /// The record of a folder; throws only where nothing of it can be read.
  package static func record(_ folder: String, problems: inout [String]) throws(ReportFileError) -> RunRecord {
    var record: RunRecord
    do throws(ReportFileError) {
      record = try StoredRecord.read(folder)
      let isWhole = record.variants.contains { $0.total.counters.started > 0 }
      if isWhole { return record }
    } catch {
      problems.append("\(error)")
      record = RunRecord()
      record.partialBecause = "The run left no record of itself; its figures are counted from its rows."
    }
    if record.scenario.isNull, let scenario = try? JSONDocument.read("\(folder)/scenario.json") { record.scenario = scenario }
    if record.name.isEmpty {
      record.name = record.scenario["name"]?.asString ?? folder.split(separator: "/").last.map(String.init) ?? "run"
    }
    try count(folder, &record, &problems)
    return record
  }

  /// Counts sessions, and takes what a session's row does not have (gaps, the instrument) from the logs.
  private static func count(_ folder: String, _ record: inout RunRecord, _ problems: inout [String]) throws(ReportFileError) {
    let reader = try LineReader("\(folder)/sessions.csv")
    guard let header = try reader.record() else {
      throw .badData(path: "\(folder)/sessions.csv", problem: "empty; the run was killed before it began")
    }
    let columns = CSVColumns(header: header)
    var damaged = 0
    var ends: [String: (first: Int64, last: Int64)] = [:]
    while let fields = try reader.record() {
      guard let session = SessionRecord(fields: fields, columns: columns), let field = columns.text("variant", in: fields)
      else {
        damaged += 1
        continue
      }
      let name = CSV.original(field)
      if session.isCounted { variant(name, &record).total.count(session) }
      guard session.scheduledStart >= 0, session.end >= 0 else { continue }
      let known = ends[name] ?? (session.scheduledStart, session.end)
      ends[name] = (min(known.first, session.scheduledStart), max(known.last, session.end))
    }
    if reader.endsCutShort { problems.append("sessions.csv ends in a half-written line, which is left out.") }
    if damaged > 0 { problems.append("sessions.csv: \(damaged) lines could not be read and are left out.") }
    for (name, span) in ends {
      variant(name, &record).measuredSeconds = Double(span.last - span.first) / 1e9
      record.durationSeconds = max(record.durationSeconds, Double(span.last) / 1e9)
    }
    let slugs = Slug.unique(record.variants.map(\.name))
    for variant in record.variants {
      if let slo = record.scenario["slo"]?.asObject, !slo.isEmpty { variant.hasSLO = true }
      for metric in RunFolder.loggedMetrics where variant.total[metric].count == 0 {
        let log = "\(folder)/\(LogName.of(metric)).\(slugs[variant.name] ?? "").hlog"
        guard let reader = try? LineReader(log) else { continue }
        while let line = try reader.line() {
          guard let interval = try? HistogramLog.interval(line) else { continue }
          variant.total[metric].add(interval.histogram)
        }
      }
    }
    problems.append("The summary was made again from sessions.csv and the .hlog files; figures that are in neither are absent.")
  }

  private static func variant(_ name: String, _ record: inout RunRecord) -> VariantRecord {
    if let known = record.variants.first(where: { $0.name == name }) { return known }
    let variant = VariantRecord(name: name, client: .null)
    record.variants.append(variant)
    return variant
  }
}

extension IntervalRecord {
  /// Adds what a session's row knows of it.
  func count(_ session: SessionRecord) {
    for metric in Metric.allCases {
      if let value = session.latency(metric) { record(metric, value) }
    }
    counters.started += session.outcome == .dropped ? 0 : 1
    switch session.outcome {
    case .completed: counters.completed += 1
    case .failed: counters.failed += 1
    case .cancelled: counters.cancelled += 1
    case .dropped: counters.dropped += 1
    }
    if let error = session.error { errors[Int(error.rawValue)] += 1 }
    counters.events += session.events
    counters.tokenEvents += session.tokenEvents
    counters.tokens += session.tokens
    switch session.tokenSource {
    case .usage: counters.tokensFromUsage += session.tokens
    case .events: counters.tokensFromEvents += session.tokens
    case .none: break
    }
    counters.bytes += session.bytes
    counters.reads += session.reads
    counters.stalls += Int64(session.stalls)
    counters.fakeStreaming += session.isFakeStreaming ? 1 : 0
    counters.good += session.metSLO == true ? 1 : 0
    counters.disconnects += Int64(session.disconnects)
    counters.reconnects += Int64(session.reconnects)
    counters.expected += max(0, session.expected)
    counters.delivered += session.delivered
    counters.lost += session.lost
    counters.undelivered += session.undelivered
    counters.duplicated += session.duplicated
    counters.reordered += session.reordered
    counters.corrupted += session.corrupted
    counters.restartedTokens += session.restartedTokens
    counters.tokensAfterCancel += session.tokensAfterCancel
  }
}

/// Reads a histogram log of ours; a half-written or damaged line ends it.
package enum LogReader {
  package static func intervals(_ path: String) throws(ReportFileError) -> [HistogramLog.Interval] {
    let reader = try LineReader(path)
    var intervals: [HistogramLog.Interval] = []
    while let line = try reader.line() {
      guard let interval = try? HistogramLog.interval(line) else {
        if line.hasPrefix("#") || line.hasPrefix("\"") || line.isEmpty { continue }
        break
      }
      intervals.append(interval)
    }
    return intervals
  }
}
