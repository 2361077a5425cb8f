// Run folders become the samples that comparisons need: sessions by repeat, histograms by second, summaries by run.

package import Analysis
internal import Primitives
internal import Recording

package enum SampleReader {
  /// The samples of each variant over several runs, by name, in the order of the first run.
  package static func read(_ runs: [StoredRun]) throws(ReportFileError) -> [(name: String, set: SampleSet)] {
    var names: [String] = []
    var sets: [String: SampleSet] = [:]
    for run in runs {
      let own = run.summary.variants.compactMap { $0["name"]?.asString }
      for (name, variant) in zip(own, run.summary.variants) {
        if sets[name] == nil { names.append(name) }
        sets[name, default: SampleSet()].summaries.append(variant)
      }
      try check(run)
      for (name, blocks) in try self.blocks(run.folder) where sets[name] != nil { sets[name]?.blocks += blocks }
      let slugs = Slug.unique(own)
      for name in own {
        for metric in SampleSet.intervalMetrics {
          let path = "\(run.folder)/\(LogName.of(metric)).\(slugs[name] ?? "").hlog"
          guard let intervals = try? LogReader.intervals(path) else {
            let counted = run.summary.variants.first { $0["name"]?.asString == name }?["\(LogName.of(metric))_ms"]?["count"]?.asInt ?? 0
            if counted == 0 { continue }
            throw .badData(path: path, problem: "missing or damaged, though summary.json counts \(counted) values of it")
          }
          sets[name]?.stretches[metric, default: []] += stretches(intervals)
        }
      }
    }
    return names.map { ($0, sets[$0] ?? SampleSet()) }
  }

  /// What was cut off must not be compared as if it had never been.
  private static func check(_ run: StoredRun) throws(ReportFileError) {
    let ended = run.summary.variants.reduce(Int64(0)) { sum, variant in
      sum + Int64(variant["sessions"]?["completed"]?.asInt ?? 0) + Int64(variant["sessions"]?["failed"]?.asInt ?? 0)
    }
    if let problem = RowCheck.problem(run.folder, ended: ended) {
      throw .badData(path: "\(run.folder)/sessions.csv", problem: problem)
    }
  }

  /// Sessions by variant and repeat, each repeat in the order of its starts.
  private static func blocks(_ folder: String) throws(ReportFileError) -> [String: [SampleSet.Block]] {
    let reader = try LineReader("\(folder)/sessions.csv")
    guard let header = try reader.record() else { return [:] }
    let columns = CSVColumns(header: header)
    var rows: [String: [Int32: [SessionRecord]]] = [:]
    while let fields = try reader.record() {
      guard let session = SessionRecord(fields: fields, columns: columns), session.isCounted,
        let name = columns.text("variant", in: fields).map(CSV.original)
      else { continue }
      rows[name, default: [:]][session.repetition, default: []].append(session)
    }
    return rows.mapValues { repeats in
      repeats.sorted { $0.key < $1.key }.map { _, sessions in
        var block = SampleSet.Block()
        for session in sessions.sorted(by: { $0.scheduledStart < $1.scheduledStart }) { block.add(session) }
        return block
      }
    }
  }

  /// Seconds that follow each other; a break of more than two and a half of them begins a new stretch.
  private static func stretches(_ intervals: [HistogramLog.Interval]) -> [[Histogram]] {
    var stretches: [[Histogram]] = []
    var before: HistogramLog.Interval?
    for interval in intervals.sorted(by: { $0.start < $1.start }) {
      let isNext = before.map { interval.start - $0.start <= 2.5 * max($0.length, 0.5) } ?? false
      if isNext { stretches[stretches.count - 1].append(interval.histogram) } else { stretches.append([interval.histogram]) }
      before = interval
    }
    return stretches
  }
}
