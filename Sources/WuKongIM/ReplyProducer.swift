// One reply as a right producer sends it: the base message, then its events in order, one at a time, with ids that stay
// the same over retries; the whole text as a snapshot before the finish, for a cache may be lost without a word and a lone
// finish is stored without its text. A state machine; who posts and when is the driver's business.

package import Primitives

package struct ReplyProducer: Sendable {
  package struct Request: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
      case base, open
      case delta(Int)
      case snapshot, finish
    }

    package var kind: Kind
    package var path: String
    package var body: [UInt8]
  }

  package enum Next: Equatable, Sendable {
    /// Go on with `request`; before a delta, at its time.
    case proceed
    /// Post the same request again after a while.
    case retry(after: Nanoseconds)
    case done
    case failed(String)
  }

  package let channel: ChannelKey
  package let sender: ByteText
  package let clientMessageNumber: String
  /// The whole text.
  package let text: String
  package let deltas: [String]
  /// Times a request may be repeated.
  package static let maximumRetries = 50

  private var kind = Request.Kind.base
  private var retries = 0
  private var snapshots = 0

  package init(channel: ChannelKey, sender: ByteText, clientMessageNumber: String, deltas: [String]) {
    self.channel = channel
    self.sender = sender
    self.clientMessageNumber = clientMessageNumber
    self.deltas = deltas
    text = deltas.joined()
  }

  /// What is to be posted now.
  package var request: Request {
    switch kind {
    case .base:
      Request(
        kind: kind, path: "/message/send",
        body: Self.encoded([
          "from_uid": .string(sender.string), "channel_id": .string(channel.id.string),
          "channel_type": .integer(Int64(channel.type)), "client_msg_no": .string(clientMessageNumber),
          "setting": .integer(Int64(BaseMessage.streamSetting)),
          "payload": .string(Base64.encode(#"{"type":1,"content":""}"#.utf8)),
        ]))
    case .open: event("1", "stream.open", .object([:]))
    case .delta(let index):
      event(
        "\(index + 2)", "stream.delta", .object(["kind": .string("text"), "delta": .string(deltas[index])]))
    case .snapshot:
      event("s\(snapshots)", "stream.snapshot", .object(["kind": .string("text"), "text": .string(text)]))
    case .finish:
      event(
        "\(deltas.count + 2)", "stream.finish",
        .object([
          "snapshot": .object(["kind": .string("text"), "text": .string(text)]), "end_reason": .integer(0),
        ]))
    }
  }

  private func event(_ number: String, _ type: String, _ payload: JSONValue) -> Request {
    Request(
      kind: kind, path: "/message/event",
      body: Self.encoded([
        "channel_id": .string(channel.id.string), "channel_type": .integer(Int64(channel.type)),
        "from_uid": .string(sender.string), "client_msg_no": .string(clientMessageNumber),
        "event_id": .string("\(clientMessageNumber):\(number)"), "event_key": .string("main"),
        "event_type": .string(type), "visibility": .string("public"), "payload": payload,
      ]))
  }

  private static func encoded(_ pairs: KeyValuePairs<String, JSONValue>) -> [UInt8] {
    Array(JSONValue.object(pairs).text().utf8)
  }

  /// The server answered the current request.
  package mutating func answered(status: Int, body: [UInt8]) -> Next {
    let document = try? JSONReader.read(body)
    if status == 200 {
      retries = 0
      return advance(document)
    }
    let message = document?["msg"]?.asString ?? "HTTP \(status)"
    if message.contains("admission busy") || message.contains("backpressured") || status >= 500 {
      return repeated(message)
    }
    if message.contains("cache miss"), kind == .finish, snapshots < 3 {
      // Lost between the two: once more, under a new id.
      snapshots += 1
      kind = .snapshot
      return .proceed
    }
    return .failed("\(request.path): \(message)")
  }

  /// No answer came: the same request with the same id goes out again.
  package mutating func unanswered() -> Next { repeated("no answer") }

  private mutating func repeated(_ why: String) -> Next {
    retries += 1
    if retries > Self.maximumRetries { return .failed("\(request.path): \(why), \(retries - 1) times") }
    return .retry(after: .milliseconds(min(500, 5 * Double(1 << min(retries - 1, 7)))))
  }

  private mutating func advance(_ answer: JSONValue?) -> Next {
    switch kind {
    case .base:
      guard answer?["reason"]?.asInt == ReasonCode.success.rawValue else {
        return .failed("/message/send: no success")
      }
      kind = .open
    case .open: kind = deltas.isEmpty ? .snapshot : .delta(0)
    case .delta(let index): kind = index + 1 < deltas.count ? .delta(index + 1) : .snapshot
    case .snapshot: kind = .finish
    case .finish: return .done
    }
    return .proceed
  }
}
