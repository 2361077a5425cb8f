// A WuKongIM server of era 3 as a model: users, channels, messages, streams. Requests go in, answers come out, and
// notifications for uids wait in `takeDeliveries`. Knows no socket and no clock; wall time is a parameter. One owner.

package import Primitives

/// A notification for the connections of some uids. Best effort: who is offline does not get it, and nobody gets it
/// later.
package struct Delivery: Sendable {
  package enum Kind: Equatable, Sendable {
    case base
    /// With the kind of event and the message it belongs to.
    case event(StreamEvent.Kind, message: ByteText)
  }

  package var kind: Kind
  package var receivers: [ByteText]
  /// The text message, ready to be framed.
  package var bytes: [UInt8]
}

package struct HTTPAnswer: Equatable, Sendable {
  package var status: Int
  package var body: JSONValue

  package init(_ status: Int, _ body: JSONValue) {
    self.status = status
    self.body = body
  }

  static let done = HTTPAnswer(200, .object(["status": .integer(200)]))

  /// Every error of the server looks like this.
  static func refused(_ message: String, status: Int = 400) -> HTTPAnswer {
    HTTPAnswer(status, .object(["msg": .string(message), "status": .integer(Int64(status))]))
  }
}

package struct WuKongServerSettings: Sendable {
  /// What `/route` answers; empty: where the server itself listens.
  package var webSocketAddress = ""
  package var secureWebSocketAddress = ""
  package var tcpAddress = "127.0.0.1:5100"
  /// Messages with an open stream that the leader's memory holds.
  package var openStreams = 50_000
  /// Fan-outs at a time; beyond it an event is refused as busy.
  package var concurrentFanOuts = 4
  /// Whether a repeat of a cached event is sent to the members again, as era 3 does.
  package var repeatsAreBroadcast = true
  /// Bounds of what clients may create here.
  package var users = 200_000
  package var channels = 50_000
  package var members = 200_000
  package var messages = 1_000_000

  package init() {}
}

/// What the model counted; checks and figures read it.
package struct WuKongServerCounts: Equatable, Sendable {
  package var connects = 0
  package var refusedConnects = 0
  package var acknowledgements = 0
  package var messages = 0
  package var events = 0
  package var repeats = 0
  package var histories = 0
  package var busy = 0
  package var cacheMisses = 0
  package var broadcasts = 0

  package init() {}
}

package final class WuKongServer {
  package let settings: WuKongServerSettings
  package internal(set) var counts = WuKongServerCounts()
  /// History reads by uid: exactly one for each successful connect is what a right client makes.
  package internal(set) var historiesByUID: [ByteText: Int] = [:]
  /// Acknowledgements by message id and uid would grow without bound; by uid alone they do not.
  package internal(set) var acknowledgementsByUID: [ByteText: Int] = [:]

  var tokens: [ByteText: String] = [:]
  var channels: [ChannelKey: ServerChannel] = [:]
  var openStreamCount = 0
  var fanOuts = 0
  private var lastMessageID: Int64 = 90_071_992_546
  private var messageCount = 0
  private var deliveries: [Delivery] = []

  package init(settings: WuKongServerSettings = WuKongServerSettings()) {
    self.settings = settings
  }

  /// Notifications since the last call, in order.
  package func takeDeliveries() -> [Delivery] {
    let taken = deliveries
    deliveries = []
    return taken
  }

  func deliver(_ delivery: Delivery) { deliveries.append(delivery) }

  /// A fan-out that is still under way takes one of the places; the front says when it begins and ends.
  package func beginFanOut() { fanOuts += 1 }
  package func endFanOut() { fanOuts = max(0, fanOuts - 1) }

  /// Whether a uid may connect with a token.
  package func authenticate(uid: String, token: String) -> Bool {
    guard let known = tokens[ByteText(uid)], known.utf8.elementsEqual(token.utf8) else {
      counts.refusedConnects += 1
      return false
    }
    counts.connects += 1
    return true
  }

  package func acknowledge(uid: ByteText) {
    counts.acknowledgements += 1
    acknowledgementsByUID[uid, default: 0] += 1
  }

  /// C4.10: another node leads now, or this one was started anew; what was only cached is gone.
  package func changeLeader() {
    for key in channels.keys {
      guard var channel = channels[key] else { continue }
      for number in channel.streams.keys { channel.streams[number]?.loseCache() }
      channels[key] = channel
    }
    openStreamCount = 0
  }

  // MARK: Channels

  /// The name in store of a channel as `uid` sees it.
  func storedKey(_ channel: ChannelKey, seenBy uid: ByteText) -> ChannelKey {
    guard channel.type == ChannelKey.person, !channel.id.string.utf8.contains(UInt8(ascii: "@")) else {
      return channel
    }
    return ChannelKey(id: PersonChannel.storedID(channel.id, uid), type: channel.type)
  }

  /// A person channel exists as soon as one of the two uses it.
  func openPersonChannel(_ key: ChannelKey, between a: ByteText, and b: ByteText) {
    if key.type == ChannelKey.person, channels[key] == nil {
      var channel = ServerChannel()
      channel.add([a, b])
      channels[key] = channel
    }
  }

  /// The channel as each member sees it, with those who see it so: for groups one name, for people two.
  func views(_ key: ChannelKey) -> [(seen: ByteText, receivers: [ByteText])] {
    guard let members = channels[key]?.members else { return [] }
    guard key.type == ChannelKey.person, members.count == 2 else { return [(key.id, members)] }
    return [(members[1], [members[0]]), (members[0], [members[1]])]
  }

  // MARK: Messages

  /// Stores a message and queues its `recv` for the members. A repeat of a message number by the same sender gives
  /// the message that is there.
  func store(
    _ message: StoredMessage, in key: ChannelKey, bytesOf receive: (StoredMessage, ByteText) -> [UInt8]
  )
    -> StoredMessage?
  {
    guard var channel = channels[key] else { return nil }
    if !message.clientMessageNumber.isEmpty, let known = channel.message(message.clientMessageNumber),
      known.sender == message.sender
    {
      return known
    }
    guard messageCount < settings.messages else { return nil }
    messageCount += 1
    counts.messages += 1
    lastMessageID += 1
    var stored = message
    stored.id = lastMessageID
    // What is not persisted reaches who is online, has no sequence and no place in the history.
    if stored.isPersisted {
      channels[key] = nil
      stored = channel.append(stored)
      channels[key] = channel
    }
    for view in views(key) {
      deliver(Delivery(kind: .base, receivers: view.receivers, bytes: receive(stored, view.seen)))
    }
    return stored
  }

  /// The `recv` notification of a message, for a receiver who sees its channel as `seen`.
  func receiveNotification(_ message: StoredMessage, channel key: ChannelKey, seen: ByteText) -> [UInt8] {
    RPCEnvelope.notification(
      method: "recv",
      params: .object([
        "header": .object([:]), "setting": .object(["stream": .bool(message.isStream)]),
        "messageId": .string(String(message.id)), "messageSeq": .integer(message.sequence),
        "clientMsgNo": .string(message.clientMessageNumber.string),
        "timestamp": .integer(Int64(message.timestamp)),
        "channelId": .string(seen.string), "channelType": .integer(Int64(key.type)),
        "fromUid": .string(message.sender.string), "payload": MessagePayload.value(message.payload),
      ])
    ).bytes
  }
}
