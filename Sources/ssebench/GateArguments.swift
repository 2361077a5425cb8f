// Gates as commands are given them, a file or a run's own scenario, become a checked list; a malformed one ends the
// command with 78 before anything is judged.

import Analysis
import Primitives
import Reporting

struct GateArguments {
  let list: GateList
  /// Whether one of them speaks of a baseline.
  let needsBaseline: Bool

  /// The gates of `path`, a list or an object such as a scenario with `gates`; without it those of the run's scenario.
  init(_ path: String?, of run: StoredRun) throws {
    list = try path.map(Self.read) ?? GateList.of(scenario: run.summary.tree["scenario"] ?? .null)
    let known = KnownKeys(variantNames: run.summary.variants.compactMap { $0["name"]?.asString })
    var problems: [String] = []
    var needsBaseline = false
    for (index, text) in list.texts.enumerated() {
      do throws(GateProblem) {
        let gate = try GateExpression.parse(text, knownKeys: known)
        needsBaseline = needsBaseline || gate.usesBaseline
      } catch {
        problems.append("\(path ?? run.folder + "/scenario.json"): gates[\(index)]: \(error.sentence)")
      }
    }
    if !problems.isEmpty { throw CommandFailure(.configuration, problems.joined(separator: "\n")) }
    self.needsBaseline = needsBaseline
  }

  private static func read(_ path: String) throws -> GateList {
    let bytes = try StoredRunArguments.reporting { () throws(ReportFileError) in
      try OutputFile.contents(path, limit: 16 << 20)
    }
    let value: JSONValue
    do throws(JSONSyntaxError) {
      value = try JSONReader.read(bytes, extended: true)
    } catch {
      throw CommandFailure(.data, "\(path): line \(error.line), column \(error.column): \(error.message)")
    }
    guard let list = GateList.list(value["gates"] ?? value) else {
      throw CommandFailure(
        .configuration, "\(path): expected a list of gates such as [\"ttft_ms.p99 < 400\"], or an object with `gates`")
    }
    return list
  }
}
