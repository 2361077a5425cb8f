// Runs are written to folders of their own and read back.

import Foundation
import Testing
import Analysis
import Primitives
import Recording
import Reporting
import TestSupport

/// A folder that goes when the test is over.
final class ScratchFolder {
  let path: String

  init() {
    path = NSTemporaryDirectory() + "ssebench-reports-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func text(_ name: String) -> String { (try? String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)) ?? "" }
}

extension SyntheticRun {
  /// Writes everything as a run would; `finish: false` leaves the folder as a kill does.
  @discardableResult
  func write(to path: String, finish: Bool = true) throws -> Summary? {
    let folder = try RunFolder(path: path)
    try folder.begin(record)
    for (name, session) in sessions { try folder.append(session, variantName: name) }
    for (name, row) in seconds { try folder.append(row, variantName: name) }
    for (name, sample) in memory { try folder.append(sample, variantName: name) }
    for (name, disconnect) in disconnects { try folder.append(disconnect, variantName: name) }
    for (name, second, interval) in intervals {
      let start = record.startedAtMilliseconds + Int64(second) * 1_000
      try folder.appendInterval(
        variantName: name, interval: interval, startMilliseconds: start, endMilliseconds: start + 1_000)
    }
    try folder.flush()
    guard finish else { return nil }
    _ = try folder.finish(record)
    return folder.summary
  }
}

@Suite struct RunFolderTests {
  @Test func finishedRun_HasEveryFileOfTheContract() throws {
    let scratch = ScratchFolder()
    let run = SyntheticRun.make { $0.withMemory = true; $0.withRecovery = true; $0.gates = ["ttft_ms.p99 < 1000"] }

    let summary = try #require(try run.write(to: scratch.path + "/run"))

    #expect(summary.verdict == .passed)
    let names = Set(try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/run"))
    for name in [
      "report.md", "report.html", "summary.json", "summary.csv", "sessions.csv", "timeseries.csv", "memory.csv",
      "recovery.csv", "scenario.json", "junit.xml", "record.json", "ttft.whatwg.hlog", "itl.whatwg.hlog", "e2e.whatwg.hlog",
    ] { #expect(names.contains(name), "\(name) is missing") }
    #expect(!names.contains { $0.hasSuffix(".part") })
  }
}
