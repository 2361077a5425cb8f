// `ssebench history`: the archive of runs, and the trend of a figure through it.

import Analysis
import Foundation
import Primitives
import Reporting

enum HistoryCommand {
  static let standardFile = "Reports/history.sqlite"

  static let command = Command(
    name: "history", summary: "Keep runs in an archive and show a figure's trend",
    examples: [
      ("ssebench history add RUN", "adds a run to \(standardFile)"),
      ("ssebench history trend ttft_ms.p99", "draws the figure run by run and marks changes of level"),
    ],
    operands: "[list | trend KEY | add RUN…]", operandCount: 0...1_000,
    flags: [
      Flag("--db", "FILE", "The archive, an SQLite file; default \(standardFile)", isPath: true),
      Flag("--name", "NAME", "Only runs of this name"),
      Flag("--variant", "NAME", "Only this variant"),
      Flag("--json", nil, "Print one JSON document"),
      Flag("--html", "FILE", "Write the trend as a page", isPath: true),
    ],
    discussion: "Several processes may add runs at once: they wait for each other, for up to 30 s.",
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let words = invocation.operands
    let path = invocation.value("--db") ?? standardFile
    do throws(HistoryError) {
      switch words.first ?? "list" {
      case "list" where words.count <= 1: return try list(try open(path, toWrite: false), invocation)
      case "trend" where words.count == 2: return try trend(try open(path, toWrite: false), words[1], invocation)
      case "add" where words.count >= 2: return try add(path, Array(words.dropFirst()))
      default: break
      }
    } catch {
      if case .notAnArchive = error { throw CommandFailure(.data, error.description) }
      throw CommandFailure(.ioError, error.description)
    }
    throw CommandFailure(.usage, "history: expects list, trend KEY, or add RUN…; found '\(words.joined(separator: " "))'")
  }

  private static func open(_ path: String, toWrite: Bool) throws(HistoryError) -> History? {
    // Reading makes no archive: a mistyped name would become an empty file.
    if !toWrite && !FileManager.default.fileExists(atPath: path) { return nil }
    return try History(path: path)
  }

  private static func list(_ history: History?, _ invocation: Invocation) throws(HistoryError) -> ExitCode {
    let name = invocation.value("--name")
    let entries = try history?.list().filter { name == nil || $0.name == name } ?? []
    if invocation.has("--json") {
      Terminal.result(
        JSONValue.object([
          "schema_version": .integer(1),
          "runs": .array(
            entries.map {
              .object([
                "id": .string($0.id), "started_at": .string(UTCTime(milliseconds: $0.startedAtMilliseconds).iso),
                "name": .string($0.name), "version": .string($0.version), "verdict": .string($0.verdict),
                "host": .string($0.host), "folder": .string($0.folder),
              ])
            }),
        ]).text(pretty: true))
      return .success
    }
    if entries.isEmpty { Terminal.note("ssebench: no runs in the archive yet; add one with `ssebench history add RUN`") }
    for entry in entries {
      let time = UTCTime(milliseconds: entry.startedAtMilliseconds).iso.prefix(19)
      Terminal.result("\(time)  \(entry.verdict.padded(to: 8))\(entry.version.padded(to: 10))\(entry.name)  \(entry.folder)\n")
    }
    return .success
  }

  private static func trend(_ history: History?, _ key: String, _ invocation: Invocation) throws(HistoryError) -> ExitCode {
    let points = try history?.trend(key: key, name: invocation.value("--name"), variant: invocation.value("--variant")) ?? []
    guard !points.isEmpty else {
      Terminal.note("ssebench: history: \(try absence(of: key, in: history, invocation))")
      return .noInput
    }
    let report = TrendReport(key: key, points: points)
    if let path = invocation.value("--html") {
      do throws(ReportFileError) { try OutputFile.replace(report.html, to: path) } catch {
        throw .failed(path: path, problem: error.description)
      }
    }
    Terminal.result(invocation.has("--json") ? report.json.text(pretty: true) : report.text)
    return .success
  }

  /// Why there is no trend, in a sentence.
  private static func absence(of key: String, in history: History?, _ invocation: Invocation) throws(HistoryError) -> String {
    guard let history else {
      return "there is no archive \(invocation.value("--db") ?? standardFile) yet; `ssebench history add RUN` makes it"
    }
    let known = try history.keys()
    guard known.contains(key) else { return "no run has a figure '\(key)'\(suggestion(key, from: known))" }
    let leftOut = try history.leftOut(key: key)
    if leftOut > 0 {
      return "no values of '\(key)' to show; \(leftOut) runs that have it are partial or not to be trusted and are left out"
    }
    return "no values of '\(key)' under this --name and --variant; `ssebench history list` shows the names"
  }

  private static func add(_ path: String, _ folders: [String]) throws(HistoryError) -> ExitCode {
    let history = try open(path, toWrite: true)
    for folder in folders {
      let run: StoredRun
      do {
        run = try StoredRunArguments.open(folder)
      } catch let failure as CommandFailure {
        Terminal.note("ssebench: \(failure.message)")
        return failure.code
      } catch {
        throw .failed(path: folder, problem: "\(error)")
      }
      try history?.add(run.summary, folder: run.folder)
    }
    return .success
  }
}
