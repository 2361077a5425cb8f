// The parameters of an `event` notification become a StreamEvent, or say why not. `data` is JSON inside a JSON string;
// a lone surrogate or anything else that is not JSON makes the event undecodable (R16).

package import Primitives

package struct StreamEvent: Equatable, Sendable {
  package enum Kind: Sendable {
    case open, delta, snapshot, close, cancel, error, finish
    /// `stream.` and a word that we do not know.
    case unknownStream
    /// Not `stream.…`: another feature's event.
    case foreign
  }

  package static let mainLane: ByteText = "main"

  package var id: ByteText
  package var kind: Kind
  package var channel: ChannelKey?
  package var clientMessageNumber: ByteText
  package var messageSequence: Int64?
  /// `event_key`.
  package var lane: ByteText
  /// Bytes of the lane's text before this delta.
  package var textOffset: Int?
  /// The text of a delta, UTF-8.
  package var delta: [UInt8]?
  /// R7: the text that replaces, UTF-8.
  package var snapshot: [UInt8]?

  package init(
    id: ByteText, kind: Kind, channel: ChannelKey?, clientMessageNumber: ByteText,
    messageSequence: Int64? = nil,
    lane: ByteText = StreamEvent.mainLane, textOffset: Int? = nil, delta: [UInt8]? = nil,
    snapshot: [UInt8]? = nil
  ) {
    self.id = id
    self.kind = kind
    self.channel = channel
    self.clientMessageNumber = clientMessageNumber
    self.messageSequence = messageSequence
    self.lane = lane
    self.textOffset = textOffset
    self.delta = delta
    self.snapshot = snapshot
  }

  /// What this event weighs in a buffer, in bytes.
  var weight: Int {
    id.byteCount + clientMessageNumber.byteCount + lane.byteCount + (delta?.count ?? 0)
      + (snapshot?.count ?? 0)
  }
}

/// Why a notification or a history row could not be read: the field, and what was wrong with it.
package enum DecodeProblem: Error, Equatable, Sendable {
  case notAnObject(String)
  case missing(String)
  case wrongType(String, expected: String)
  case tooLong(String, limit: Int)
  case notJSON(String, JSONSyntaxError)
}

extension StreamEvent {
  /// Ids and keys beyond this are refused: 2,048 of them are remembered for each message.
  static let maximumKeyBytes = 1_024

  /// Reads the `params` of an `event` notification.
  package init(params: JSONValue?) throws(DecodeProblem) {
    guard let params, params.asObject != nil else { throw .notAnObject("params") }
    let envelope = Fields(params, place: "params")
    let type = try envelope.string("type")
    guard let type else { throw .missing("params.type") }
    guard type.utf8.starts(with: "stream.".utf8) else {
      self.init(
        id: ByteText(try envelope.key("id") ?? ""), kind: .foreign, channel: nil, clientMessageNumber: "",
        lane: "")
      return
    }
    guard let text = try envelope.string("data") else { throw .missing("params.data") }
    let document: JSONValue
    do throws(JSONSyntaxError) { document = try JSONReader.read(text) } catch {
      throw .notJSON("params.data", error)
    }
    guard document.asObject != nil else { throw .notAnObject("params.data") }
    let data = Fields(document, place: "data")

    let outerID = try envelope.key("id") ?? ""
    let id = outerID.isEmpty ? try data.key("event_id") ?? "" : outerID
    if id.isEmpty { throw .missing("params.id") }
    let kind = Kind(type)
    let payload = Fields(try data.object("payload") ?? .object([:]), place: "data.payload")
    var channel: ChannelKey?
    if let channelID = try data.key("channel_id"), let channelType = try data.integer("channel_type") {
      channel = ChannelKey(id: ByteText(channelID), type: channelType)
    }
    self.init(
      id: ByteText(id), kind: kind, channel: channel,
      clientMessageNumber: ByteText(try data.key("client_msg_no") ?? ""),
      messageSequence: try data.sequence("message_seq"), lane: ByteText(try data.key("event_key") ?? ""))
    switch kind {
    case .delta:
      textOffset = try data.offset("text_offset")
      if try payload.isText(orAbsent: true) { delta = (try payload.string("delta")).map { Array($0.utf8) } }
    case .snapshot, .close, .cancel, .error, .finish:
      let source =
        try payload.object("snapshot").map { Fields($0, place: "data.payload.snapshot") } ?? payload
      if try source.isText(orAbsent: false) { snapshot = (try source.string("text")).map { Array($0.utf8) } }
    case .open, .unknownStream, .foreign: break
    }
  }
}

extension StreamEvent.Kind {
  /// The kind that an event type on the wire names.
  package init(_ type: String) {
    switch type {
    case "stream.open": self = .open
    case "stream.delta": self = .delta
    case "stream.snapshot": self = .snapshot
    case "stream.close": self = .close
    case "stream.cancel": self = .cancel
    case "stream.error": self = .error
    case "stream.finish": self = .finish
    default: self = type.utf8.starts(with: "stream.".utf8) ? .unknownStream : .foreign
    }
  }
}
