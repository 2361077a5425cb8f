// The answer of /channel/messagesync, as far as the projection needs it: which streams exist, their text, their state.
// A row that cannot be read is left out and counted; an answer that is none at all is an error.

package import Primitives

package struct HistoryPage: Equatable, Sendable {
  package struct Row: Equatable, Sendable {
    package enum Lane: Sendable {
      case absent, open, closed, cancelled, error
    }

    package var clientMessageNumber: ByteText
    package var messageSequence: Int64?
    package var channel: ChannelKey?
    /// `setting` bit 1.
    package var isStream: Bool
    /// The text of the lane `main`, UTF-8; nil where the history has none.
    package var mainText: [UInt8]?
    package var mainLane: Lane
    /// The stream was finished.
    package var isCompleted: Bool

    package init(
      clientMessageNumber: ByteText, messageSequence: Int64?, channel: ChannelKey?, isStream: Bool,
      mainText: [UInt8]?,
      mainLane: Lane, isCompleted: Bool
    ) {
      self.clientMessageNumber = clientMessageNumber
      self.messageSequence = messageSequence
      self.channel = channel
      self.isStream = isStream
      self.mainText = mainText
      self.mainLane = mainLane
      self.isCompleted = isCompleted
    }
  }

  package var rows: [Row] = []
  /// Rows that could not be read.
  package var undecodable = 0

  /// Rows beyond this are not read: a request asks for 40, the server allows 10,000.
  package static let maximumRows = 10_000

  package init() {}

  /// Whether an answer is the server's error object, `{"msg":…,"status":400}`: a failed read, not a broken one.
  package static func isRefusal(_ response: JSONValue) -> Bool {
    guard response["messages"] == nil, response["msg"]?.asString != nil else { return false }
    return response["status"]?.asInt != nil
  }

  /// Reads a whole answer. An error object (`{"msg":…,"status":400}`) and an answer without `messages` are problems.
  package init(response: JSONValue?) throws(DecodeProblem) {
    guard let response, response.asObject != nil else { throw .notAnObject("response") }
    let fields = Fields(response, place: "response")
    guard let messages = response["messages"] else { throw .missing("response.messages") }
    if messages.isNull { return }
    for message in (try fields.array("messages") ?? []).prefix(Self.maximumRows) {
      do throws(DecodeProblem) { rows.append(try Row(message)) } catch { undecodable += 1 }
    }
  }
}

extension HistoryPage.Row {
  init(_ message: JSONValue) throws(DecodeProblem) {
    guard message.asObject != nil else { throw .notAnObject("response.messages[]") }
    let fields = Fields(message, place: "messages[]")
    clientMessageNumber = ByteText(try fields.key("client_msg_no") ?? "")
    messageSequence = try fields.sequence("message_seq")
    channel = nil
    if let id = try fields.key("channel_id"), let type = try fields.integer("channel_type") {
      channel = ChannelKey(id: ByteText(id), type: type)
    }
    isStream = (try fields.integer("setting") ?? 0) & BaseMessage.streamSetting != 0
    mainText = nil
    mainLane = .absent
    isCompleted = false
    guard isStream, let meta = try fields.object("event_meta") else { return }
    let summary = Fields(meta, place: "messages[].event_meta")
    isCompleted = try summary.bool("completed") ?? false
    for lane in try summary.array("events") ?? [] {
      let lane = Fields(lane, place: "messages[].event_meta.events[]")
      guard let key = try lane.string("event_key"), ByteText(key) == StreamEvent.mainLane else { continue }
      switch try lane.string("status") ?? "" {
      case "closed": mainLane = .closed
      case "cancelled": mainLane = .cancelled
      case "error": mainLane = .error
      default: mainLane = .open
      }
      if let snapshot = try lane.object("snapshot").map({ Fields($0, place: "snapshot") }),
        try snapshot.isText(orAbsent: false)
      {
        // The server leaves out what is empty.
        mainText = Array((try snapshot.string("text") ?? "").utf8)
      }
      return
    }
  }
}
