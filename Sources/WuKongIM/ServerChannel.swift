// One channel in store: members, messages in order, and the event streams of those.

package struct StoredMessage: Sendable {
  package var id: Int64
  /// 0 where it is not persisted.
  package var sequence: Int64
  package var clientMessageNumber: ByteText
  package var sender: ByteText
  /// Bit 1: a stream.
  package var setting: Int
  /// Seconds since 1970.
  package var timestamp: Int
  package var payload: [UInt8]
  package var isPersisted = true
  package var isSyncOnce = false

  var isStream: Bool { setting & BaseMessage.streamSetting != 0 }
}

struct ServerChannel: Sendable {
  var members: [ByteText] = []
  private var memberSet: Set<ByteText> = []
  /// Ascending by sequence.
  private(set) var messages: [StoredMessage] = []
  private var places: [ByteText: Int] = [:]
  var streams: [ByteText: MessageStream] = [:]

  func isMember(_ uid: ByteText) -> Bool { memberSet.contains(uid) }

  mutating func add(_ uids: [ByteText]) {
    for uid in uids where memberSet.insert(uid).inserted { members.append(uid) }
  }

  mutating func removeMembers() {
    members = []
    memberSet = []
  }

  func message(_ number: ByteText) -> StoredMessage? { places[number].map { messages[$0] } }

  /// Stores a message and gives it the next sequence.
  mutating func append(_ message: StoredMessage) -> StoredMessage {
    var message = message
    message.sequence = Int64(messages.count) + 1
    if !message.clientMessageNumber.isEmpty { places[message.clientMessageNumber] = messages.count }
    messages.append(message)
    return message
  }
}
