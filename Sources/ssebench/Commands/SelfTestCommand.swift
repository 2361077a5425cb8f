// `ssebench self-test`: what the instrument costs and how exact it is on this machine, measured and, where that cannot
// be, estimated and said so.

import Foundation
import Primitives
import Recording

enum SelfTestCommand {
  static let command = Command(
    name: "self-test", summary: "Measure what the instrument itself costs and how exact it is here",
    examples: [
      ("ssebench self-test", "about half a minute: cost of an event, timing error, sessions that this machine can carry"),
      ("ssebench self-test --quick --json", "a few seconds, as one JSON document"),
    ],
    flags: [
      Flag("--json", nil, "Print one JSON document"),
      Flag("--quick", nil, "Fewer and shorter measurements"),
    ],
    discussion: """
      null: scripted reads through a worker's whole path (parse, extract, check, record) without a network; CPU of the worker.
      mock: runs against the built-in mock; the error is that of TTFT and of gaps against the mock's own send times.
      capacity: an estimate from the cost of an event that comes alone, at 80 % of the cores.
      """,
    run: run)

  /// Share of a machine's cores that an estimate counts with: beyond it latencies are those of the machine.
  static let usableShare = 0.8
  static let tokensPerSecond = 20.0

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let isQuick = invocation.has("--quick")
    let isTalking = !invocation.has("--json") && Terminal.errorIsTerminal
    if Version.build == "debug" { Terminal.note("self-test: this is a debug build; its figures mean little") }
    if isTalking { Terminal.note("null transport …") }
    let rounds = isQuick ? 2 : 5
    let null = try [1, 16].map {
      try NullMeasurement.take(eventsPerRead: $0, events: isQuick ? 4_000 : 16_000, rounds: rounds)
    }
    var runs: [MockMeasurement] = []
    for stack in ["raw", "curl"] {
      for sessions in isQuick ? [50] : [50, 1_000] {
        if isTalking { Terminal.note("\(sessions) sessions with \(stack) …") }
        runs.append(try MockMeasurement.take(stack: stack, sessions: sessions, tokens: isQuick ? 20 : 60))
      }
    }
    let document = document(null, runs)
    Terminal.result(invocation.has("--json") ? document.text(pretty: true) : text(document))
    return .success
  }

  private static func document(_ null: [NullMeasurement], _ runs: [MockMeasurement]) -> JSONValue {
    let machine = MachineReading.read()
    func real(_ value: Double?, _ digits: Double = 1e3) -> JSONValue {
      value.map { .number(($0 * digits).rounded() / digits) } ?? .null
    }
    let capacities = ["raw", "curl"].compactMap { stack -> JSONValue? in
      // The larger run is nearer to the loads that are asked about.
      guard let run = runs.last(where: { $0.stack == stack }), let client = run.clientCost, client > 0 else { return nil }
      let seconds = Double(machine.cores) * usableShare / tokensPerSecond
      let alone = seconds / (client / 1e9)
      let together = run.mockCost.map { seconds / ((client + $0) / 1e9) }
      func sessions(_ value: Double) -> JSONValue { .integer(Int64(min(value, 1e9) / 100) * 100) }
      return .object([
        "stack": .string(stack), "tokens_per_s": .number(tokensPerSecond),
        "sessions": sessions(alone), "sessions_with_mock": together.map(sessions) ?? .null, "is_estimate": .bool(true),
      ])
    }
    return .object([
      "schema_version": .integer(1), "version": .string(Version.number), "build": .string(Version.build),
      "machine": .object([
        "processor": .string(machine.processor), "cores": .integer(Int64(machine.cores)), "system": .string(machine.system),
        "kernel": .string(machine.kernel),
      ]),
      "null": .array(
        null.map {
          .object([
            "events_per_read": .integer(Int64($0.eventsPerRead)), "cpu_ns_per_event": real($0.nanosecondsPerEvent, 10),
            "allocations_per_event": real($0.allocationsPerEvent, 1e4), "events": .integer($0.events),
          ])
        }),
      "mock": .array(
        runs.map {
          .object([
            "stack": .string($0.stack), "sessions": .integer(Int64($0.sessions)), "tokens_per_s": .number(tokensPerSecond),
            "ttft_error_ms": $0.ttftError, "itl_error_ms": $0.itlError, "cpu_ns_per_event": real($0.clientCost, 10),
            "mock_cpu_ns_per_event": real($0.mockCost, 10), "verdict": .string($0.verdict),
            "bottleneck": $0.bottleneck.map { .string($0) } ?? .null,
          ])
        }),
      "capacity": .array(capacities),
    ])
  }

  private static func text(_ document: JSONValue) -> String {
    func number(_ value: JSONValue?, _ digits: Int) -> String {
      value?.asDouble.map { String(format: "%.\(digits)f", $0) } ?? "–"
    }
    var text = "\(document["machine"]?["processor"]?.asString ?? ""), \(document["machine"]?["cores"]?.asInt ?? 0) cores\n\n"
    text += "The instrument alone (null transport)\n"
    for row in document["null"]?.asArray ?? [] {
      text += "  \(row["events_per_read"]?.asInt ?? 0) events a read: \(number(row["cpu_ns_per_event"], 0)) ns of CPU an event, "
      text += "\(number(row["allocations_per_event"], 4)) allocations an event\n"
    }
    text += "\nAgainst the mock, 20 tokens/s a session        error, ms: TTFT p50    gaps p50    gaps p99   CPU µs an event\n"
    for row in document["mock"]?.asArray ?? [] {
      let name = "  \(row["sessions"]?.asInt ?? 0) sessions, \(row["stack"]?.asString ?? "")"
      let cells = [
        number(row["ttft_error_ms"]?["p50"], 3), number(row["itl_error_ms"]?["p50"], 3),
        number(row["itl_error_ms"]?["p99"], 3), number(row["cpu_ns_per_event"]?.asDouble.map { .number($0 / 1e3) }, 1),
      ]
      text += name.padding(toLength: 57, withPad: " ", startingAt: 0)
      for cell in cells { text += String(repeating: " ", count: max(1, 12 - cell.count)) + cell }
      text += "\n"
      if let bottleneck = row["bottleneck"]?.asString { text += "    \(bottleneck)\n" }
    }
    text += "\nSessions at 20 tokens/s that this machine can carry (an estimate from CPU an event)\n"
    for row in document["capacity"]?.asArray ?? [] {
      text += "  \(row["stack"]?.asString ?? ""): about \(row["sessions"]?.asInt ?? 0) against a server elsewhere"
      if let together = row["sessions_with_mock"]?.asInt { text += ", \(together) with the mock on this machine" }
      text += "\n"
    }
    return text
  }
}
