// `ssebench mock`: flags and a settings file become a mock that serves until it is ended.

import Engine
import Foundation
import MockServing
import Primitives
import Scenarios

enum MockCommand {
  static let command = Command(
    name: "mock", summary: "Serve token streams with known timing and faults",
    examples: [
      (
        "ssebench mock --listen 127.0.0.1:8080 --tokens 128 --first-token 200ms --interval 20ms",
        "answers on port 8080 until it is ended"
      ),
      (
        #"ssebench mock --interval 5ms --faults '[{"kind": "fin", "at": {"event": 20}}]'"#,
        "breaks each session's stream before its 20th event, once"
      ),
      (
        "curl -N 'http://127.0.0.1:8080/events?session=1&events=10&interval=500ms'",
        "a plain stream of ten events, two a second"
      ),
    ],
    operands: "[MOCK.json]", operandCount: 0...1,
    flags: [
      Flag("--listen", "ADDR:PORT", "Where to listen; port 0 is a free one (default 127.0.0.1:0)"),
      Flag("--seed", "N", "What all content follows from (default 42)"),
      Flag(
        "--stamp", "on|off", "Whether each event carries its send time (default on)", choices: ["on", "off"]),
      Flag("--control", nil, "Take commands on stdin (stats, sent, closes, priority), and end with it"),
      Flag(
        "--folder", "DIR", "Where relative paths of the settings begin (default: the settings' folder)",
        isPath: true),
      Flag("--share-port", nil, "Let other mock processes listen on the same port"),
    ] + settingFlags.map(\.flag),
    discussion: """
      The settings are those of a scenario's endpoint.mock; a flag wins over the file. A value is JSON, else text: 128,
      200ms, '{"uniform": ["10ms", "30ms"]}'. The first line of stdout says where it listens. It answers
      /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages, /v1beta/models/MODEL:streamGenerateContent,
      /api/chat, /v1/models, /events (session, events, interval, first, size, retry), /health, /time and /metrics.

      Exit code 0 when it is ended; 73 when the address cannot be had; 65, 66, 78 for bad settings.
      """,
    run: run)

  /// Flags that set one key of the settings.
  private static let settingFlags: [(flag: Flag, key: String)] = [
    (
      Flag(
        "--api", "API", "Which API a run asks for; all are answered", choices: API.allCases.map(\.rawValue)),
      "api"
    ),
    (Flag("--tokens", "N", "Tokens (events) of one stream (default 128)"), "tokens"),
    (Flag("--first-token", "TIME", "From the request to the first token (default 200ms)"), "first_token"),
    (Flag("--interval", "TIME", "Between two tokens (default 20ms; 0ms: as fast as it goes)"), "interval"),
    (Flag("--token-size", "N", "Characters of a token, about (default 5)"), "token_size"),
    (Flag("--text", "KIND", "What the text is made of", choices: MockText.allCases.map(\.rawValue)), "text"),
    (Flag("--tokens-per-event", "N", "Tokens that share an event (default 1)"), "tokens_per_event"),
    (Flag("--events-per-write", "N", "Events that share a write (default 1)"), "events_per_write"),
    (
      Flag("--reasoning-tokens", "N", "Reasoning tokens before the visible ones (default 0)"),
      "reasoning_tokens"
    ),
    (Flag("--tool-call", "true|false", "Answer with a tool call", choices: ["true", "false"]), "tool_call"),
    (Flag("--faults", "JSON", "Faults, as in a scenario"), "faults"),
    (Flag("--wukongim-faults", "JSON", "Faults of the api wukongim, as in a scenario"), "wukongim_faults"),
    (Flag("--replay-buffer", "N", "Events that /events can replay (default: all)"), "replay_buffer"),
    (Flag("--replay", "FILE", "Serve a recording of 'ssebench record'", isPath: true), "replay"),
    (Flag("--processes", "N", "Processes that share the port (default 1)"), "processes"),
    (Flag("--addresses", "N", "Loopback addresses to listen on (default 1)"), "addresses"),
  ]

  @Sendable private static func run(_ invocation: Invocation) throws -> ExitCode {
    let (settings, text) = try settings(invocation)
    var options = MockOptions()
    options.settings = settings
    options.seed = try seed(invocation)
    (options.host, options.port) = try listenAddress(invocation.value("--listen") ?? "127.0.0.1:0")
    options.sharesPort = invocation.has("--share-port")
    if invocation.has("--control") { options.controlInput = 0 }
    if settings.api == .wukongim { return try WuKongMock.serve(options) }
    if settings.processes > 1 {
      let fleet = try MockFleet(
        settings: text, arguments: childArguments(invocation), count: settings.processes, host: options.host,
        port: options.port)
      return fleet.serve(control: invocation.has("--control"))
    }
    var server: MockServer
    do throws(MockError) {
      server = try MockServer(options: options)
    } catch {
      throw failure(error)
    }
    StopSignals.write(to: server.stopDescriptor)
    Terminal.result(firstLine(server.addresses))
    do throws(MockError) {
      try server.run()
    } catch {
      throw failure(error)
    }
    return .success
  }

  /// `{"listening":…}`, with all addresses where there are several.
  static func firstLine(_ addresses: [String]) -> String {
    var line = JSONObject([("listening", .string(addresses[0]))])
    if addresses.count > 1 { line["addresses"] = .array(addresses.map { .string($0) }) }
    return JSONValue.object(line).text() + "\n"
  }

  static func failure(_ error: MockError) -> CommandFailure {
    switch error {
    case .cannotListen(let address, _, isTaken: true):
      CommandFailure(
        .cannotCreate,
        "\(address) is taken: something listens there already. End it, or use --listen 127.0.0.1:0 for a free port"
      )
    case .cannotListen(let address, let reason, _):
      CommandFailure(
        .cannotCreate,
        "cannot listen on \(address): \(reason). Use an address of this machine, such as 127.0.0.1:0")
    case .noEventQueue(let call, let code):
      CommandFailure(
        .software, "\(call): \(String(cString: strerror(code))). Raise the limit of open files (ulimit -n)")
    case .badRecording(let file, let reason):
      CommandFailure(.data, "\(file): \(reason). Make recordings with 'ssebench record'")
    }
  }

  // MARK: settings

  /// The settings as checked, and the text of the file they came from.
  private static func settings(_ invocation: Invocation) throws -> (MockSettings, [UInt8]) {
    let path = invocation.operands.first
    let text: [UInt8]
    if let path {
      let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
      guard let handle, let data = try? handle.read(upToCount: ScenarioFile.largest + 1) ?? Data() else {
        throw CommandFailure(
          .noInput, "\(path): missing or unreadable. Name a file with mock settings, or leave it out")
      }
      text = Array(data)
    } else {
      text = Array("{}".utf8)
    }
    var overrides: [Override] = []
    for (flag, key) in settingFlags {
      guard let value = invocation.value(flag.name) else { continue }
      overrides.append(Override(key, (try? JSONReader.read(value, extended: true)) ?? .string(value)))
    }
    if let stamp = invocation.value("--stamp") { overrides.append(Override("stamp", .bool(stamp == "on"))) }
    let folder = invocation.value("--folder") ?? path.map { ($0 as NSString).deletingLastPathComponent } ?? ""
    do throws(ScenarioFailure) {
      return (
        try MockFile.load(
          text: text, file: path ?? "", folder: folder, overrides: overrides,
          environment: ProcessInfo.processInfo.environment), text
      )
    } catch {
      throw CommandFailure(error.kind.exitCode, error.description)
    }
  }

  private static func seed(_ invocation: Invocation) throws -> UInt64 {
    guard let text = invocation.value("--seed") else { return 42 }
    guard let seed = UInt64(text) else {
      throw CommandFailure(.usage, "--seed: '\(text)' is not a whole number; expected 0 to \(UInt64.max)")
    }
    return seed
  }

  /// `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `8080`.
  static func listenAddress(_ text: String) throws -> (host: String, port: Int) {
    let colon = text.lastIndex(of: ":")
    let portText = colon.map { text[text.index(after: $0)...] } ?? text[...]
    var host = colon.map { String(text[..<$0]) } ?? ""
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    guard let port = Int(portText), (0...65535).contains(port) else {
      throw CommandFailure(
        .usage, "--listen: '\(text)' has no port; expected ADDR:PORT such as 127.0.0.1:8080")
    }
    return (host.isEmpty ? "127.0.0.1" : host, port)
  }

  /// The flags that a child process of the same settings gets.
  private static func childArguments(_ invocation: Invocation) -> [String] {
    var arguments: [String] = []
    for name in settingFlags.map(\.flag.name) + ["--seed", "--stamp"] where name != "--processes" {
      if let value = invocation.value(name) { arguments += ["\(name)=\(value)"] }
    }
    let folder =
      invocation.value("--folder")
      ?? invocation.operands.first.map { ($0 as NSString).deletingLastPathComponent }
    if let folder, !folder.isEmpty { arguments.append("--folder=\(folder)") }
    return arguments + ["--processes=1", "--share-port"]
  }
}
