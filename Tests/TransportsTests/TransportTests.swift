import EventLoops
import Primitives
import TestSupport
import Testing
import Transports

/// Both stacks against a server that answers with what a test says, on loopback.
@Suite struct TransportTests {
  static let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n0\r\n\r\n"

  @Test(arguments: StackUnderTest.allCases) func stream_IsReportedInOrderWithItsInstants(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer.answering(Self.answer)
    defer { server.end() }

    let transfer = try TransferLog(stack, EndpointAddress(url: server.url)).run()[0]

    #expect(transfer.head?.status == 200 && transfer.head?.contentType == "text/event-stream" && transfer.head?.version == 11)
    #expect(transfer.text == "data: a\n\n")
    #expect(transfer.endWord == "complete" && transfer.ends == 1 && transfer.heads == 1)
    #expect(transfer.sentAt > 0 && transfer.firstByteAt >= transfer.sentAt && transfer.endedAt >= transfer.firstByteAt)
    #expect(!transfer.isReused && transfer.hasConnectTime)
  }

  @Test(arguments: StackUnderTest.allCases) func request_HasItsMethodTargetHeadersAndBody(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { connection in
      guard let request = connection.readRequest() else { return }
      let text = request.head + String(decoding: request.body, as: UTF8.self)
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }
    defer { server.end() }
    var endpoint = EndpointAddress(url: server.url + "v1/chat?x=1#part")
    endpoint.method = "POST"
    endpoint.headers = [("Content-Type", "application/json"), ("X-One", "1"), ("X-Two", "from the endpoint")]
    endpoint.body = Array("{\"a\":1}".utf8)
    var request = TransferRequest()
    request.headers = [(name: "x-two", value: "from the request")]

    let lines = try TransferLog(stack, endpoint).run(request)[0].text.split(separator: "\r\n").map(String.init)

    #expect(lines.first == "POST /v1/chat?x=1 HTTP/1.1")
    #expect(lines.last == "{\"a\":1}")
    #expect(lines.contains("Host: 127.0.0.1:\(server.port)"))
    #expect(lines.contains("Content-Length: 7") && lines.contains("X-One: 1") && lines.contains("Content-Type: application/json"))
    #expect(lines.filter { $0.lowercased().hasPrefix("x-two:") } == ["x-two: from the request"])
    #expect(!lines.contains { $0.lowercased().hasPrefix("expect:") })
  }

  @Test(arguments: StackUnderTest.allCases) func finishedConnection_CarriesTheNextRequest(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n#\(connection.number)")
      }
    }
    defer { server.end() }
    let log = try TransferLog(stack, EndpointAddress(url: server.url))

    let first = log.run()[0]
    let second = log.run()[0]

    #expect(first.text == "#0" && second.text == "#0")
    #expect(!first.isReused && second.isReused)
    #expect(server.connections == 1)
  }

  @Test(arguments: StackUnderTest.allCases) func freshConnections_AreNeverReused(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
    }
    defer { server.end() }
    var endpoint = EndpointAddress(url: server.url)
    endpoint.reusesConnections = false
    let log = try TransferLog(stack, endpoint)

    log.run()
    let second = log.run()[0]

    #expect(!second.isReused && second.endWord == "complete")
    #expect(server.connections == 2)
  }

  /// RFC 9112, 9.3.1: the server may close an idle connection at any time; the request then goes out once more.
  @Test(arguments: StackUnderTest.allCases) func connectionThatDiedWhileIdle_IsReplacedUnnoticed(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n#\(connection.number)")
      // Closes without having said so.
    }
    defer { server.end() }
    let log = try TransferLog(stack, EndpointAddress(url: server.url))

    log.run()
    let second = log.run()[0]

    #expect(second.text == "#1" && second.endWord == "complete")
  }

  @Test(arguments: StackUnderTest.allCases) func manyTransfersAtOnce_EachGetTheirOwnAnswer(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { connection in
      while let request = connection.readRequest() {
        let number = request.head.split(separator: "\r\n").first { $0.hasPrefix("X-Number") } ?? ""
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(number.utf8.count)\r\n\r\n\(number)")
      }
    }
    defer { server.end() }
    let log = try TransferLog(stack, EndpointAddress(url: server.url), places: 40)

    for place in 0..<40 {
      var request = TransferRequest()
      request.headers = [(name: "X-Number", value: "\(place)")]
      log.start(place, request)
    }
    log.turn(limit: 30) { log.transfers.allSatisfy { $0.end != nil } }

    #expect(log.transfers.enumerated().allSatisfy { $1.text == "X-Number: \($0)" && $1.endWord == "complete" })
  }

  @Test(arguments: StackUnderTest.allCases) func cancelledTransfer_IsNeverHeardOfAgain(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
      connection.hold()
    }
    defer { server.end() }
    let log = try TransferLog(stack, EndpointAddress(url: server.url))

    log.start(0)
    log.turn(limit: 20) { !log.transfers[0].body.isEmpty }
    log.cancel(0)
    log.turn(limit: 0.1) { false }

    #expect(log.transfers[0].text == "data: 1\n\n")
    #expect(log.transfers[0].ends == 0)
    // The place is free for another.
    log.start(0)
    log.turn(limit: 20) { log.transfers[0].body.count >= 18 }
    #expect(log.transfers[0].text == "data: 1\n\ndata: 1\n\n")
  }

  @Test(arguments: StackUnderTest.allCases) func pausedTransfer_TakesNothingUntilItGoesOn(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nfirst")
      guard connection.readRequest() == nil else { return }
    }
    defer { server.end() }
    let large = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n")
      let block = [UInt8](repeating: 120, count: 1 << 20)
      for _ in 0..<32 where !connection.send(block) { return }
      connection.hold()
    }
    defer { large.end() }
    let log = try TransferLog(stack, EndpointAddress(url: large.url), kept: 0)

    log.start(0)
    log.turn(limit: 20) { log.bytes > 0 }
    log.setPaused(0, true)
    log.turn(limit: 0.2) { false }
    let before = log.bytes
    log.turn(limit: 0.2) { false }
    #expect(log.bytes == before && before < 33_554_432)
    log.setPaused(0, false)
    log.turn(limit: 30) { log.transfers[0].end != nil }

    #expect(log.bytes == 33_554_432)
    #expect(log.transfers[0].endWord == "complete")
  }

  // MARK: No connection

  @Test(arguments: StackUnderTest.allCases) func closedPort_IsRefused(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer { _ in }
    let url = server.url
    server.end()

    // The listener is gone once its thread has seen the end.
    var transfer = try TransferLog(stack, EndpointAddress(url: url)).run()[0]
    for _ in 0..<100 where transfer.endWord != "refused" { transfer = try TransferLog(stack, EndpointAddress(url: url)).run()[0] }

    #expect(transfer.endWord == "refused" && transfer.head == nil && transfer.ends == 1)
    guard case .failed(_, let detail) = transfer.end else { return }
    #expect(detail.lowercased().contains("refused"), "\(detail)")
  }

  @Test(arguments: StackUnderTest.allCases) func unknownHost_IsANameLookupFailure(_ stack: StackUnderTest) throws {
    // RFC 6761, 6.4: `invalid` never resolves.
    let transfer = try TransferLog(stack, EndpointAddress(url: "http://no-such-host.invalid/")).run()[0]

    #expect(transfer.endWord == "nameLookup" && transfer.ends == 1)
  }

  @Test(arguments: StackUnderTest.allCases) func resolve_TakesThePlaceOfTheLookup(_ stack: StackUnderTest) throws {
    let server = try ScriptedServer.answering(Self.answer)
    defer { server.end() }
    var endpoint = EndpointAddress(url: "http://no-such-host.invalid:\(server.port)/")
    endpoint.resolve = ["no-such-host.invalid:\(server.port):127.0.0.1"]

    let transfer = try TransferLog(stack, endpoint).run()[0]

    #expect(transfer.endWord == "complete" && transfer.text == "data: a\n\n")
  }

  // MARK: HTTP/2

  /// Until a handshake is over nobody knows how many streams its connection carries: no transfer makes one of its own.
  @Test func slowHandshakes_LeaveTheBoundOnConnections() throws {
    let server = try ScriptedServer { $0.hold() }
    defer { server.end() }
    let log = try TransferLog(.curl, EndpointAddress(url: "https://127.0.0.1:\(server.port)/"), places: 60)
    for place in 0..<60 { log.start(place) }
    log.turn(limit: 0.3) { false }
    let before = server.connections

    for seconds in [1.0, 2, 3, 4, 5] {
      log.expire(.now() + .seconds(seconds))
      log.turn(limit: 0.1) { false }
    }

    #expect(before > 0 && server.connections == before && before <= 11, "\(before), then \(server.connections)")
  }

  @Test func rawStack_SaysWhatItCannotDo() {
    func objection(_ url: String, _ change: (inout EndpointAddress) -> Void = { _ in }) -> String? {
      var endpoint = EndpointAddress(url: url)
      change(&endpoint)
      return RawTransport.objection(to: endpoint)
    }

    #expect(objection("http://127.0.0.1/") == nil)
    #expect(objection("https://127.0.0.1/")?.contains("TLS") == true)
    #expect(objection("http://127.0.0.1/") { $0.httpVersion = .http2 }?.contains("HTTP/2") == true)
    #expect(objection("http://127.0.0.1/") { $0.proxy = "http://127.0.0.1:1" }?.contains("prox") == true)
    #expect(objection("http://127.0.0.1/") { $0.headers = [("Accept-Encoding", "gzip")] }?.contains("compression") == true)
    #expect(objection("http://127.0.0.1/") { $0.headers = [("accept-encoding", "identity")] } == nil)
    #expect(objection("ftp://127.0.0.1/") != nil)
  }
}
