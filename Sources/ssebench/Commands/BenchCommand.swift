// `ssebench bench`: every mode and decoder against the same bytes, beside what memchr and memcpy do with them in the same run.

import Foundation
import FoundationClients
import Primitives
import Streams

enum BenchCommand {
  static let command = Command(
    name: "bench", summary: "Time the parser modes and decoders against memchr and memcpy",
    examples: [
      ("ssebench bench", "times all modes on the built-in inputs, in a few minutes"),
      ("ssebench bench --parser whatwg --decoder scan --input chat --chunk 16384", "times one cell"),
      ("ssebench bench --input recorded.sse --chunk whole --json", "times all modes on a recorded stream"),
    ],
    flags: [
      Flag("--parser", "MODE", "A mode to time (default: all)", repeats: true, choices: ParserFlags.names),
      Flag(
        "--decoder", "NAME", "A decoder to time after the parser (default: all, on chat and unicode)", repeats: true,
        choices: DecoderKind.allCases.map(\.rawValue)),
      Flag("--input", "NAME|FILE", "An input: \(BenchInput.builtInNames.joined(separator: ", ")), or a file", repeats: true, isPath: true),
      Flag("--chunk", "N", "Bytes a read, or whole (default: a choice by input)", repeats: true),
      Flag("--api", "API", "What a file's events are, for the decoders", choices: StreamAPI.allCases.map(\.rawValue)),
      Flag("--parser-variant", "NAME", "Of the eventsource modes: the library's later buffer fix", choices: ["pr49"]),
      Flag("--cold", nil, "From 256 MiB of memory, not from the cache"),
      Flag("--rounds", "N", "Rounds a cell, of which the best counts (default: 5)"),
      Flag("--out", "DIR", "Write bench.md, bench.json and bench.svg there", isPath: true),
      Flag("--json", nil, "Print one JSON document"),
    ],
    discussion: """
      A cell is checked before it is timed: what comes out must be what the input holds. Times are CPU time of one thread, best of the
      rounds. Reads go round and round in the input and are not aligned to its events. A cell has 2 s; one that would need more says
      "skipped: budget", with the largest size that fitted and how time grows with it (1 is linear, 2 quadratic).
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let plan = try BenchPlan(invocation)
    if let folder = invocation.value("--out") { try BenchReport.prepare(folder) }
    if Version.build == "debug" { Terminal.note("ssebench: this is a debug build; its figures mean little") }
    var report = BenchReport()
    for cell in plan.limits {
      report.limits.append(ParserBench.limit(cell.input, plan.body(cell.input, .whatwg), chunkBytes: cell.chunk, rounds: plan.rounds))
    }
    for (index, cell) in plan.cells.enumerated() {
      if Terminal.errorIsTerminal {
        FileHandle.standardError.write(Data("\r\(index + 1) of \(plan.cells.count) cells".utf8))
      }
      report.rows.append(plan.time(cell))
    }
    if Terminal.errorIsTerminal { Terminal.note("") }
    if let folder = invocation.value("--out") { try report.write(to: folder) }
    Terminal.result(invocation.has("--json") ? report.document.text() + "\n" : report.table)
    return report.rows.contains { $0.skipped == "check" } ? .failed : .success
  }
}
