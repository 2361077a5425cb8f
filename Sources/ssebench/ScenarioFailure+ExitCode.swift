// Scenario problems become exit codes, and flags that many commands share become overrides.

import Analysis
import Foundation
import Primitives
import Scenarios

extension ScenarioFailure.Kind {
  var exitCode: ExitCode {
    switch self {
    case .unreadable: .noInput
    case .badData: .data
    case .invalid: .configuration
    }
  }
}

extension Flag {
  static let set = Flag(
    "--set", "KEY.PATH=VALUE", "Set one key of the scenario; the value is JSON, else a string", repeats: true)
  static let seed = Flag("--seed", "N", "The seed in place of the scenario's")
}

extension Invocation {
  /// `--set`, `--seed` and `--name` in the order of the command line's kinds.
  func overrides() throws -> [Override] {
    var overrides: [Override] = []
    for text in values("--set") {
      guard let override = Override(text) else {
        throw CommandFailure(.usage, "--set: '\(text)' has no '='; expected KEY.PATH=VALUE")
      }
      overrides.append(override)
    }
    if let seed = try integer("--seed") { overrides.append(Override("seed", .integer(Int64(seed)))) }
    if let name = value("--name") { overrides.append(Override("name", .string(name))) }
    return overrides
  }

  /// One scenario, or the failure with the exit code that it calls for.
  func scenario(_ path: String) throws -> LoadedScenario {
    let overrides = try overrides()
    do throws(ScenarioFailure) {
      return try ScenarioFile.load(
        path: path, overrides: overrides, endpoint: value("--endpoint"),
        environment: ProcessInfo.processInfo.environment, gateCheck: GateExpression.check)
    } catch {
      throw CommandFailure(error.kind.exitCode, error.description)
    }
  }
}

extension GateExpression {
  /// For the check of a scenario: what is wrong with a gate, with its column.
  static let check: GateCheck = { text, variants in
    do throws(GateProblem) {
      _ = try parse(text, knownKeys: KnownKeys(variantNames: variants))
      return nil
    } catch {
      return error.sentence
    }
  }
}
