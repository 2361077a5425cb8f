// `ssebench mock`: flags and a settings file become a mock that serves until it is ended.

import Foundation
import MockServing
import Primitives
import Scenarios

enum MockCommand {
  static let command = Command(
    name: "mock", summary: "Serve token streams with known timing and faults",
    examples: [
      ("ssebench mock --listen 127.0.0.1:8080 --tokens 128 --first-token 200ms --interval 20ms", "answers on port 8080 until it is ended"),
    ],
    operands: "[MOCK.json]", operandCount: 0...1,
    flags: [
      Flag("--listen", "ADDR:PORT", "Where to listen; port 0 is a free one (default 127.0.0.1:0)"),
      Flag("--seed", "N", "What all content follows from (default 42)"),
      Flag("--stamp", "on|off", "Whether each event carries its send time (default on)", choices: ["on", "off"]),
      Flag("--control", nil, "Take commands on stdin, and end with it"),
      Flag("--folder", "DIR", "Where relative paths of the settings begin"),
      Flag("--tokens", "N", "t"), Flag("--interval", "MS", "t"), Flag("--first-token", "MS", "t"),
    ],
    run: run)

  @Sendable private static func run(_ invocation: Invocation) throws -> ExitCode {
    var options = MockOptions()
    if let file = invocation.operands.first {
      options.settings = try MockFile.load(path: file, environment: ProcessInfo.processInfo.environment)
    }
    if let seed = invocation.value("--seed"), let value = UInt64(seed) { options.seed = value }
    func ms(_ t: String) -> Double { Double(t.replacing("ms", with: ""))! * 1e6 }
    if let t = try invocation.integer("--tokens") { options.settings.tokens = .constant(Double(t)) }
    if let t = invocation.value("--interval") { options.settings.interval = .constant(ms(t)) }
    if let t = invocation.value("--first-token") { options.settings.firstToken = .constant(ms(t)) }
    if let l = invocation.value("--listen") { options.port = Int(l.split(separator: ":").last!)! }
    if invocation.has("--control") { options.controlInput = 0 }
    var server: MockServer
    do { server = try MockServer(options: options) } catch { throw CommandFailure(.cannotCreate, "\(error)") }
    Terminal.result("{\"listening\":\"\(server.addresses[0])\"}\n")
    try server.run()
    return .success
  }
}
