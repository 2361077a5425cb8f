// HTTP/1.1 on the WuKongIM port: requests with a Content-Length, one after the other, and the upgrade to WebSocket.

internal import EventLoops
internal import Primitives
internal import WuKongIM

extension WuKongListener {
  func receiveHTTP(_ connection: WuKongConnection, _ now: Instant) {
    touched.insert(connection.id)
    while connection.webSocket == nil, !connection.isAnswering, !connection.isEnding,
      !connection.input.isEmpty
    {
      let head: UpgradeHead
      let length: Int
      do throws(WebSocketError) {
        guard let found = try UpgradeHead.length(in: connection.input) else { return }
        length = found
        head = try UpgradeHead(connection.input[..<found])
      } catch {
        refuse(connection, 400, error.message)
        return
      }
      if WebSocketHandshake.wantsUpgrade(head) {
        upgrade(connection, head, after: length, now)
        return
      }
      guard head.value("transfer-encoding") == nil else {
        refuse(connection, 411, "a body needs a Content-Length here")
        return
      }
      guard let bodyLength = Int(head.value("content-length") ?? "0"),
        (0...WuKongServer.maximumBodyBytes).contains(bodyLength)
      else {
        refuse(
          connection, 413,
          "a body over \(WuKongServer.maximumBodyBytes) bytes, or a Content-Length that is no number")
        return
      }
      if connection.input.count < length + bodyLength {
        if connection.input.count == length, head.has("100-continue", in: "expect") {
          connection.append(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        return
      }
      let body = Array(connection.input[length..<length + bodyLength])
      connection.input.removeFirst(length + bodyLength)
      answer(head, body, connection)
    }
  }

  private func upgrade(_ connection: WuKongConnection, _ head: UpgradeHead, after length: Int, _ now: Instant)
  {
    do throws(WebSocketError) { connection.append(try WebSocketHandshake.response(to: head)) } catch {
      refuse(connection, 400, error.message)
      return
    }
    let rest = Array(connection.input[length...])
    connection.input = []
    beginWebSocket(connection, now)
    if !rest.isEmpty { rest.withUnsafeBufferPointer { receiveFrames($0, connection, now) } }
  }

  private func answer(_ head: UpgradeHead, _ body: [UInt8], _ connection: WuKongConnection) {
    let words = head.words
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
      refuse(connection, 400, "not an HTTP/1.1 request")
      return
    }
    let keepsAlive = words[2] == "HTTP/1.1" && !head.has("close", in: "connection")
    let path =
      words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init)
      ?? ""
    func compute(_ listener: WuKongListener) -> HTTPAnswer {
      listener.server.handle(
        method: words[0], target: words[1], body: body, wallMilliseconds: StreamSocket.wallMilliseconds())
    }
    func write(_ listener: WuKongListener, _ answer: HTTPAnswer) {
      guard listener.connections[connection.id] != nil else { return }
      connection.isAnswering = false
      listener.write(answer, to: connection, keepsAlive: keepsAlive)
    }
    if path == "/channel/messagesync" {
      if faults.strikes(.historyError) != nil {
        write(
          self, HTTPAnswer(400, .object(["msg": .string("history unavailable"), "status": .integer(400)])))
        return
      }
      if faults.strikes(.historyTimeout) != nil {
        connection.isAnswering = true
        return
      }
      if let older = faults.strikes(.historyOlder) {
        connection.isAnswering = true
        let taken = compute(self)
        schedule(after: older.length) { write($0, taken) }
        return
      }
      if let newer = faults.strikes(.historyNewer) {
        connection.isAnswering = true
        schedule(after: newer.length) { write($0, compute($0)) }
        return
      }
    }
    if path == "/message/event" {
      if faults.strikes(.busy) != nil {
        write(
          self,
          HTTPAnswer(
            400,
            .object([
              "msg": .string("stream event admission busy; retry the same event_id"), "status": .integer(400),
            ])))
        return
      }
      if faults.strikes(.leaderChange) != nil { server.changeLeader() }
      if faults.strikes(.privateInMain) != nil { writePrivate(like: body) }
    }
    write(self, compute(self))
    distribute()
  }

  /// A private delta into the lane of the event that is about to come.
  private func writePrivate(like body: [UInt8]) {
    guard var object = (try? JSONReader.read(body))?.asObject, let id = object["event_id"]?.asString else {
      return
    }
    object["event_id"] = .string("private-\(id)")
    object["event_type"] = .string("stream.delta")
    object["visibility"] = .string("private")
    object["payload"] = .object(["kind": .string("text"), "delta": .string("·")])
    _ = server.handle(
      method: "POST", target: "/message/event", body: Array(JSONValue.object(object).text().utf8),
      wallMilliseconds: StreamSocket.wallMilliseconds())
  }

  private func refuse(_ connection: WuKongConnection, _ status: Int, _ message: String) {
    write(
      HTTPAnswer(status, .object(["msg": .string(message), "status": .integer(Int64(status))])),
      to: connection,
      keepsAlive: false)
  }

  func write(_ answer: HTTPAnswer, to connection: WuKongConnection, keepsAlive: Bool) {
    let body = Array(answer.body.text().utf8)
    let reason = [
      200: "OK", 400: "Bad Request", 404: "Not Found", 411: "Length Required", 413: "Content Too Large",
    ]
    connection.append(
      Array(
        ("HTTP/1.1 \(answer.status) \(reason[answer.status] ?? "Error")\r\nContent-Type: application/json\r\n"
          + "Content-Length: \(body.count)\r\n\(keepsAlive ? "" : "Connection: close\r\n")\r\n").utf8))
    connection.append(body)
    if !keepsAlive { connection.isEnding = true }
    touched.insert(connection.id)
    if !connection.isEnding && !connection.input.isEmpty {
      schedule(after: .zero) { $0.resumeHTTP(connection) }
    }
  }

  /// Reads on after an answer that was delayed.
  private func resumeHTTP(_ connection: WuKongConnection) {
    if connections[connection.id] != nil { receiveHTTP(connection, Instant.now()) }
  }
}
