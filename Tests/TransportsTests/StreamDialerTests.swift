// Channels as a loop uses them, plain and secure: every byte both ways, however small the reads, and dials that fail.

import EventLoops
import Foundation
import Primitives
import TestSupport
import Testing
import Transports

/// One channel on a queue of its own.
private final class ChannelLoop {
  let queue: EventQueue
  let dialer: StreamDialer
  private(set) var channel = StreamChannel.closed
  private(set) var isConnected = false
  private(set) var failure: DialFailure?
  private(set) var received: [UInt8] = []
  private(set) var hasEnded = false
  private var output: [UInt8] = []
  private var sent = 0
  private let buffer: UnsafeMutableBufferPointer<UInt8>

  init(readSize: Int, settings: SecureSettings = SecureSettings()) throws {
    queue = try EventQueue(capacity: 16)
    dialer = StreamDialer(queue: queue, settings: settings)
    buffer = .allocate(capacity: readSize)
  }

  deinit {
    channel.end(on: queue)
    buffer.deallocate()
  }

  func open(_ destination: ChannelDestination) throws { channel = try dialer.open(destination, token: 7) }

  func close() { channel.end(on: queue) }

  /// Adds to what waits: the array moves, as an owner's does.
  func send(_ bytes: [UInt8]) {
    output.append(contentsOf: bytes)
    if isConnected { write() }
  }

  private func write() {
    while sent < output.count {
      let outcome = output.withUnsafeBufferPointer {
        channel.transmit(UnsafeBufferPointer(rebasing: $0[sent...]))
      }
      guard case .bytes(let count) = outcome else {
        if case .ended = outcome { hasEnded = true }
        return
      }
      sent += count
    }
    try? queue.modify(channel.descriptor, .read, token: 7)
  }

  private func read() {
    repeat {
      switch channel.receive(buffer) {
      case .wouldBlock: return
      case .ended:
        hasEnded = true
        return
      case .bytes(let count): received.append(contentsOf: buffer[..<count])
      }
    } while channel.mayHoldBytes
  }

  func turn(limit: Double = 30, until isOver: () -> Bool) {
    let deadline = Instant.now() + .seconds(limit)
    while !isOver() && Instant.now() < deadline {
      var wake = min(deadline, .now() + .milliseconds(50))
      if let due = dialer.nextDeadline() { wake = min(wake, due) }
      guard let ready = try? queue.wait(until: wake) else { return }
      for event in ready {
        if event.token & StreamDialer.tokenMark != 0 { dialer.handle(event) } else { act(event) }
      }
      dialer.expire(.now())
      if !dialer.takeFailed().isEmpty { failure = channel.dialFailure }
    }
  }

  private func act(_ event: Readiness) {
    if !isConnected && (event.isWritable || event.isClosed) {
      failure = channel.dialFailure
      if failure != nil { return }
      isConnected = true
    }
    if event.isWritable { write() }
    if event.isReadable || event.isClosed { read() }
  }
}

/// A scripted server with a relay in front of it that ends TLS.
private struct RelayedServer {
  private let folder: TemporaryFolder
  private let server: ScriptedServer
  private let relay: TLSRelay
  let settings: SecureSettings
  /// Without TLS.
  var port: Int { server.port }
  var securePort: Int { relay.port }

  init(_ script: @escaping @Sendable (ScriptedConnection) -> Void) throws {
    folder = try TemporaryFolder()
    server = try ScriptedServer(script)
    relay = try TLSRelay(to: server.port, in: folder)
    settings = StreamDialerTests.settings(folder, relay)
  }

  func end() {
    relay.end()
    server.end()
  }
}

@Suite(.serialized, .enabled(if: TLSRelay.isPossible)) struct StreamDialerTests {
  static func settings(_ folder: TemporaryFolder, _ relay: TLSRelay) -> SecureSettings {
    var settings = SecureSettings()
    settings.caFile = folder.path("cert.pem")
    settings.resolve = ["other.test:\(relay.port):127.0.0.1"]
    return settings
  }

  static func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  /// A record is decrypted whole: with reads of 61 bytes most of it waits where the queue sees nothing.
  @Test(arguments: [false, true]) func smallReads_LoseNothing(_ isSecure: Bool) throws {
    let answer = Self.pattern(300_000)
    let server = try RelayedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(answer)
      connection.hold()
    }
    defer { server.end() }
    let loop = try ChannelLoop(readSize: 61, settings: server.settings)

    try loop.open(
      isSecure
        ? ChannelDestination(host: "other.test", port: server.securePort, isSecure: true, settings: server.settings)
        : ChannelDestination(host: "127.0.0.1", port: server.port, isSecure: false, settings: server.settings))
    loop.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    loop.turn { loop.received.count >= answer.count || loop.hasEnded }

    #expect(loop.received == answer)
    #expect(isSecure == (loop.channel.handshake > Nanoseconds(0)))
  }

  /// A socket that is full, while more is added: what OpenSSL holds must come first, and once.
  @Test func fullSocket_LosesNothing() throws {
    let body = Self.pattern(3_000_000)
    // Nothing is read before all has been given to the channel.
    let isGiven = DispatchSemaphore(value: 0)
    let server = try RelayedServer { connection in
      _ = isGiven.wait(timeout: .now() + 20)
      guard let request = connection.readRequest() else { return }
      connection.send(request.body == body ? "same" : "other")
      connection.hold()
    }
    defer { server.end() }
    let loop = try ChannelLoop(readSize: 4_096, settings: server.settings)

    try loop.open(
      ChannelDestination(host: "other.test", port: server.securePort, isSecure: true, settings: server.settings))
    loop.send(Array("POST / HTTP/1.1\r\nContent-Length: \(body.count)\r\n\r\n".utf8))
    for start in stride(from: 0, to: body.count, by: 100_000) {
      loop.send(Array(body[start..<min(start + 100_000, body.count)]))
      loop.turn(limit: 0.005) { false }
    }
    isGiven.signal()
    loop.turn { loop.received.count >= 4 || loop.hasEnded }

    #expect(String(decoding: loop.received, as: UTF8.self) == "same")
  }

  /// More than one multi handle holds, all at once; and all of them gone without a trace.
  @Test func manyConnections_StandSideBySide() throws {
    let server = try RelayedServer { connection in
      while let request = connection.readRequest() { connection.send(request.body) }
    }
    defer { server.end() }
    let queue = try EventQueue(capacity: 64)
    let dialer = StreamDialer(queue: queue, settings: server.settings)
    let destination = try ChannelDestination(
      host: "other.test", port: server.securePort, isSecure: true, settings: server.settings)
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 4_096)
    defer { buffer.deallocate() }
    var channels = (0..<80).map { _ in StreamChannel.closed }
    var answers = channels.map { _ in "" }
    var isSent = channels.map { _ in false }

    for number in channels.indices { channels[number] = try dialer.open(destination, token: UInt64(number)) }
    // Half of them are given up while they are dialled.
    for number in 40..<80 { channels[number].end(on: queue) }
    let deadline = Instant.now() + .seconds(60)
    while answers[..<40].contains(where: { $0.isEmpty }) && Instant.now() < deadline {
      for event in try queue.wait(until: min(deadline, dialer.nextDeadline() ?? deadline)) {
        if event.token & StreamDialer.tokenMark != 0 {
          dialer.handle(event)
          continue
        }
        let number = Int(event.token)
        if !isSent[number] {
          isSent[number] = true
          let request = Array("GET / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\(1_000 + number)".utf8)
          _ = request.withUnsafeBufferPointer { channels[number].transmit($0) }
          try queue.modify(channels[number].descriptor, .read, token: event.token)
        }
        while case .bytes(let count) = channels[number].receive(buffer) {
          answers[number] += String(decoding: buffer[..<count], as: UTF8.self)
        }
      }
      dialer.expire(.now())
      #expect(dialer.takeFailed().isEmpty)
    }

    #expect(answers[..<40].enumerated().allSatisfy { $1 == "\(1_000 + $0)" })
    for number in channels.indices { channels[number].end(on: queue) }
    #expect(channels.allSatisfy { $0.isClosed && $0.descriptor == -1 })
  }

  @Test func wrongNameAndUnknownAuthority_AreLastingTLSFailures() throws {
    let folder = try TemporaryFolder()
    let server = try ScriptedServer { $0.hold() }
    defer { server.end() }
    let relay = try TLSRelay(to: server.port, in: folder)
    defer { relay.end() }
    var unknown = Self.settings(folder, relay)
    unknown.caFile = nil
    for (host, settings) in [("localhost", Self.settings(folder, relay)), ("other.test", unknown)] {
      let loop = try ChannelLoop(readSize: 100, settings: settings)

      try loop.open(ChannelDestination(host: host, port: relay.port, isSecure: true, settings: settings))
      loop.turn { loop.failure != nil || loop.isConnected }

      #expect(
        loop.failure?.kind == .tls && loop.failure?.isLasting == true,
        "\(loop.failure?.detail ?? "connected")")
      #expect(loop.channel.receive(.allocate(capacity: 1)).isEnd)
    }
  }

  /// `open` gives the loop back at once, and the limit is kept by the loop's own timers.
  @Test func handshakeThatNeverEnds_TimesOut() throws {
    let folder = try TemporaryFolder()
    let relay = try TLSRelay(to: 0, in: folder)
    defer { relay.end() }
    var settings = Self.settings(folder, relay)
    settings.connectTimeout = .milliseconds(300)
    let loop = try ChannelLoop(readSize: 100, settings: settings)
    let began = Instant.now()

    try loop.open(
      ChannelDestination(host: "other.test", port: relay.port, isSecure: true, settings: settings))
    #expect(loop.channel.descriptor == -1 && loop.channel.dialFailure == nil)
    loop.turn { loop.failure != nil || loop.isConnected }

    #expect(loop.failure?.kind == .connectTimeout && loop.failure?.isLasting == false)
    #expect(Instant.now() - began >= .milliseconds(290))
  }

  @Test func closedPort_IsRefused() throws {
    let probe = try ScriptedServer { _ in }
    let port = probe.port
    probe.end()
    for isSecure in [false, true] {
      let settings = SecureSettings()
      let loop = try ChannelLoop(readSize: 100)

      try loop.open(ChannelDestination(host: "127.0.0.1", port: port, isSecure: isSecure, settings: settings))
      loop.turn { loop.failure != nil || loop.isConnected }

      #expect(loop.failure?.kind == .refused)
    }
  }
}

extension StreamSocket.Outcome {
  var isEnd: Bool { if case .ended = self { true } else { false } }
}
