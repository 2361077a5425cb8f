// `ssebench report RUN`: the reports of a run folder, made again from what is in it.

import Analysis
import Foundation
import Primitives
import Reporting

enum ReportCommand {
  static let command = Command(
    name: "report", summary: "Make the reports of a run again, or print one",
    examples: [
      ("ssebench report Reports/quickstart-20261130T152654Z", "writes report.md and report.html anew and prints the summary"),
      ("ssebench report RUN --format markdown", "prints report.md, for example into a pull request"),
    ],
    operands: "RUN", operandCount: 1...1,
    flags: [
      Flag("--format", "FORMAT", "Print the report in this form instead of writing files", choices: ["html", "markdown", "csv", "json"]),
      Flag("--open", nil, "Open report.html in the browser"),
    ],
    discussion: """
      RUN is a run's folder. A folder of a killed run, one that lacks files, and one of another schema version are shown as
      far as they go; what is missing is said on stderr.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let run = try StoredRunArguments.open(invocation.operands[0])
    let charts = ChartData.read(folder: run.folder, variants: run.summary.variants.compactMap { $0["name"]?.asString })
    for problem in charts.problems { Terminal.note("ssebench: \(run.folder): not shown: \(problem)") }
    switch invocation.value("--format") {
    case "html"?: Terminal.result(HTMLReport.text(run.summary, charts: charts))
    case "markdown"?: Terminal.result(MarkdownReport.text(run.summary, charts: charts))
    case "csv"?: Terminal.result(SummaryTable.csv(run.summary))
    case "json"?: Terminal.result(run.summary.tree.text(pretty: true))
    default:
      try StoredRunArguments.reporting { () throws(ReportFileError) in
        let isMissing = !FileManager.default.fileExists(atPath: run.folder + "/summary.json")
        try ReportFiles.write(run.summary, in: run.folder, withSummary: run.isRebuilt && isMissing)
      }
      Terminal.result(TerminalSummary.text(run.summary, folder: run.folder))
    }
    if invocation.has("--open") { try open(run.folder + "/report.html") }
    return FoundationFault.isOver ? .software : .success
  }

  private static func open(_ path: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    #if os(macOS)
    process.arguments = ["open", path]
    #else
    process.arguments = ["xdg-open", path]
    #endif
    do {
      try process.run()
      process.waitUntilExit()
    } catch {
      throw CommandFailure(.software, "--open: no program to open \(path) with: \(error)")
    }
    if process.terminationStatus != 0 {
      throw CommandFailure(.software, "--open: no program opened \(path); open it in a browser yourself")
    }
  }
}
