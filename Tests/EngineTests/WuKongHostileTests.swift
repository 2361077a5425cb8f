// The WuKongIM workload against servers that are none: every reader ends with the word of what was wrong, within its time.

import Engine
import Foundation
import MockServing
import Primitives
import Recording
import Scenarios
import TestSupport
import Testing
import WuKongIM

@Suite(.serialized) struct WuKongHostileTests {
  /// The API is the mock's; the WebSocket is `peer`'s.
  private func run(total: Nanoseconds? = nil, _ peer: @escaping @Sendable (ScriptedConnection) -> Void) throws -> (
    workload: WuKongWorkload, sessions: [SessionRecord]
  ) {
    let server = try ScriptedServer(peer)
    defer { server.end() }
    var served = WuKongServerSettings()
    served.webSocketAddress = "ws://127.0.0.1:\(server.port)"
    let listener = try WuKongListener(settings: served)
    Thread.detachNewThread { listener.run() }
    defer { listener.stop() }
    let load = WuKongWorkloadTests.load(readers: 2, channels: 1, replies: 1, deltas: 5)
    var settings = WuKongWorkloadSettings(load: load, host: "127.0.0.1", port: listener.port)
    settings.seed = 3
    settings.client.firstDelay = .milliseconds(20)
    settings.client.maximumDelay = .milliseconds(50)
    settings.drain = total == nil ? .milliseconds(300) : .seconds(10_000)
    if let total { settings.total = total }
    settings.patience = .milliseconds(100)
    let workload = try WuKongWorkload(settings: settings)
    var sessions: [SessionRecord] = []
    workload.onSession = { sessions.append($0) }
    workload.run()
    return (workload, sessions)
  }

  /// Answers the upgrade as RFC 6455 wants it, then sends `frames`.
  private static func upgraded(_ frames: [UInt8]) -> @Sendable (ScriptedConnection) -> Void {
    { connection in
      guard let head = connection.readRequest()?.head,
        let line = head.split(separator: "\r\n").first(where: { $0.lowercased().hasPrefix("sec-websocket-key:") })
      else { return }
      let key = line.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)
      connection.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(WebSocketHandshake.acceptKey(for: key))\r\n\r\n")
      connection.send(frames)
      connection.hold()
    }
  }

  @Test func wrongAccept_IsAProtocolError() throws {
    let (workload, sessions) = try run { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: d3Jvbmc=\r\n\r\n")
      connection.hold()
    }

    #expect(sessions.count == 2 && sessions.allSatisfy { $0.error == .protocolError }, "\(workload.problems)")
  }

  @Test func refusedUpgrade_IsAProtocolError() throws {
    let (workload, sessions) = try run { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
    }

    #expect(sessions.count == 2 && sessions.allSatisfy { $0.error == .protocolError }, "\(workload.problems)")
  }

  @Test(arguments: [
    // A reserved opcode; a masked frame from a server; text that is not JSON; JSON that is no frame.
    [0x83, 0x00], [0x81, 0x81, 1, 2, 3, 4, 5], [0x81, 0x05] + Array("hello".utf8), [0x81, 0x02] + Array("[]".utf8),
  ] as [[UInt8]])
  func brokenFrame_IsAProtocolError(_ frame: [UInt8]) throws {
    let (workload, sessions) = try run(Self.upgraded(frame))

    #expect(sessions.count == 2 && sessions.allSatisfy { $0.error == .protocolError }, "\(workload.problems)")
  }

  @Test func frameWithoutMeasure_IsTooLarge() throws {
    let (workload, sessions) = try run(Self.upgraded([0x82, 0x7F, 0, 0, 0x40, 0, 0, 0, 0, 0, 1]))

    #expect(sessions.count == 2 && sessions.allSatisfy { $0.error == .tooLarge }, "\(workload.problems)")
  }

  /// Who upgrades and then says nothing: the run ends when its time is over, not after the minute that readers may take to the end.
  @Test func silence_EndsWithTheTotal() throws {
    let (workload, sessions) = try run(total: .seconds(1), Self.upgraded([]))

    #expect(sessions.count == 2 && sessions.allSatisfy { $0.error == .timeoutTotal }, "\(workload.problems)")
  }
}
