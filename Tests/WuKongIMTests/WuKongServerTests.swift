// The server model by its HTTP side and one connection: answers word for word, offsets, idempotency, visibility.

import Primitives
import Testing
import WuKongIM

@Suite struct WuKongServerTests {
  /// A server with reader-7 and author-42 in room-42 and a stream message reply-42 in it.
  static func make(_ settings: WuKongServerSettings = WuKongServerSettings(), base: Bool = true)
    -> WuKongServer
  {
    let server = WuKongServer(settings: settings)
    _ = post(server, "/user/token", #"{"uid":"reader-7","token":"tk","device_flag":0,"device_level":1}"#)
    _ = post(server, "/user/token", #"{"uid":"author-42","token":"ta","device_flag":0,"device_level":1}"#)
    _ = post(
      server, "/channel",
      #"{"channel_id":"room-42","channel_type":2,"reset":1,"subscribers":["reader-7","author-42"]}"#)
    if base {
      _ = post(
        server, "/message/send",
        #"{"from_uid":"author-42","channel_id":"room-42","channel_type":2,"client_msg_no":"reply-42","setting":2,"payload":"eyJ0eXBlIjoxLCJjb250ZW50IjoiIn0="}"#
      )
    }
    _ = server.takeDeliveries()
    return server
  }

  static func post(_ server: WuKongServer, _ path: String, _ body: String) -> HTTPAnswer {
    server.handle(method: "POST", target: path, body: Array(body.utf8), wallMilliseconds: 1_790_000_000_123)
  }

  static func event(
    _ server: WuKongServer, _ id: String, _ type: String, _ payload: String = "{}", lane: String = "main",
    visibility: String = "public", message: String = "reply-42", from: String = "author-42"
  ) -> HTTPAnswer {
    post(
      server, "/message/event",
      #"{"channel_id":"room-42","channel_type":2,"from_uid":"\#(from)","client_msg_no":"\#(message)","event_id":"\#(id)","event_key":"\#(lane)","event_type":"\#(type)","visibility":"\#(visibility)","payload":\#(payload)}"#
    )
  }

  static func delta(_ text: String) -> String {
    JSONValue.object(["kind": .string("text"), "delta": .string(text)]).text()
  }
  static func snapshot(_ text: String) -> String {
    JSONValue.object(["snapshot": .object(["kind": .string("text"), "text": .string(text)])]).text()
  }

  static func history(_ server: WuKongServer, _ mode: String = "full") -> JSONValue {
    post(
      server, "/channel/messagesync",
      #"{"login_uid":"reader-7","channel_id":"room-42","channel_type":2,"limit":40,"event_summary_mode":"\#(mode)"}"#
    ).body
  }

  static func events(_ server: WuKongServer) throws -> [StreamEvent] {
    try server.takeDeliveries().compactMap { delivery in
      guard case .event(let event) = try ServerFrame(delivery.bytes) else { return nil }
      return event
    }
  }

  @Test func aReplyFromSendToHistory() throws {
    let server = Self.make()

    let first = Self.event(server, "reply-42:1", "stream.open")
    let second = Self.event(server, "reply-42:2", " Stream.Delta ", Self.delta("你好🙂"))
    let third = Self.event(server, "reply-42:3", "stream.finish", Self.snapshot("你好🙂"))

    #expect(first.status == 200)
    #expect(
      second.body.text()
        == #"{"status":200,"data":{"client_msg_no":"reply-42","event_key":"main","event_id":"reply-42:2","msg_event_seq":0,"stream_status":"open","channel_id":"room-42","channel_type":2,"from_uid":"author-42"}}"#
    )
    #expect(third.body["data"]?["event_key"] == .string("__finish__"))
    #expect(third.body["data"]?["msg_event_seq"] == .integer(2))
    #expect(third.body["data"]?["stream_status"] == .string("closed"))
    let row = Self.history(server)["messages"]?[0]
    #expect(row?["payload"] == .string("eyJ0eXBlIjoxLCJjb250ZW50IjoiIn0="))
    #expect(row?["stream_data"] == .string("5L2g5aW98J+Zgg=="))
    #expect(
      row?["event_meta"]?.text()
        == #"{"has_events":true,"completed":true,"event_version":1,"last_msg_event_seq":1,"event_count":1,"events":[{"event_key":"main","status":"closed","last_msg_event_seq":1,"snapshot":{"kind":"text","text":"你好🙂"}}]}"#
    )
    #expect(row?["event_sync_hint"]?.text() == #"{"client_msg_no":"reply-42","from_msg_event_seq":0}"#)
    let events = try Self.events(server)
    #expect(events.map(\.kind) == [.open, .delta, .finish])
    #expect(events[1].textOffset == 0 && events[1].messageSequence == 1 && events[1].lane == "main")
    #expect(events[2].snapshot == Array("你好🙂".utf8))
  }

  @Test func offsetsAreBytesOfTheTextBefore() throws {
    let server = Self.make()
    var offset = 0

    for (index, text) in ["a", "é", "你好", "🙂", "e\u{301}", "", "👩‍👩‍👧", "z"].enumerated() {
      _ = Self.event(server, "d\(index)", "stream.delta", Self.delta(text))
      #expect(try Self.events(server).map(\.textOffset) == [offset], "\(text)")
      offset += text.utf8.count
    }
  }

  @Test func halfPairsAndBadUTF8CountAsReplacementCharacters() throws {
    let server = Self.make()

    _ = Self.event(server, "1", "stream.delta", #"{"kind":"text","delta":"a\ud83d"}"#)
    _ = Self.event(server, "2", "stream.delta", Self.delta("b"))

    let events = try Self.events(server)
    #expect(events[0].delta == Array("a\u{FFFD}".utf8))
    #expect(events[1].textOffset == 4)
  }

  @Test func aRepeatGivesTheFirstResultAndIsBroadcastWithItsNewPayload() throws {
    let server = Self.make()
    _ = Self.event(server, "1", "stream.delta", Self.delta("ab"))
    let first = Self.event(server, "2", "stream.delta", Self.delta("cd"))
    _ = try Self.events(server)

    let again = Self.event(server, "2", "stream.delta", Self.delta("zz"))

    #expect(again == first)
    let events = try Self.events(server)
    #expect(events.map(\.delta) == [Array("zz".utf8)])
    #expect(events.map(\.textOffset) == [2])
    _ = Self.event(server, "3", "stream.finish", Self.snapshot("abcd"))
    _ = try Self.events(server)
    let finish = Self.event(server, "3", "stream.finish", Self.snapshot("other"))
    #expect(finish.body["data"]?["msg_event_seq"] == .integer(2))
    #expect(try Self.events(server).isEmpty)
  }

  @Test func terminalLanesAndFinishedMessagesAnswerWithTheirState() throws {
    let server = Self.make()
    _ = Self.event(server, "1", "stream.delta", Self.delta("ab"))
    _ = Self.event(server, "2", "stream.cancel", #"{"end_reason":2}"#)
    let events = try Self.events(server)
    #expect(events.last?.snapshot == Array("ab".utf8))

    let late = Self.event(server, "3", "stream.delta", Self.delta("zz"))

    #expect(late.status == 200)
    #expect(late.body["data"]?["stream_status"] == .string("cancelled"))
    #expect(late.body["data"]?["msg_event_seq"] == .integer(1))
    #expect(try Self.events(server).isEmpty)
    // After a cancel no lane is open: a finish must carry a snapshot.
    #expect(
      Self.event(server, "4", "stream.finish").body
        == .object(["msg": .string("message event stream cache miss"), "status": .integer(400)]))
    let finish = Self.event(server, "5", "stream.finish", Self.snapshot("abc"))
    #expect(finish.body["data"]?["msg_event_seq"] == .integer(2))
    let after = Self.event(server, "6", "stream.delta", Self.delta("zz"))
    #expect(after.status == 200 && after.body["data"]?["event_key"] == .string("__finish__"))
    let meta = Self.history(server)["messages"]?[0]?["event_meta"]
    #expect(meta?["completed"] == .bool(true))
    #expect(meta?["events"]?[0]?["status"] == .string("cancelled"))
    #expect(meta?["events"]?[0]?["snapshot"]?["text"] == .string("ab"))
  }

  @Test func aLeaderChangeLosesOpenText() throws {
    let server = Self.make()
    _ = Self.event(server, "1", "stream.delta", Self.delta("ab"))

    server.changeLeader()

    #expect(Self.history(server)["messages"]?[0]?["event_meta"]?["events"] == nil)
    #expect(Self.event(server, "9", "stream.finish").status == 400)
    _ = try Self.events(server)
    _ = Self.event(server, "1", "stream.delta", Self.delta("ab"))
    #expect(try Self.events(server).map(\.textOffset) == [0])
    server.changeLeader()
    // A lone finish with a snapshot is accepted, and its text is stored nowhere.
    #expect(Self.event(server, "10", "stream.finish", Self.snapshot("ab")).status == 200)
    #expect(Self.history(server)["messages"]?[0]?["stream_data"] == nil)
    #expect(Self.history(server)["messages"]?[0]?["event_meta"]?["completed"] == .bool(true))
  }

  @Test func snapshotThenFinishKeepsTheTextAfterALostCache() {
    let server = Self.make()
    _ = Self.event(server, "1", "stream.delta", Self.delta("ab"))
    server.changeLeader()

    _ = Self.event(server, "2", "stream.snapshot", #"{"kind":"text","text":"abcd"}"#)
    _ = Self.event(server, "3", "stream.finish", Self.snapshot("abcd"))

    #expect(
      Self.history(server)["messages"]?[0]?["event_meta"]?["events"]?[0]?["snapshot"]?["text"]
        == .string("abcd"))
  }

  @Test func privateEventsAndLanesReachNobodyButStandInTheHistory() throws {
    let server = Self.make()

    _ = Self.event(server, "1", "stream.delta", Self.delta("xx"), visibility: "private")
    _ = Self.event(server, "2", "stream.delta", Self.delta("t"), lane: "tool", visibility: "private")
    _ = Self.event(server, "3", "stream.delta", Self.delta("t"), lane: "tool")

    #expect(try Self.events(server).isEmpty)
    let lanes = Self.history(server)["messages"]?[0]?["event_meta"]?["events"]?.asArray ?? []
    #expect(lanes.compactMap { $0["event_key"]?.asString } == ["main", "tool"])
  }

  @Test func aPrivateEventInMainMovesLaterOffsets() throws {
    let server = Self.make()
    _ = Self.event(server, "1", "stream.delta", Self.delta("ab"))
    _ = Self.event(server, "2", "stream.delta", Self.delta("xx"), visibility: "private")
    _ = Self.event(server, "3", "stream.delta", Self.delta("cd"))

    #expect(try Self.events(server).map(\.textOffset) == [0, 4])
  }

  @Test func thePublicNeedsAStreamBaseOfTheSameSender() {
    let server = Self.make(base: false)
    let wanted = HTTPAnswer(
      400, .object(["msg": .string("committed stream base message required"), "status": .integer(400)]))

    #expect(Self.event(server, "1", "stream.delta", Self.delta("a")) == wanted)
    for (setting, header) in [(0, "{}"), (2, #"{"no_persist":1}"#), (2, #"{"sync_once":1}"#)] {
      _ = Self.post(
        server, "/message/send",
        #"{"from_uid":"author-42","channel_id":"room-42","channel_type":2,"client_msg_no":"m\#(setting)\#(header.count)","header":\#(header),"setting":\#(setting),"payload":""}"#
      )
      #expect(
        Self.event(server, "1", "stream.delta", Self.delta("a"), message: "m\(setting)\(header.count)")
          == wanted)
    }
    #expect(Self.event(Self.make(), "1", "stream.delta", Self.delta("a"), from: "reader-7") == wanted)
  }

  @Test func aFifthFanOutIsRefusedAndMayBeRetried() {
    let server = Self.make()
    for _ in 0..<4 { server.beginFanOut() }

    let busy = Self.event(server, "1", "stream.delta", Self.delta("a"))
    server.endFanOut()
    let retried = Self.event(server, "1", "stream.delta", Self.delta("a"))

    #expect(
      busy
        == HTTPAnswer(
          400,
          .object([
            "msg": .string("stream event admission busy; retry the same event_id"), "status": .integer(400),
          ])))
    #expect(retried.status == 200)
    #expect(server.counts.busy == 1)
  }

  @Test func aFullCacheRefusesNewStreams() {
    var settings = WuKongServerSettings()
    settings.openStreams = 1
    let server = Self.make(settings)
    _ = Self.post(
      server, "/message/send",
      #"{"from_uid":"author-42","channel_id":"room-42","channel_type":2,"client_msg_no":"second","setting":2,"payload":""}"#
    )
    _ = Self.event(server, "1", "stream.delta", Self.delta("a"))

    #expect(Self.event(server, "1", "stream.delta", Self.delta("a"), message: "second").status == 400)
    _ = Self.event(server, "2", "stream.finish")
    #expect(Self.event(server, "1", "stream.delta", Self.delta("a"), message: "second").status == 200)
  }

  @Test func summaryModes() {
    let server = Self.make()
    _ = Self.event(server, "1", "stream.delta", Self.delta("a"))
    func meta(_ mode: String) -> JSONValue? { Self.history(server, mode)["messages"]?[0]?["event_meta"] }

    #expect(meta("full")?["events"]?[0]?["snapshot"] != nil)
    #expect(
      meta("basic")?.text()
        == #"{"has_events":true,"event_count":1,"open_event_count":1,"events":[{"event_key":"main","status":"open"}]}"#
    )
    #expect(meta("") == nil)
    let byFlag = Self.post(
      server, "/channel/messagesync",
      #"{"login_uid":"reader-7","channel_id":"room-42","channel_type":2,"include_event_meta":1}"#)
    #expect(byFlag.body["messages"]?[0]?["event_meta"]?["events"]?[0]?["snapshot"] != nil)
    #expect(meta("all") == nil)
  }

  @Test func pagesOfTheHistory() {
    let server = Self.make(base: false)
    for number in 1...10 {
      _ = Self.post(
        server, "/message/send",
        #"{"from_uid":"author-42","channel_id":"room-42","channel_type":2,"client_msg_no":"m\#(number)","setting":0,"payload":""}"#
      )
    }
    func page(_ rest: String) -> String {
      let body = Self.post(
        server, "/channel/messagesync",
        #"{"login_uid":"reader-7","channel_id":"room-42","channel_type":2,\#(rest)}"#
      ).body
      let numbers = body["messages"]?.asArray?.compactMap { $0["message_seq"]?.asInt }.map(String.init) ?? []
      return numbers.joined(separator: ",") + " more \(body["more"]?.asInt ?? -1)"
    }

    #expect(page(#""limit":3"#) == "8,9,10 more 1")
    #expect(page(#""limit":3,"start_message_seq":5"#) == "3,4,5 more 1")
    #expect(page(#""limit":100,"start_message_seq":5,"end_message_seq":2"#) == "3,4,5 more 0")
    #expect(page(#""limit":3,"start_message_seq":5,"pull_mode":1"#) == "5,6,7 more 1")
    #expect(page(#""limit":9,"start_message_seq":5,"end_message_seq":8,"pull_mode":1"#) == "5,6,7 more 0")
    #expect(page(#""limit":9,"start_message_seq":50,"pull_mode":1"#) == " more 0")
  }

  @Test func onlyMembersReadAHistory() {
    let answer = Self.post(
      Self.make(), "/channel/messagesync",
      #"{"login_uid":"stranger","channel_id":"room-42","channel_type":2}"#)

    #expect(answer.status == 400)
  }

  @Test func peopleSeeEachOtherAsTheChannel() throws {
    let server = Self.make()
    _ = Self.post(
      server, "/message/send",
      #"{"from_uid":"author-42","channel_id":"reader-7","channel_type":1,"client_msg_no":"p","setting":2,"payload":""}"#
    )
    _ = Self.post(
      server, "/message/event",
      #"{"channel_id":"reader-7","channel_type":1,"from_uid":"author-42","client_msg_no":"p","event_id":"1","event_type":"stream.delta","payload":{"kind":"text","delta":"a"}}"#
    )

    let deliveries = server.takeDeliveries()

    var seen: [String: String] = [:]
    for delivery in deliveries {
      switch try ServerFrame(delivery.bytes) {
      case .event(let event): seen["event to \(delivery.receivers[0])"] = event.channel?.id.string
      case .receive(let base): seen["base to \(delivery.receivers[0])"] = base.channel?.id.string
      default: break
      }
    }
    #expect(
      seen == [
        "event to reader-7": "author-42", "event to author-42": "reader-7", "base to reader-7": "author-42",
        "base to author-42": "reader-7",
      ])
    let page = Self.post(
      server, "/channel/messagesync",
      #"{"login_uid":"reader-7","channel_id":"author-42","channel_type":1,"event_summary_mode":"full"}"#)
    #expect(page.body["messages"]?.asArray?.count == 1)
  }

  @Test(arguments: [
    ("/message/event", "{}"), ("/message/event", "[]"), ("/message/event", "{"), ("/message/send", "{}"),
    ("/channel", "{}"),
    ("/user/token", #"{"uid":5}"#), ("/channel/messagesync", #"{"login_uid":[]}"#),
    ("/channel/messagesyncbatch", "{}"),
    (
      "/message/event",
      #"{"channel_id":"room-42","channel_type":2,"client_msg_no":"reply-42","event_id":"1","event_type":"stream.later"}"#
    ),
    (
      "/message/event",
      #"{"channel_id":"room-42","channel_type":2,"client_msg_no":"reply-42","event_id":"1","event_type":"stream.open","headers":{}}"#
    ),
  ])
  func badRequestsAreA400WithAMessage(_ path: String, _ body: String) {
    let answer = Self.post(Self.make(), path, body)

    #expect(answer.status == 400)
    #expect(answer.body["status"] == .integer(400))
    #expect(answer.body["msg"]?.asString?.isEmpty == false)
  }

  @Test func eventsyncIsNotRegistered() {
    #expect(Self.post(Self.make(), "/message/eventsync", "{}").status == 404)
  }

  // MARK: One connection

  static func connection(_ frames: [String], server: WuKongServer = make()) -> [ServerConnection.Action] {
    var connection = ServerConnection(Instant(nanoseconds: 0))
    var actions: [ServerConnection.Action] = []
    for frame in frames {
      connection.received(
        Array(frame.utf8), Instant(nanoseconds: 1), wallMilliseconds: 1_790_000_000_000, server: server,
        &actions)
    }
    return actions
  }

  static let connect =
    #"{"jsonrpc":"2.0","id":"c1","method":"connect","params":{"uid":"reader-7","token":"tk","deviceId":"d1","deviceFlag":0,"clientTimestamp":1790000000012}}"#

  @Test func connectPingSendAcknowledge() throws {
    let server = Self.make()

    let actions = Self.connection(
      [
        Self.connect, #"{"id":"p1","method":"ping","params":{}}"#,
        #"{"jsonrpc":"2.0","id":"s1","method":"send","params":{"header":{},"setting":{"stream":true},"clientMsgNo":"mine","channelId":"room-42","channelType":2,"payload":{"type":1,"content":""}}}"#,
        #"{"jsonrpc":"2.0","method":"recvack","params":{"header":{},"messageId":"90071992547","messageSeq":1}}"#,
      ], server: server)

    let sent = actions.compactMap {
      if case .send(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
    #expect(sent.count == 3)
    let result = try JSONReader.read(sent[0])
    #expect(result["result"]?["reasonCode"] == .integer(1) && result["result"]?["reason_code"] == .integer(1))
    #expect(result["result"]?["timeDiff"] == .integer(-12))
    #expect(sent[1] == #"{"jsonrpc":"2.0","id":"p1","result":null}"#)
    let answer = try JSONReader.read(sent[2])["result"]
    #expect(
      answer?["messageId"]?.asString != nil && answer?["messageSeq"] == .integer(2)
        && answer?["reasonCode"] == .integer(1))
    #expect(server.acknowledgementsByUID["reader-7"] == 1)
    let recv = try #require(server.takeDeliveries().first)
    let params = try JSONReader.read(recv.bytes)["params"]
    #expect(params?["header"] != nil && params?["payload"]?.text() == #"{"type":1,"content":""}"#)
    #expect(params?["setting"]?["stream"] == .bool(true))
  }

  @Test(arguments: [
    #"{"id":"p1","method":"ping"}"#, #"{"id":1,"method":"connect","params":{}}"#, "[]", "{", "",
    #"{"id":"c1","method":"teleport"}"#,
    #"{"method":"connect","params":{"uid":"reader-7","token":"tk"}}"#,
    #"{"id":"c1","method":"connect","params":{"uid":"reader-7","token":"wrong"}}"#,
    #"{"id":"c1","method":"connect","params":{"uid":7,"token":"tk"}}"#, #"{"id":"c1","result":{}}"#,
  ])
  func badFirstFramesGetAnErrorAndAClose(_ frame: String) throws {
    let actions = Self.connection([frame])

    #expect(actions.count == 2)
    #expect(actions.last == .close(code: 1008))
    guard case .send(let bytes) = actions[0] else { return }
    #expect(try JSONReader.read(bytes)["error"]?["code"]?.asInt != nil)
  }

  @Test func connectMustComeWithinTwoSeconds() {
    var connection = ServerConnection(Instant(nanoseconds: 0))
    var actions: [ServerConnection.Action] = []

    connection.tick(Instant(nanoseconds: 1_999_999_999), &actions)
    #expect(actions.isEmpty)
    connection.tick(Instant(nanoseconds: 2_000_000_000), &actions)

    #expect(actions == [.close(code: 1008)])
  }
}
