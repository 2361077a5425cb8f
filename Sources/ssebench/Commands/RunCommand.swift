// `ssebench run SCENARIO.json…`: each scenario to its report; or a run made of flags alone.

import Analysis
import Arrivals
import Foundation
import Primitives
import Reporting
import Scenarios
import Transports

enum RunCommand {
  static let command = Command(
    name: "run", summary: "Run scenarios and write a report of each",
    examples: [
      ("ssebench run Scenarios/quickstart.json", "200 live token streams on the built-in mock; the report lands under Reports/"),
      (
        "ssebench run --endpoint http://127.0.0.1:8080/v1/chat/completions --api openai-chat --concurrency 4 --sessions 24 --max-tokens 64",
        "the same report about your own server, without a file"
      ),
    ],
    operands: "[SCENARIO.json…]", operandCount: 0...1000,
    flags: [
      Flag(
        "--out", "DIR", "The run's folder, made new (default Reports/<name>-<UTC time>); {shard} in it is the shard's number",
        isPath: true),
      .set, .seed,
      Flag("--name", "NAME", "The run's name in place of the scenario's"),
      Flag("--session", "N", "Run this one session of the plan and no other"),
      Flag("--history", "FILE", "Add the run to this archive", isPath: true),
      Flag("--endpoint", "URL", "Send to this URL in place of the scenario's endpoint"),
      Flag("--header", short: "-H", "'K: V'", "A request header; without a file", repeats: true),
      Flag("--shard", "I/N", "Run this part of the plan, I from 0; default: what the launcher says"),
      Flag("--start-at", "TIME", "Start at this wall-clock time: ISO 8601, or seconds since 1970"),
      Flag("--clock", "URL", "Hold this host's clock against this server's; default: the endpoint's, where the run is a shard"),
      Flag("--dashboard", "[ADDR:]PORT", "Serve a page about the run while it goes on; on loopback unless ADDR is given"),
      Flag("--metrics", "[ADDR:]PORT", "Serve the figures to Prometheus at /metrics; may be the dashboard's port"),
      Flag("--quiet", nil, "Print nothing but errors"),
      Flag("--json", nil, "Print summary.json instead of the summary for people"),
      Flag("--yes", nil, "Allow more than 50 live sessions to an address that is not loopback"),
    ]
      + ScenarioFlags.all.map { Flag($0.name, $0.value, $0.help, choices: $0.choices) },
    discussion: "Exit codes:\n" + HelpText.exitCodes,
    run: run)

  @Sendable private static func run(_ invocation: Invocation) throws -> ExitCode {
    var options = RunOptions()
    options.out = invocation.value("--out")
    options.session = try invocation.integer("--session")
    options.quiet = invocation.has("--quiet")
    options.json = invocation.has("--json")
    options.confirmed = invocation.has("--yes")
    options.history = invocation.value("--history")
    options.dashboard = try invocation.value("--dashboard").map { try LiveAddress($0, flag: "--dashboard") }
    options.metrics = try invocation.value("--metrics").map { try LiveAddress($0, flag: "--metrics") }
    options.clock = invocation.value("--clock")
    if let clock = options.clock, WebAddress(clock) == nil {
      throw CommandFailure(.usage, "--clock: '\(clock)' is not an http or https URL")
    }
    options.startAt = try invocation.value("--start-at").map { try StartTime.milliseconds($0) }
    do throws(ShardProblem) {
      options.shard = try Shard.fromEnvironment(
        flag: invocation.value("--shard"), ProcessInfo.processInfo.environment)
    } catch {
      throw CommandFailure(.usage, error.description)
    }
    if let out = options.out, out.contains("{shard}") {
      guard let shard = options.shard else {
        throw CommandFailure(.usage, "--out: {shard} stands for the shard's number, and this run is no shard; give --shard I/N")
      }
      options.out = out.replacing("{shard}", with: "\(shard.index)")
    }
    if invocation.operands.count > 1, options.out != nil {
      throw CommandFailure(.usage, "--out names one folder; give one scenario with it")
    }
    let scenarios = try load(invocation)
    var codes: [ExitCode] = []
    for (index, loaded) in scenarios.enumerated() {
      let words = words(invocation, index)
      options.commandLine = loaded.secrets.scrub((["ssebench", "run"] + words).map(ShellWord.quoted).joined(separator: " "))
      let workers = loaded.variants[0].scenario.load.workers
      if workers > 1 && options.shard == nil && options.session == nil {
        codes.append(try WorkerProcesses(count: workers, words: words, options: options, loaded: loaded).run())
      } else {
        codes.append(try RunConductor(loaded, options: options).run())
      }
      if codes.last == .interrupted { break }
    }
    return ExitCode.worst(codes)
  }

  /// Every scenario is checked before the first one runs.
  private static func load(_ invocation: Invocation) throws -> [LoadedScenario] {
    let values = ScenarioFlags.all.compactMap { flag in
      invocation.value(flag.name).map { (flag: flag.name, text: $0) }
    }
    var headers: [(name: String, value: String)] = []
    for header in invocation.values("--header") {
      guard let colon = header.firstIndex(of: ":") else {
        throw CommandFailure(.usage, "--header: expected 'Name: value'")
      }
      headers.append(
        (String(header[..<colon]), header[header.index(after: colon)...].trimmingCharacters(in: .whitespaces)))
    }
    let environment = ProcessInfo.processInfo.environment
    do throws(ScenarioFailure) {
      if invocation.operands.isEmpty {
        guard invocation.has("--endpoint") || !values.isEmpty else { throw ScenarioFailure(.invalid, []) }
        let document = try ScenarioFlags.document(
          endpoint: invocation.value("--endpoint"), values: values, headers: headers)
        let overrides: [Override]
        do { overrides = try invocation.overrides() } catch { throw ScenarioFailure(.invalid, []) }
        return [
          try ScenarioFile.load(
            document: document, overrides: overrides, environment: environment, gateCheck: GateExpression.check
          ).keeping(HTTPFlags.secrets(in: headers.filter { !$0.value.contains("${") }))
        ]
      }
      var loaded: [LoadedScenario] = []
      for path in invocation.operands {
        let overrides: [Override]
        do { overrides = try invocation.overrides() } catch { throw ScenarioFailure(.invalid, []) }
        loaded.append(
          try ScenarioFile.load(
            path: path, overrides: overrides + ScenarioFlags.overrides(values), endpoint: invocation.value("--endpoint"),
            environment: environment, gateCheck: GateExpression.check))
      }
      return loaded
    } catch {
      if error.problems.isEmpty {
        // Either nothing was given, or an override was malformed, which says so itself.
        _ = try invocation.overrides()
        throw CommandFailure(
          .usage, "run: no scenario; give a file, or --endpoint URL with --api, or try `ssebench run Scenarios/quickstart.json`")
      }
      throw CommandFailure(error.kind.exitCode, error.description)
    }
  }

  /// What says which sessions run, to run the same again.
  private static func words(_ invocation: Invocation, _ index: Int) -> [String] {
    var words: [String] = []
    if index < invocation.operands.count { words.append(invocation.operands[index]) }
    for name in ["--endpoint", "--session", "--seed", "--name", "--shard"] {
      if let value = invocation.value(name) { words += [name, value] }
    }
    for flag in ScenarioFlags.all { if let value = invocation.value(flag.name) { words += [flag.name, value] } }
    for name in ["--set", "--header"] { for value in invocation.values(name) { words += [name, value] } }
    if invocation.has("--yes") { words.append("--yes") }
    return words
  }
}

/// A word as a POSIX shell reads it back.
enum ShellWord {
  static func quoted(_ word: String) -> String {
    let plain = word.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || "-_./:=,@%+".utf8.contains(byte)
    }
    return plain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }
}

/// A wall-clock time as `--start-at` takes it.
enum StartTime {
  static func milliseconds(_ text: String) throws -> Int64 {
    if let seconds = Double(text), seconds.isFinite, seconds > 0, seconds < 1e11 { return Int64(seconds * 1000) }
    let formatter = ISO8601DateFormatter()
    for options: ISO8601DateFormatter.Options in [[.withInternetDateTime], [.withInternetDateTime, .withFractionalSeconds]] {
      formatter.formatOptions = options
      if let date = formatter.date(from: text) { return Int64(date.timeIntervalSince1970 * 1000) }
    }
    throw CommandFailure(
      .usage, "--start-at: '\(text)' is not a time; expected 2026-12-01T03:00:00Z or seconds since 1970")
  }
}
