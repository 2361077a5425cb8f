// `ssebench plan SCENARIO.json`: which session starts when, without running it.

import Arrivals
import Foundation
import Primitives
import Scenarios

enum PlanCommand {
  static let command = Command(
    name: "plan", summary: "Print which session starts when, without running",
    examples: [
      ("ssebench plan Scenarios/quickstart.json", "prints the first starts and a summary"),
      ("ssebench plan load.json --json --shard 0/4", "prints all starts of the first of four shards as JSON"),
    ],
    operands: "SCENARIO.json", operandCount: 1...1,
    flags: [
      Flag("--json", nil, "Print every start, as one JSON document"), .set, .seed,
      Flag("--shard", "I/N", "Only this part of the plan, I from 0; default: what the launcher says"),
    ],
    discussion: """
      Of a closed load the first start of each place is known; the others follow when a session ends. The plan depends on
      the scenario and its seed alone, and the shards of a plan together are the plan of one process.
      """,
    run: { invocation in
      let shard: Shard?
      do throws(ShardProblem) {
        shard = try Shard.fromEnvironment(
          flag: invocation.value("--shard"), ProcessInfo.processInfo.environment)
      } catch {
        throw CommandFailure(.usage, error.description)
      }
      let loaded = try invocation.scenario(invocation.operands[0])
      var output = PlanOutput()
      if invocation.has("--json") {
        output.writeJSON(loaded, shard)
      } else {
        output.writeText(loaded, shard)
      }
      return .success
    })
}

/// Plans as text or JSON, written in pieces: a plan may have millions of starts.
private struct PlanOutput {
  private var buffer = ""

  private mutating func put(_ text: String) {
    buffer += text
    if buffer.utf8.count > 65_536 { flush() }
  }

  private mutating func flush() {
    Terminal.result(buffer)
    buffer = ""
  }

  /// Every plan of a scenario: of each variant, and of each load of a sweep; for a search of its two ends.
  private func plans(_ loaded: LoadedScenario) -> [(variant: String, load: String?, scenario: Scenario)] {
    loaded.variants.flatMap { variant -> [(variant: String, load: String?, scenario: Scenario)] in
      if let search = variant.scenario.load.search {
        return [search.from, search.to].compactMap { end in
          (try? loaded.point(of: variant, at: end)).map { (variant.name, label($0), $0.scenario) }
        }
      }
      if variant.points.isEmpty { return [(variant.name, nil, variant.scenario)] }
      return variant.points.map { (variant.name, label($0), $0.scenario) }
    }
  }

  private func label(_ point: LoadedScenario.Point) -> String {
    "\(point.key) = \(point.value.asString ?? point.value.text())"
  }

  private static func starts(_ plan: Plan) -> AnySequence<PlannedStart> {
    switch plan.kind {
    case .open(let open): AnySequence(open)
    case .closed(let closed): AnySequence((0..<closed.places).lazy.map { closed.firstStart($0) })
    }
  }

  mutating func writeText(_ loaded: LoadedScenario, _ shard: Shard?) {
    for (index, entry) in plans(loaded).enumerated() {
      let plan = Plan.make(entry.scenario, shard: shard)
      if index > 0 { put("\n") }
      put(
        "\(loaded.name)\(entry.variant == "default" ? "" : ", \(entry.variant)")\(entry.load.map { ", \($0)" } ?? "")"
      )
      put(", seed \(entry.scenario.seed)\(shard.map { ", shard \($0)" } ?? "")\n")
      var last: Nanoseconds?
      var count = 0
      put("  session     start_s  max_tokens\n")
      for start in Self.starts(plan) {
        if count < 20 {
          let tokens = start.maxTokens.map(String.init) ?? "–"
          put(
            "  \("\(start.session)".padded(left: 7))  \(Self.seconds(start.at).padded(left: 10))  \(tokens.padded(left: 10))\n"
          )
        }
        count += 1
        last = start.at
      }
      if count > 20 { put("  … and \(count - 20) more\n") }
      put(summary(plan, count, last))
    }
    flush()
  }

  private func summary(_ plan: Plan, _ count: Int, _ last: Nanoseconds?) -> String {
    let until = plan.end.map { " before \(Self.seconds($0)) s" } ?? ""
    switch plan.kind {
    case .closed(let closed):
      let sessions = closed.sessions.map { "\($0) sessions" } ?? "sessions"
      return
        "  closed: \(sessions)\(until), \(closed.places) at a time; a place that comes free takes the next\n"
    case .open:
      let rate = last.flatMap {
        $0 > .zero && count > 1
          ? JSONValue.numberText((Double(count - 1) / $0.seconds * 1000).rounded() / 1000) : nil
      }
      return "  open: \(count) sessions\(until)\(last.map { ", the last at \(Self.seconds($0)) s" } ?? "")"
        + "\(rate.map { ", \($0) per second in the mean" } ?? "")\n"
    }
  }

  private static func seconds(_ time: Nanoseconds) -> String { String(format: "%.6f", time.seconds) }

  mutating func writeJSON(_ loaded: LoadedScenario, _ shard: Shard?) {
    func json(_ text: String) -> String { JSONValue.string(text).text() }
    put(
      "{\"schema_version\":1,\"name\":\(json(loaded.name)),\"shard\":\(shard.map { json("\($0)") } ?? "null"),\"plans\":["
    )
    for (index, entry) in plans(loaded).enumerated() {
      let plan = Plan.make(entry.scenario, shard: shard)
      if index > 0 { put(",") }
      put(
        "\n{\"variant\":\(json(entry.variant)),\"load\":\(entry.load.map(json) ?? "null"),\"seed\":\(entry.scenario.seed)"
      )
      put(
        ",\"model\":\(json(entry.scenario.load.model.rawValue)),\"planned\":\(plan.planned.map(String.init) ?? "null")"
      )
      if case .closed(let closed) = plan.kind { put(",\"concurrency\":\(closed.places)") }
      put(",\"starts\":[")
      for (number, start) in Self.starts(plan).enumerated() {
        put(
          "\(number > 0 ? "," : "")\n{\"session\":\(start.session),\"scheduled_start_ns\":\(start.at.value)")
        if let tokens = start.maxTokens { put(",\"max_tokens\":\(tokens)") }
        if let tokens = start.inputTokens { put(",\"input_tokens\":\(tokens)") }
        put("}")
      }
      put("]}")
    }
    put("]}\n")
    flush()
  }
}

extension String {
  fileprivate func padded(left width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }
}
