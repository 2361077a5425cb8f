// Operands that name run folders become opened runs; what is wrong with them becomes failures and notes.

import Analysis
import Foundation
import Reporting

enum StoredRunArguments {
  /// Opens a run; what is missing or damaged in it is noted on stderr.
  static func open(_ path: String) throws -> StoredRun {
    let run = try reporting { () throws(ReportFileError) in try StoredRun.open(path) }
    for problem in run.problems { Terminal.note("ssebench: \(run.folder): \(problem)") }
    return run
  }

  /// Runs a body whose file errors end the command with their exit code.
  static func reporting<Value>(_ body: () throws(ReportFileError) -> Value) throws -> Value {
    do throws(ReportFileError) {
      return try body()
    } catch {
      throw CommandFailure(ExitCode(rawValue: error.exitStatus) ?? .software, error.description)
    }
  }

  static func exit(_ status: Int32) -> ExitCode { ExitCode(rawValue: status) ?? .software }
}
