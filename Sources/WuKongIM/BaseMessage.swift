// The parameters of a `recv` notification, as far as the projection and the acknowledgement need them.

package import Primitives

/// A persisted message that was delivered live.
package struct BaseMessage: Equatable, Sendable {
  /// Always a string on the wire; it goes back as it came.
  package var messageID: ByteText
  package var messageSequence: Int64?
  package var clientMessageNumber: ByteText
  package var channel: ChannelKey?
  /// Whether a stream of events belongs to it.
  package var isStream: Bool

  package init(
    messageID: ByteText, messageSequence: Int64?, clientMessageNumber: ByteText, channel: ChannelKey?,
    isStream: Bool
  ) {
    self.messageID = messageID
    self.messageSequence = messageSequence
    self.clientMessageNumber = clientMessageNumber
    self.channel = channel
    self.isStream = isStream
  }

  /// Bit 1 of a setting in HTTP answers: the message is a stream.
  package static let streamSetting = 2

  /// Reads the `params` of a `recv` notification. `setting` is an object, or the number that HTTP uses.
  package init(params: JSONValue?) throws(DecodeProblem) {
    guard let params, params.asObject != nil else { throw .notAnObject("params") }
    let fields = Fields(params, place: "params")
    var channel: ChannelKey?
    if let id = try fields.key("channelId"), let type = try fields.integer("channelType") {
      channel = ChannelKey(id: ByteText(id), type: type)
    }
    let isStream: Bool
    if let bits = params["setting"]?.asInt {
      isStream = bits & Self.streamSetting != 0
    } else {
      let setting = try fields.object("setting")
      isStream = try setting.map { Fields($0, place: "params.setting") }?.bool("stream") ?? false
    }
    self.init(
      messageID: ByteText(try fields.key("messageId") ?? ""),
      messageSequence: try fields.sequence("messageSeq"),
      clientMessageNumber: ByteText(try fields.key("clientMsgNo") ?? ""), channel: channel, isStream: isStream
    )
  }
}
