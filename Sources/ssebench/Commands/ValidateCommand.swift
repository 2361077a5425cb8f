// `ssebench validate SCENARIO.json…`: every problem at once, without any traffic.

import Analysis
import Foundation
import Primitives
import Scenarios

enum ValidateCommand {
  static let command = Command(
    name: "validate", summary: "Check scenarios: every problem at once, no traffic",
    examples: [
      (
        "ssebench validate Scenarios/quickstart.json",
        "says whether the scenario is valid, else what to fix, and where"
      ),
      ("ssebench validate *.json --set load.sessions=10", "checks several, each with one key set"),
    ],
    operands: "SCENARIO.json…", operandCount: 1...10_000,
    flags: [.set, .seed],
    discussion:
      "Exit code 0 when all are valid; 65 not JSON, too large or too deep; 66 missing or unreadable; 78 not a valid scenario.",
    run: { invocation in
      let overrides = try invocation.overrides()
      var codes: [ExitCode] = []
      for path in invocation.operands {
        do throws(ScenarioFailure) {
          let loaded = try ScenarioFile.load(
            path: path, overrides: overrides, environment: ProcessInfo.processInfo.environment,
            gateCheck: GateExpression.check)
          let count = loaded.variants.count
          Terminal.result("\(path): valid\(count > 1 ? ", \(count) variants" : "")\n")
        } catch {
          Terminal.note(error.description)
          codes.append(error.kind.exitCode)
        }
      }
      return ExitCode.worst(codes)
    })
}
