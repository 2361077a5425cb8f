// `ssebench gate RUN`: a run's figures against limits and a baseline, for CI.

import Analysis
import Foundation
import Primitives
import Reporting

enum GateCommand {
  static let command = Command(
    name: "gate", summary: "Judge a run by its gates, alone or against a baseline",
    examples: [
      ("ssebench gate RUN --junit junit.xml", "the gates of the run's own scenario, as test cases for CI"),
      ("ssebench gate RUN --baseline A B --gates nightly-gates.json", "other gates, against two baseline runs"),
    ],
    operands: "RUN", operandCount: 1...1,
    flags: [
      Flag("--baseline", "RUN…", "Runs that `baseline` in a gate means", repeats: true, isPath: true, takesMany: true),
      Flag("--gates", "FILE", "JSON: a list of gates, or an object with `gates`; default: the scenario's", isPath: true),
      Flag("--ignore", "KEY.PATH", "A key of the scenario in which the baseline may differ", repeats: true),
      Flag("--junit", "FILE", "Write the gates as JUnit XML", isPath: true),
      Flag("--summary", "FILE", "Append Markdown, for example to $GITHUB_STEP_SUMMARY", isPath: true),
      Flag("--json", nil, "Print one JSON document"),
    ],
    discussion: """
      A gate is `expr OP expr` with < <= > >= == !=, + - * / ( ), numbers, keys of summary.json and `baseline` for the same key
      of the baseline: "ttft_ms.p99 <= baseline * 1.10". A figure that was not measured does not hold. A baseline gate
      fails only when the whole 95 % interval lies beyond the limit. On GitHub (GITHUB_ACTIONS=true) gates that did not
      hold are printed as annotations too.
      Exit: 0 all held, 1 one did not, 3 the run is not to be trusted or the baseline not comparable, 78 a malformed gate.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let run = try StoredRunArguments.open(invocation.operands[0])
    let gates = try GateArguments(invocation.value("--gates"), of: run)
    let baseline = try invocation.values("--baseline").map { try StoredRunArguments.open($0) }
    var differences: [String] = []
    if gates.needsBaseline {
      for other in baseline {
        for reason in Comparability.reasons(other.summary, run.summary, ignoring: invocation.values("--ignore"))
        where !differences.contains(reason) { differences.append(reason) }
      }
    }
    let samples: RunBaseline? =
      baseline.isEmpty || !gates.needsBaseline || !differences.isEmpty
      ? nil
      : try StoredRunArguments.reporting { () throws(ReportFileError) in
        RunBaseline(candidate: try SampleReader.read([run]), baseline: try SampleReader.read(baseline))
      }
    let judge = GateJudge(
      tree: run.summary.tree, baseline: samples, withoutBaseline: differences.isEmpty ? .fails : .notComparable)
    let summary = run.summary.judged(by: judge.judge(gates.list))
    try write(summary, invocation)
    for difference in differences { Terminal.note("ssebench: not comparable: \(difference)") }
    let status = StoredRunArguments.exit(summary.exitStatus)
    return differences.isEmpty || status == .interrupted || status == .ioError ? status : .invalid
  }

  private static func write(_ summary: Summary, _ invocation: Invocation) throws {
    let report = GateReport(summary)
    try StoredRunArguments.reporting { () throws(ReportFileError) in
      if let path = invocation.value("--junit") { try OutputFile.replace(JUnitReport.text(summary), to: path) }
      if let path = invocation.value("--summary") { try OutputFile.append(report.stepSummary, to: path) }
    }
    if invocation.has("--json") {
      Terminal.result(
        JSONValue.object([
          "schema_version": .integer(1), "verdict": .string(summary.verdict.rawValue),
          "exit_code": .integer(Int64(summary.exitStatus)), "gates": .array(summary.gates.map(\.json)),
        ]).text(pretty: true))
      return
    }
    Terminal.result(report.text)
    if ProcessInfo.processInfo.environment["GITHUB_ACTIONS"] == "true" { Terminal.result(report.annotations) }
  }
}
