// Frames of both directions: round trips, what is refused, and the fast way for events against the strict one.

import Primitives
import Testing
import WuKongIM

@Suite struct RPCFrameTests {
  static let event =
    #"{"jsonrpc":"2.0","method":"event","params":{"id":"reply-42:2","type":"stream.delta","timestamp":1790000000123,"data":"{\"channel_id\":\"room-42\",\"channel_type\":2,\"from_uid\":\"author-42\",\"message_id\":\"90071992547\",\"message_seq\":\"9\",\"client_msg_no\":\"reply-42\",\"event_id\":\"reply-42:2\",\"event_key\":\"main\",\"event_type\":\"stream.delta\",\"timestamp\":1790000000123,\"text_offset\":6,\"payload\":{\"kind\":\"text\",\"delta\":\"é\\n\\\"🙂\\ud83d\\ude42\"}}"}}"#

  @Test func clientFramesReadBack() throws {
    let frames: [ClientFrame] = [
      .connect(
        id: "c1", ConnectRequest(uid: "é", token: "t", deviceID: "d", deviceFlag: .pc, clientTimestamp: 5)),
      .ping(id: "p1"),
      .send(
        id: "s1",
        SendRequest(
          channel: ChannelKey(id: "room", type: 2), clientMessageNumber: "m", isStream: true,
          payload: Array(#"{"a":1}"#.utf8))),
      .send(
        id: "s2",
        SendRequest(
          channel: ChannelKey(id: "room", type: 2), clientMessageNumber: "m", isStream: false,
          payload: [0, 255, 7])),
      .receiveAcknowledgement(messageID: "90071992547", messageSequence: 9),
      .disconnect(.kicked, reason: "bye"),
    ]

    for frame in frames { #expect(try ClientFrame(frame.bytes) == frame) }
  }

  @Test(arguments: [
    (#"{"type":1,"content":""}"#, #"{"type":1,"content":""}"#), (#""{\"a\":2}""#, #"{"a":2}"#),
    (#""Zm9v""#, "foo"), ("null", ""),
  ])
  func payloadsOfSend(_ payload: String, _ stored: String) throws {
    let frame = try ClientFrame(
      Array(
        #"{"id":"s","method":"send","params":{"channelId":"r","channelType":2,"payload":\#(payload)}}"#.utf8))

    guard case .send(_, let request) = frame else { return }
    #expect(String(decoding: request.payload, as: UTF8.self) == stored)
  }

  @Test(arguments: [
    #"{"id":"s","method":"send","params":{"channelId":"r","channelType":2,"payload":5}}"#,
    #"{"id":"s","method":"send","params":{"channelType":2}}"#,
    #"{"method":"ping"}"#, #"{"id":{},"method":"ping"}"#,
    #"{"id":"s","method":"send","params":{"channelId":"r","channelType":"2"}}"#,
    #"{"method":"recvack","params":{"messageId":90071992547,"messageSeq":9}}"#,
    #"{"id":"s","method":"send","params":[]}"#,
  ])
  func badClientFramesAreTypedErrors(_ text: String) {
    #expect(throws: RPCProblem.self) { try ClientFrame(Array(text.utf8)) }
  }

  @Test func aFrameOverTheLimitIsRefusedUnread() {
    let text = [UInt8](repeating: 0x20, count: (1 << 20) + 1)

    #expect(throws: RPCProblem.tooBig(limit: 1 << 20)) { try RPCEnvelope(text) }
    #expect(throws: RPCProblem.tooBig(limit: 1 << 20)) { try ServerFrame(text) }
  }

  @Test func anEventIsReadTheSameBothWays() throws {
    let bytes = Array(Self.event.utf8)

    let fast = try ServerFrame(bytes)

    #expect(fast == (try ServerFrame(strictly: bytes)))
    guard case .event(let event) = fast else { return }
    #expect(event.delta == Array("é\n\"🙂🙂".utf8) && event.textOffset == 6 && event.messageSequence == 9)
  }

  /// 200,000 broken and altered frames: the fast way never says anything else than the strict one.
  @Test func theFastWayNeverDiffersFromTheStrictOne() {
    let seed: UInt64 = 31
    var random = SeededRandom(seed: seed)
    func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
    let finish =
      #"{"jsonrpc":"2.0","method":"event","params":{"id":"a:1","type":"stream.finish","timestamp":1,"data":"{\"channel_id\":\"r\",\"channel_type\":2,\"message_seq\":\"9\",\"client_msg_no\":\"a\",\"event_key\":\"__finish__\",\"payload\":{\"snapshot\":{\"kind\":\"text\",\"text\":\"ab\"},\"end_reason\":0}}"}}"#
    let open =
      #"{"jsonrpc":"2.0","method":"event","params":{"id":"a:1","type":"stream.open","timestamp":1,"data":"{\"channel_id\":\"r\",\"channel_type\":2,\"client_msg_no\":\"a\",\"event_key\":\"main\",\"payload\":{}}"}}"#
    let seeds = [Self.event, finish, open].map { Array($0.utf8) }
    let splices =
      [
        "\\\"", "\\", "\"", "0", "-", "9999999999999999999", "1e3", ".5", "{", "}", "{}", "null", ",", ":",
        "é", "\\\\ud83d", "\\u0000", "\u{0}", "true", " ", "text", "stream.", "\\\"kind\\\":\\\"text\\\",",
      ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xED, 0xA0, 0x80]]
    var fastReads = 0

    for _ in 0..<200_000 {
      var bytes = seeds[below(seeds.count)]
      for _ in 0..<below(3) {
        let at = below(bytes.count)
        switch below(4) {
        case 0: bytes.remove(at: at)
        case 1: bytes.insert(contentsOf: splices[below(splices.count)], at: at)
        case 2:
          bytes.replaceSubrange(at..<min(bytes.count, at + below(12)), with: splices[below(splices.count)])
        default: bytes[at] = UInt8(truncatingIfNeeded: random.next())
        }
        if bytes.isEmpty { bytes = [0x7B] }
      }
      let fast = try? ServerFrame(bytes)
      let strict = try? ServerFrame(strictly: bytes)
      if fast != strict {
        Issue.record(
          "seed \(seed): \(String(decoding: bytes, as: UTF8.self)) read as \(String(describing: fast)), strictly \(String(describing: strict))"
        )
        return
      }
      if case .event? = fast { fastReads += 1 }
    }
    #expect(fastReads > 10_000)
  }
}
