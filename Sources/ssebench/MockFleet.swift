// Several mock processes on one port: the kernel deals connections out among them (SO_REUSEPORT). This process serves
// nothing; it passes the control pipe's commands on and makes one answer of theirs.

import Engine
import Foundation
import MockServing
import Primitives

struct MockFleet {
  private let children: [MockProcess]

  /// Starts `count` children; each holds its own sessions, so a session that comes back may meet another process.
  init(settings: [UInt8], arguments: [String], count: Int, host: String, port: Int) throws {
    var children: [MockProcess] = []
    var port = port
    let shown = host.contains(":") ? "[\(host)]" : host
    for _ in 0..<count {
      do throws(EngineError) {
        children.append(
          try MockProcess(
            executable: Self.ownPath, settings: String(decoding: settings, as: UTF8.self),
            arguments: arguments + ["--listen=\(shown):\(port)"]))
      } catch {
        throw CommandFailure(
          .cannotCreate,
          "a mock process on \(shown):\(port) did not start. Use --listen 127.0.0.1:0 for a free port")
      }
      if port == 0 { port = children[0].urls[0].split(separator: ":").last.flatMap { Int($0) } ?? 0 }
    }
    self.children = children
  }

  private static var ownPath: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

  /// Serves until stdin ends (with `control`) or a signal comes.
  func serve(control: Bool) -> ExitCode {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return .software }
    StopSignals.write(to: ends[1])
    Terminal.result(MockCommand.firstLine(children[0].urls))
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while children.allSatisfy(\.isRunning) {
      var waiting = [
        pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0),
        pollfd(fd: control ? 0 : -1, events: Int16(POLLIN), revents: 0),
      ]
      _ = poll(&waiting, 2, 500)
      if waiting[0].revents != 0 { break }
      if waiting[1].revents == 0 { continue }
      let count = read(0, &buffer, buffer.count)
      if count <= 0 { break }
      pending += buffer[..<count]
      while let end = pending.firstIndex(of: 0x0A) {
        let line = String(decoding: pending[..<end], as: UTF8.self)
        pending.removeFirst(end + 1)
        Terminal.result(FleetAnswer.merge(children.compactMap { $0.ask(line) }).text() + "\n")
      }
    }
    for child in children { child.end() }
    return .success
  }
}
