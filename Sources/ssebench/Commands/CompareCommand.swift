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
      (
        "ssebench compare --baseline A1 A2 --candidate B1 B2 --gates chat.json --junit junit.xml",
        "for CI: the scenario's gates, those on `baseline` over all runs together, decide the exit code"
      ),
    ],
    operands: "[RUN [RUN]]", operandCount: 0...2,
    flags: [
      Flag("--baseline", "RUN…", "Runs to compare against", repeats: true, isPath: true, takesMany: true),
      Flag("--candidate", "RUN…", "Runs that are judged", repeats: true, isPath: true, takesMany: true),
      Flag("--ignore", "KEY.PATH", "A key of the scenario that may differ, such as endpoint.url", repeats: true),
      Flag("--json", nil, "Print one JSON document"),
      Flag("--html", "FILE", "Write a page with the ratios drawn", isPath: true),
      Flag("--gates", "FILE", "JSON: a list of gates, or an object with `gates` such as a scenario; they decide", isPath: true),
      Flag("--junit", "FILE", "Write the gates as JUnit XML", isPath: true),
      Flag("--summary", "FILE", "Append Markdown, for example to $GITHUB_STEP_SUMMARY", isPath: true),
    ],
    discussion: """
      Each figure has its difference and ratio with a 95 % interval from resampling sessions (seconds of the histogram logs
      for gaps) within each repeat; noise between repeats is added where they show it. With many figures p-values are
      corrected (Holm). The result is same, better, worse or not_comparable; ~ stands for "no difference shown".
      With --gates a gate on `baseline` is judged on all candidates together, any other in each of them, and a difference
      that no gate forbids is told and passes.
      Exit: 0 same or better, or every gate held; 1 worse, or a gate did not hold; 3 not comparable; 78 a malformed gate.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    if invocation.has("--junit") && !invocation.has("--gates") {
      throw CommandFailure(.usage, "compare: --junit writes gates as test cases; name them with --gates FILE")
    }
    var baseline = invocation.values("--baseline")
    var candidate = invocation.values("--candidate")
    if baseline.isEmpty && candidate.isEmpty && invocation.operands.count == 2 {
      baseline = [invocation.operands[0]]
      candidate = [invocation.operands[1]]
    } else if baseline.isEmpty && candidate.isEmpty && invocation.operands.count == 1 {
      if invocation.has("--gates") {
        throw CommandFailure(.usage, "compare: --gates judges candidates by a baseline; for one run use `ssebench gate RUN`")
      }
      return try say(try variants(of: invocation.operands[0]), invocation)
    } else if !invocation.operands.isEmpty || baseline.isEmpty || candidate.isEmpty {
      throw CommandFailure(.usage, "compare: expects RUN, or BASELINE CANDIDATE, or both --baseline RUN… and --candidate RUN…")
    }
    return try sets(baseline, candidate, invocation)
  }

  private static func say(_ report: ComparisonReport, _ invocation: Invocation) throws -> ExitCode {
    if let path = invocation.value("--html") {
      try StoredRunArguments.reporting { () throws(ReportFileError) in try OutputFile.replace(report.html, to: path) }
    }
    if let path = invocation.value("--summary") {
      try StoredRunArguments.reporting { () throws(ReportFileError) in try OutputFile.append(report.markdown, to: path) }
    }
    Terminal.result(invocation.has("--json") ? report.json.text(pretty: true) : report.text)
    if !invocation.has("--json"), ProcessInfo.processInfo.environment["GITHUB_ACTIONS"] == "true" {
      Terminal.result(report.annotations)
    }
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

  private static func sets(_ baseline: [String], _ candidate: [String], _ invocation: Invocation) throws -> ExitCode {
    let old = try baseline.map { try StoredRunArguments.open($0) }
    let new = try candidate.map { try StoredRunArguments.open($0) }
    let gates = try invocation.value("--gates").map { try GateArguments($0, of: new[0]) }
    let reasons = differences(old, new, ignoring: invocation.values("--ignore"))
    var samples: (old: Samples, new: Samples)?
    if reasons.isEmpty {
      samples = try StoredRunArguments.reporting { () throws(ReportFileError) in
        (try SampleReader.read(old), try SampleReader.read(new))
      }
    }
    let comparisons =
      samples.map { pairs($0.old, $0.new) }
      ?? [Comparison(notComparable: reasons, baselineName: baseline[0], candidateName: candidate[0])]
    var report = ComparisonReport(comparisons, baseline: baseline, candidate: candidate)
    if let gates {
      let results = GateJudge.judge(
        gates.list, candidates: new.map(\.summary.tree),
        baseline: samples.map { RunBaseline(candidate: $0.new, baseline: $0.old) }, withoutBaseline: .notComparable)
      report.gates = results
      if let path = invocation.value("--junit") {
        let judged = new[0].summary.judged(by: results)
        try StoredRunArguments.reporting { () throws(ReportFileError) in
          try OutputFile.replace(JUnitReport.text(judged, doubts: reasons), to: path)
        }
      }
    }
    return try say(report, invocation)
  }

  private typealias Samples = [(name: String, set: SampleSet)]

  /// Why these runs must not be compared, each reason once.
  private static func differences(_ old: [StoredRun], _ new: [StoredRun], ignoring: [String]) -> [String] {
    var reasons: [String] = []
    for run in old.dropFirst() + new {
      for reason in Comparability.reasons(old[0].summary, run.summary, ignoring: ignoring) where !reasons.contains(reason) {
        reasons.append(reason)
      }
    }
    return reasons
  }

  private static func pairs(_ old: Samples, _ new: Samples) -> [Comparison] {
    let pairs = new.compactMap { own in
      (old.first { $0.name == own.name } ?? (old.count == 1 && new.count == 1 ? old.first : nil)).map {
        (own.name, $0.set, own.set)
      }
    }
    return pairs.map { name, old, new in
      Comparison(baseline: old, candidate: new, baselineName: "baseline", candidateName: pairs.count > 1 ? name : "candidate")
    }
  }
}
