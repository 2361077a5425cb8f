// One reader of the WuKongIM workload: its connection, its session machine, its projection, and what is known to be
// true, against which every text shown is held.

internal import EventLoops
internal import Primitives
internal import Recording
internal import Transports
internal import WuKongIM

/// What the replies say, known to all readers before they arrive.
struct WuKongTruth {
  /// By reply: the whole text, UTF-8, cut at the projection's bound.
  var texts: [[UInt8]] = []
  var isTruncated: [Bool] = []
  /// By channel: its replies.
  var replies: [[Int]] = []
  /// By reply and event number: when the request that made it went out; −1 before that.
  var sentAt: [[Int64]] = []
}

final class WuKongReader {
  enum Phase { case none, connecting, upgrading, open }

  let number: Int
  let uid: String
  let channel: Int
  var client: WuKongClient
  var timeline: StreamTimeline
  let record: SessionRecordBox

  var phase = Phase.none
  var connection = StreamChannel.closed
  var epoch: UInt64 = 0
  var key = ""
  var head: [UInt8] = []
  var webSocket: WebSocketSession?
  var output: [UInt8] = []
  var sent = 0
  var waitsForWriting = false

  /// Event counts at which this reader is dropped, descending.
  var kills: [Int] = []
  var eventsSeen = 0
  var dialledAt = Instant(nanoseconds: 0)
  var onlineAt = Instant(nanoseconds: 0)
  var lostAt: Instant?
  var disconnect: DisconnectRecord?
  /// Why its last dial failed; nil again once it is online.
  var failure: SessionErrorKind?
  /// By reply of the channel: bytes of the row's text that were compared with the truth.
  var compared: [Int: Int] = [:]
  var verified: Set<Int> = []
  var wrongTexts = 0
  var isComplete = false

  init(
    number: Int, uid: String, token: String, channel: Int, key: ChannelKey, rules: TimelineRules,
    settings: WuKongClientSettings
  ) {
    self.number = number
    self.uid = uid
    self.channel = channel
    client = WuKongClient(
      identity: ConnectRequest(uid: uid, token: token, deviceID: "ssebench-\(number)"), settings: settings)
    timeline = StreamTimeline(channel: key, rules: rules)
    record = SessionRecordBox()
  }

  var pendingCount: Int { output.count - sent + (webSocket?.pendingOutputCount ?? 0) }

  /// Writes what it can; false when the connection is gone.
  func flush() -> Bool {
    if let webSocket, webSocket.hasOutput { output.append(contentsOf: webSocket.takeOutput()) }
    while sent < output.count {
      let outcome = output.withUnsafeBufferPointer {
        connection.transmit(UnsafeBufferPointer(rebasing: $0[sent...]))
      }
      switch outcome {
      case .bytes(let count): sent += count
      case .wouldBlock: return true
      case .ended: return false
      }
    }
    output.removeAll(keepingCapacity: true)
    sent = 0
    return true
  }

  /// Holds a reply's row against the truth: a prefix while streaming, the whole when done. `isGrowth` says that text
  /// was only added, so that only the new part is compared.
  func verify(reply: Int, _ truth: WuKongTruth, isGrowth: Bool) {
    guard let row = timeline.row(ByteText("reply-\(reply)")) else { return }
    let whole = truth.texts[reply]
    let text = row.text
    let from = isGrowth ? min(compared[reply] ?? 0, text.count) : 0
    if text.count > whole.count || !text[from...].elementsEqual(whole[from..<text.count]) {
      wrongTexts += 1
    } else {
      compared[reply] = text.count
    }
    if row.isFinished {
      if row.status == .done && text.count == whole.count && row.isTruncated == truth.isTruncated[reply] {
        verified.insert(reply)
      }
    } else {
      verified.remove(reply)
    }
  }
}

/// The reader's row of `sessions.csv` while it grows.
final class SessionRecordBox {
  var value = SessionRecord()
}
