// `ssebench compare`: two sets of runs, or the variants of one, figure by figure with intervals.

import Analysis
import Foundation
import Primitives
import Reporting

enum CompareCommand {
  static let command = Command(
    name: "compare", summary: "Compare two sets of runs, or the variants of one run",
    examples: [
      ("ssebench compare RUN", "the variants of one run, each against the first"),
      ("ssebench compare OLD NEW", "two runs: baseline, candidate"),
      ("ssebench compare --baseline A1 A2 --candidate B1 B2", "several runs a side, so that noise between runs is known"),
    ],
    operands: "[RUN [RUN]]", operandCount: 0...2,
    flags: [
      Flag("--baseline", "RUN…", "Runs to compare against", repeats: true, isPath: true, takesMany: true),
      Flag("--candidate", "RUN…", "Runs that are judged", repeats: true, isPath: true, takesMany: true),
      Flag("--ignore", "KEY.PATH", "A key of the scenario that may differ, such as endpoint.url", repeats: true),
      Flag("--json", nil, "Print one JSON document"),
      Flag("--html", "FILE", "Write a page with the ratios drawn", isPath: true),
    ],
    discussion: """
      Each figure has its difference and ratio with a 95 % interval from resampling sessions (seconds of the histogram logs
      for gaps) within each repeat; noise between repeats is added where they show it. With many figures p-values are
      corrected (Holm). The result is same, better, worse or not_comparable; ~ stands for "no difference shown".
      Exit: 0 same or better, 1 worse, 3 not comparable.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    var baseline = invocation.values("--baseline")
    var candidate = invocation.values("--candidate")
    if baseline.isEmpty && candidate.isEmpty && invocation.operands.count == 2 {
      baseline = [invocation.operands[0]]
      candidate = [invocation.operands[1]]
    } else if baseline.isEmpty && candidate.isEmpty && invocation.operands.count == 1 {
      return try say(try variants(of: invocation.operands[0]), invocation)
    } else if !invocation.operands.isEmpty || baseline.isEmpty || candidate.isEmpty {
      throw CommandFailure(.usage, "compare: expects RUN, or BASELINE CANDIDATE, or both --baseline RUN… and --candidate RUN…")
    }
    return try say(try sets(baseline, candidate, ignoring: invocation.values("--ignore")), invocation)
  }

  private static func say(_ report: ComparisonReport, _ invocation: Invocation) throws -> ExitCode {
    if let path = invocation.value("--html") {
      try StoredRunArguments.reporting { () throws(ReportFileError) in try OutputFile.replace(report.html, to: path) }
    }
    Terminal.result(invocation.has("--json") ? report.json.text(pretty: true) : report.text)
    return StoredRunArguments.exit(report.exitStatus)
  }

  private static func variants(of path: String) throws -> ComparisonReport {
    let run = try StoredRunArguments.open(path)
    let names = run.summary.variants.compactMap { $0["name"]?.asString }
    guard let first = names.first, names.count > 1 else {
      throw CommandFailure(
        .usage, "compare: \(path) has one variant, so there is nothing to compare; give two runs, or add `compare` to the scenario")
    }
    let distrust = Comparability.trust(run.summary, "The run")
    if !distrust.isEmpty {
      let comparisons = names.dropFirst().map {
        Comparison(notComparable: distrust, baselineName: first, candidateName: $0)
      }
      return ComparisonReport(comparisons, baseline: [path], candidate: [path])
    }
    let samples = try StoredRunArguments.reporting { () throws(ReportFileError) in try SampleReader.read([run]) }
    let comparisons = samples.dropFirst().map {
      Comparison(baseline: samples[0].set, candidate: $0.set, baselineName: first, candidateName: $0.name)
    }
    return ComparisonReport(comparisons, baseline: [path], candidate: [path])
  }

  private static func sets(_ baseline: [String], _ candidate: [String], ignoring: [String]) throws -> ComparisonReport {
    let old = try baseline.map { try StoredRunArguments.open($0) }
    let new = try candidate.map { try StoredRunArguments.open($0) }
    var reasons: [String] = []
    for run in old.dropFirst() + new {
      for reason in Comparability.reasons(old[0].summary, run.summary, ignoring: ignoring) where !reasons.contains(reason) {
        reasons.append(reason)
      }
    }
    if !reasons.isEmpty {
      let comparison = Comparison(notComparable: reasons, baselineName: baseline[0], candidateName: candidate[0])
      return ComparisonReport([comparison], baseline: baseline, candidate: candidate)
    }
    let (a, b) = try StoredRunArguments.reporting { () throws(ReportFileError) in
      (try SampleReader.read(old), try SampleReader.read(new))
    }
    let pairs = b.compactMap { own in
      (a.first { $0.name == own.name } ?? (a.count == 1 && b.count == 1 ? a.first : nil)).map { (own.name, $0.set, own.set) }
    }
    let comparisons = pairs.map { name, old, new in
      Comparison(baseline: old, candidate: new, baselineName: "baseline", candidateName: pairs.count > 1 ? name : "candidate")
    }
    return ComparisonReport(comparisons, baseline: baseline, candidate: candidate)
  }
}
