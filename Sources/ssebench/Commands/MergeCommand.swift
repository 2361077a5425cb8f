// `ssebench merge`: shards of one run become one run.

import Analysis
import Primitives
import Reporting

enum MergeCommand {
  static let command = Command(
    name: "merge", summary: "Make one run of the shards of one",
    examples: [("ssebench merge shard-* --out Reports/merged", "adds the histograms, aligns the seconds, judges the gates")],
    operands: "RUN…", operandCount: 1...100_000,
    flags: [
      Flag("--out", "DIR", "The folder of the merged run; it must not exist", isPath: true),
      Flag("--json", nil, "Print summary.json"),
    ],
    discussion: """
      The shards must be of one scenario, seed, version and number of shards. Missing, unreadable and partial shards make the
      merged run partial and are named in it. The order does not matter, and merged runs can be merged again.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    guard let out = invocation.value("--out") else {
      throw CommandFailure(.usage, "merge: --out DIR is missing: where to put the merged run")
    }
    do throws(MergeError) {
      let summary = try MergedFolder.make(invocation.operands, out: out)
      Terminal.result(invocation.has("--json") ? summary.tree.text(pretty: true) : TerminalSummary.text(summary, folder: out))
      return StoredRunArguments.exit(summary.exitStatus)
    } catch {
      switch error {
      case .nothing(let folders):
        throw CommandFailure(.noInput, "merge: none of \(folders.count) folders holds a run that can be read")
      case .refused(let reason):
        throw CommandFailure(.data, "merge: \(reason)")
      case .file(let problem):
        throw CommandFailure(StoredRunArguments.exit(problem.exitStatus), problem.description)
      }
    }
  }
}
