// `load.workers`: the run is shared out to processes, each a shard of one plan, started together; one merge makes one
// run of their folders. Any launcher on many machines can do the same with `--shard`, `--start-at` and `merge`.

import Analysis
import Arrivals
import Foundation
import Primitives
import Reporting
import Scenarios

struct WorkerProcesses {
  let count: Int
  /// The words of `run` as typed, to be given to each.
  let words: [String]
  let options: RunOptions
  let loaded: LoadedScenario

  func run() throws -> ExitCode {
    let now = WallClock.now / 1_000_000
    let out = options.out ?? "Reports/\(loaded.slug)-\(UTCTime(milliseconds: now).compact)"
    if FileManager.default.fileExists(atPath: out) {
      throw CommandFailure(.cannotCreate, "\(out) exists; give another --out")
    }
    let folders = (0..<count).map { "\(out)-shards/\($0)" }
    // Time for the slowest to load and start its mock.
    let startAt = Double(now + 1_500) / 1000
    Interrupts.watch()
    let children = try (0..<count).map { index in try start(index, folders[index], startAt) }
    let codes = wait(children)
    if let worst = codes.first(where: { $0 >= 64 && $0 != 69 && $0 != 74 }) {
      throw CommandFailure(ExitCode(rawValue: worst) ?? .software, "a worker process ended with exit code \(worst) before it ran")
    }
    do throws(MergeError) {
      let summary = try MergedFolder.make(folders, out: out)
      do { try options.addToHistory(summary, folder: out) } catch { Terminal.note("ssebench: \(error)") }
      if options.json {
        Terminal.result(summary.tree.text(pretty: true))
      } else if !options.quiet {
        Terminal.result(TerminalSummary.text(summary, folder: out))
      }
      return ExitCode(rawValue: summary.exitStatus) ?? .software
    } catch {
      throw CommandFailure(.ioError, "the worker processes' folders under \(out)-shards could not be merged: \(error)")
    }
  }

  private func start(_ index: Int, _ folder: String, _ startAt: Double) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Executable.path)
    process.arguments =
      ["run"] + words
      + [
        "--shard", "\(index)/\(count)", "--start-at", String(format: "%.3f", startAt), "--out", folder, "--quiet",
        "--set", "load.workers=1",
      ]
    // What a launcher set would contradict the shard that this process gives.
    process.environment = ProcessInfo.processInfo.environment.filter { !Shard.launcherVariables.contains($0.key) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    do { try process.run() } catch { throw CommandFailure(.software, "a worker process could not be started: \(error)") }
    return process
  }

  /// Waits for all; a SIGTERM to this process goes on to them (Ctrl-C reaches them by itself).
  private func wait(_ children: [Process]) -> [Int32] {
    var isPassedOn = false
    while children.contains(where: \.isRunning) {
      if Interrupts.seen > 0 && !isPassedOn {
        isPassedOn = true
        for child in children where child.isRunning { child.interrupt() }
      }
      usleep(20_000)
    }
    return children.map(\.terminationStatus)
  }
}
