// The HTTP side of the model: a path and a body become an answer. Bodies are read as Go reads them: bad UTF-8 and half
// surrogate pairs become U+FFFD.

internal import Primitives

extension WuKongServer {
  /// A body beyond this is refused.
  package static let maximumBodyBytes = 4 << 20

  /// - Parameter target: path and query, as in the request line.
  package func handle(
    method: String, target: String, body: [UInt8], wallMilliseconds: Int
  ) -> HTTPAnswer {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts.first ?? "")
    switch (method, path) {
    case ("GET", "/route"):
      return HTTPAnswer(
        200,
        .object([
          "tcp_addr": .string(settings.tcpAddress), "ws_addr": .string(settings.webSocketAddress),
          "wss_addr": .string(settings.secureWebSocketAddress),
        ]))
    case ("GET", "/health"): return HTTPAnswer(200, .object(["status": .string("ok")]))
    case ("POST", "/user/token"), ("POST", "/channel"), ("POST", "/message/send"), ("POST", "/message/event"),
      ("POST", "/channel/messagesync"), ("POST", "/channel/messagesyncbatch"):
      break
    // What older documents describe, /message/eventsync above all, is not registered.
    default: return .refused("not found", status: 404)
    }
    guard let document = Self.document(body) else { return .refused("invalid request: the body is not JSON") }
    return switch path {
    case "/user/token": setToken(document)
    case "/channel": setChannel(document)
    case "/message/send": sendMessage(document, wallMilliseconds: wallMilliseconds)
    case "/message/event": appendEvent(document, wallMilliseconds: wallMilliseconds)
    case "/channel/messagesync": history(document)
    default: historyBatch(document)
    }
  }

  static func document(_ body: [UInt8]) -> JSONValue? {
    if let document = try? JSONReader.read(body) { return document }
    let repaired = Array(String(decoding: body, as: UTF8.self).utf8)
    return try? JSONReader.read(LoneSurrogates.replaced(in: repaired) ?? repaired)
  }

  private func setToken(_ body: JSONValue) -> HTTPAnswer {
    let fields = Fields(body, place: "body")
    do throws(DecodeProblem) {
      guard let uid = try fields.key("uid"), !uid.isEmpty else { throw .missing("uid") }
      guard let token = try fields.key("token"), !token.isEmpty else { throw .missing("token") }
      if tokens[ByteText(uid)] == nil && tokens.count >= settings.users { return .refused("too many users") }
      tokens[ByteText(uid)] = token
      return .done
    } catch { return .refused("invalid request: \(error)") }
  }

  private func setChannel(_ body: JSONValue) -> HTTPAnswer {
    let fields = Fields(body, place: "body")
    do throws(DecodeProblem) {
      guard let id = try fields.key("channel_id"), !id.isEmpty else { throw .missing("channel_id") }
      guard let type = try fields.integer("channel_type"), type != 0 else { throw .missing("channel_type") }
      if type == ChannelKey.person { return .refused("a person channel has no subscribers to set") }
      var subscribers: [ByteText] = []
      for value in try fields.array("subscribers") ?? [] {
        guard let uid = value.asString, !uid.isEmpty, uid.utf8.count <= StreamEvent.maximumKeyBytes else {
          throw .wrongType("subscribers", expected: "uids")
        }
        subscribers.append(ByteText(uid))
      }
      let key = ChannelKey(id: ByteText(id), type: type)
      if channels[key] == nil && channels.count >= settings.channels { return .refused("too many channels") }
      var channel = channels[key] ?? ServerChannel()
      if try fields.integer("reset") == 1 { channel.removeMembers() }
      if channel.members.count + subscribers.count > settings.members {
        return .refused("too many subscribers")
      }
      channel.add(subscribers)
      channels[key] = channel
      return .done
    } catch { return .refused("invalid request: \(error)") }
  }

  private func sendMessage(_ body: JSONValue, wallMilliseconds: Int) -> HTTPAnswer {
    let fields = Fields(body, place: "body")
    do throws(DecodeProblem) {
      guard let sender = try fields.key("from_uid"), !sender.isEmpty else { throw .missing("from_uid") }
      guard let id = try fields.key("channel_id"), !id.isEmpty else { throw .missing("channel_id") }
      guard let type = try fields.integer("channel_type"), type != 0 else { throw .missing("channel_type") }
      guard let payload = Base64.decode(Array((try fields.string("payload") ?? "").utf8)) else {
        throw .wrongType("payload", expected: "Base64")
      }
      let header = try fields.object("header").map { Fields($0, place: "header") }
      var message = StoredMessage(
        id: 0, sequence: 0, clientMessageNumber: ByteText(try fields.key("client_msg_no") ?? ""),
        sender: ByteText(sender), setting: try fields.integer("setting") ?? 0,
        timestamp: wallMilliseconds / 1_000,
        payload: payload)
      message.isPersisted = try header?.integer("no_persist") != 1
      message.isSyncOnce = try header?.integer("sync_once") == 1
      guard let stored = send(message, to: ChannelKey(id: ByteText(id), type: type)) else {
        return .refused("channel not found, or the sender is not a member")
      }
      return HTTPAnswer(
        200,
        .object([
          "message_id": .integer(stored.id), "message_seq": .integer(stored.sequence),
          "reason": .integer(Int64(ReasonCode.success.rawValue)),
        ]))
    } catch { return .refused("invalid request: \(error)") }
  }

  /// Stores a message of a member, whether it came by HTTP or by a client's `send`.
  func send(_ message: StoredMessage, to channel: ChannelKey) -> StoredMessage? {
    let key = storedKey(channel, seenBy: message.sender)
    openPersonChannel(key, between: message.sender, and: channel.id)
    guard channels[key] != nil else { return nil }
    return store(message, in: key) { stored, seen in receiveNotification(stored, channel: key, seen: seen) }
  }
}
