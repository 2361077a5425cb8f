// The WuKongIM workload over TLS: https and wss through a relay that someone else's TLS library ends.

import Engine
import Foundation
import MockServing
import Primitives
import Recording
import Scenarios
import TestSupport
import Testing
import Transports
import WuKongIM

@Suite(.serialized, .enabled(if: TLSRelay.isPossible)) struct WuKongSecureTests {
  /// A port that was free a moment ago.
  static func freePort() throws -> Int {
    let probe = try ScriptedServer { _ in }
    defer { probe.end() }
    return probe.port
  }

  /// A mock whose `/route` names a relay with TLS in front of it.
  private struct RoutedMock {
    let folder: TemporaryFolder
    let port: Int
    let relay: TLSRelay
    private let listener: WuKongListener

    /// - Parameter address: the WebSocket's address, from the relay's port.
    init(address: (Int) -> String) throws {
      folder = try TemporaryFolder()
      port = try WuKongSecureTests.freePort()
      relay = try TLSRelay(to: port, in: folder)
      var settings = WuKongServerSettings()
      settings.secureWebSocketAddress = address(relay.port)
      let listener = try WuKongListener(port: port, settings: settings)
      self.listener = listener
      Thread.detachNewThread { listener.run() }
    }

    func end() {
      listener.stop()
      relay.end()
    }
  }

  static func settings(
    _ load: WuKongIMLoad, host: String, port: Int, isSecure: Bool, trusts folder: TemporaryFolder, relay: Int
  ) -> WuKongWorkloadSettings {
    var settings = WuKongWorkloadSettings(load: load, host: host, port: port)
    settings.seed = 11
    settings.isSecure = isSecure
    settings.secure.caFile = folder.path("cert.pem")
    settings.secure.resolve = ["other.test:\(relay):127.0.0.1"]
    settings.client.firstDelay = .milliseconds(2)
    settings.client.maximumDelay = .milliseconds(50)
    return settings
  }

  static func run(_ settings: WuKongWorkloadSettings) throws -> (
    workload: WuKongWorkload, sessions: [SessionRecord]
  ) {
    let workload = try WuKongWorkload(settings: settings)
    var sessions: [SessionRecord] = []
    workload.onSession = { sessions.append($0) }
    workload.run()
    return (workload, sessions)
  }

  @Test func everyTextIsWholeOverTLS() throws {
    let folder = try TemporaryFolder()
    let listener = try WuKongListener()
    Thread.detachNewThread { listener.run() }
    defer { listener.stop() }
    let relay = try TLSRelay(to: listener.port, in: folder)
    defer { relay.end() }
    let load = WuKongWorkloadTests.load(readers: 40, channels: 4, replies: 8, deltas: 60, kills: 5)

    let (workload, sessions) = try Self.run(
      Self.settings(
        load, host: "other.test", port: relay.port, isSecure: true, trusts: folder, relay: relay.port))

    let counts = workload.counts
    #expect(counts.readersCompleted == 40, "\(workload.problems)")
    #expect(counts.wrongTexts == 0 && counts.kills == 200)
    #expect(counts.histories == counts.connects && counts.connects == 40 + 200 + counts.reopened)
    #expect(sessions.allSatisfy { $0.tls > 0 && $0.connect > 0 && $0.outcome == .completed })
    #expect(workload.dialFailures.isEmpty)
  }

  /// `wss_addr` wins over `ws_addr`, also where the API itself is plain.
  @Test func theRouteLeadsToWSS() throws {
    let mock = try RoutedMock { "wss://other.test:\($0)/chat?v=1" }
    defer { mock.end() }
    let load = WuKongWorkloadTests.load(readers: 6, channels: 2, replies: 4, deltas: 30, kills: 2)

    let (workload, sessions) = try Self.run(
      Self.settings(load, host: "127.0.0.1", port: mock.port, isSecure: false, trusts: mock.folder, relay: mock.relay.port))

    #expect(workload.counts.readersCompleted == 6, "\(workload.problems)")
    #expect(workload.counts.wrongTexts == 0)
    #expect(sessions.allSatisfy { $0.tls > 0 }, "the WebSockets went over TLS")
  }

  /// A certificate that names another is no connection: each reader fails with the word for it, at once.
  @Test(arguments: [true, false]) func aWrongNameIsATLSFailure(_ isSecureAPI: Bool) throws {
    let mock = try RoutedMock { "wss://localhost:\($0)" }
    defer { mock.end() }
    let load = WuKongWorkloadTests.load(readers: 3, channels: 1, replies: 2, deltas: 20, kills: 1)
    var settings = Self.settings(
      load, host: isSecureAPI ? "localhost" : "127.0.0.1", port: isSecureAPI ? mock.relay.port : mock.port,
      isSecure: isSecureAPI, trusts: mock.folder, relay: mock.relay.port)
    // Whoever waited for those who are not online would wait for hours.
    settings.drain = .seconds(10_000)
    settings.patience = .seconds(10_000)

    let (workload, sessions) = try Self.run(settings)

    #expect(sessions.count == 3 && sessions.allSatisfy { $0.outcome == .failed && $0.error == .tls })
    #expect(workload.dialFailures.keys.sorted { $0.rawValue < $1.rawValue } == [.tls], "\(workload.problems)")
    #expect(workload.counts.connects == 0)
  }

  @Test func verificationCanBeLeftOut() throws {
    let folder = try TemporaryFolder()
    let listener = try WuKongListener()
    Thread.detachNewThread { listener.run() }
    defer { listener.stop() }
    let relay = try TLSRelay(to: listener.port, in: folder)
    defer { relay.end() }
    let load = WuKongWorkloadTests.load(readers: 2, channels: 1, replies: 1, deltas: 20)
    var settings = Self.settings(
      load, host: "localhost", port: relay.port, isSecure: true, trusts: folder, relay: 1)
    settings.secure = SecureSettings()

    settings.secure.verifies = false
    let trusting = try Self.run(settings).workload
    settings.secure.verifies = true
    let careful = try Self.run(settings)

    #expect(trusting.counts.readersCompleted == 2, "\(trusting.problems)")
    #expect(careful.sessions.allSatisfy { $0.error == .tls })
  }

  /// Who takes the connection and says nothing: a failure after the connect timeout, for everyone.
  @Test func aHandshakeThatNeverEndsIsATimeout() throws {
    let folder = try TemporaryFolder()
    let relay = try TLSRelay(to: 0, in: folder)
    defer { relay.end() }
    let load = WuKongWorkloadTests.load(readers: 2, channels: 1, replies: 1, deltas: 20)
    var settings = Self.settings(
      load, host: "other.test", port: relay.port, isSecure: true, trusts: folder, relay: relay.port)
    settings.secure.connectTimeout = .milliseconds(200)

    let (_, sessions) = try Self.run(settings)

    #expect(sessions.count == 2 && sessions.allSatisfy { $0.error == .timeoutConnect })
  }

  @Test func aClosedPortIsRefusedAtOnce() throws {
    let folder = try TemporaryFolder()
    let port = try Self.freePort()
    let load = WuKongWorkloadTests.load(readers: 2, channels: 1, replies: 1, deltas: 20)

    for isSecure in [true, false] {
      let (_, sessions) = try Self.run(
        Self.settings(load, host: "localhost", port: port, isSecure: isSecure, trusts: folder, relay: port))

      #expect(sessions.count == 2 && sessions.allSatisfy { $0.error == .refused })
    }
  }
}

@Suite struct WuKongRouteTests {
  @Test(arguments: [
    (#"{"ws_addr":"ws://10.0.0.1:5200","wss_addr":""}"#, false, "http 10.0.0.1 5200 /"),
    (#"{"ws_addr":"ws://10.0.0.1:5200/im?a=1"}"#, false, "http 10.0.0.1 5200 /im?a=1"),
    (#"{"ws_addr":"ws://10.0.0.1:5200","wss_addr":"wss://ws.test:5210"}"#, false, "https ws.test 5210 /"),
    (#"{"ws_addr":"ws://10.0.0.1:5200","wss_addr":"wss://ws.test/im"}"#, true, "https ws.test 443 /im"),
    (#"{"ws_addr":"ws://[::1]:5200"}"#, false, "http ::1 5200 /"),
    // Never from TLS to none.
    (#"{"ws_addr":"ws://10.0.0.1:5200/im","wss_addr":""}"#, true, "https chat.test 443 /im"),
  ])
  func addresses(_ answer: String, _ isSecure: Bool, _ expected: String) throws {
    let api = try #require(WebAddress(isSecure ? "https://chat.test/" : "http://chat.test:5001/"))

    let route = try WuKongRoute(answer: Array(answer.utf8), api: api)

    let address = route.address
    #expect(
      "\(address.isSecure ? "https" : "http") \(address.host) \(address.port) \(address.target)" == expected)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"ws_addr":""}"#, #"{"ws_addr":"http://h:1"}"#, #"{"ws_addr":7}"#,
    #"{"wss_addr":"ws://h:1"}"#,
    #"{"ws_addr":"ws://user:pass@h:1"}"#, #"{"ws_addr":"ws://h:99999"}"#, #"{"ws_addr":"ws://"}"#,
  ])
  func nonsenseIsAProblem(_ answer: String) throws {
    let api = try #require(WebAddress("http://chat.test:5001/"))

    #expect(throws: WuKongRoute.Problem.self) { try WuKongRoute(answer: Array(answer.utf8), api: api) }
  }
}
