// The client session against a clock that the test moves: every time limit is exact.

import Primitives
import Testing
import WuKongIM

@Suite struct WuKongClientTests {
  /// A client and the clock it lives by; each call returns what is to be done.
  struct Life {
    var client: WuKongClient
    var now = Instant(nanoseconds: 0)

    init(_ settings: WuKongClientSettings = WuKongClientSettings()) {
      client = WuKongClient(
        identity: ConnectRequest(uid: "reader-7", token: "tk", deviceID: "d1"), settings: settings)
    }

    mutating func act(_ body: (inout WuKongClient, Instant, inout [WuKongClient.Action]) -> Void)
      -> [WuKongClient.Action]
    {
      var actions: [WuKongClient.Action] = []
      body(&client, now, &actions)
      return actions
    }

    mutating func pass(_ seconds: Double) -> [WuKongClient.Action] {
      now = now + .seconds(seconds)
      return act { $0.tick($1, &$2) }
    }

    mutating func open() -> [WuKongClient.Action] { act { $0.transportOpened($1, wallMilliseconds: 0, &$2) } }
    mutating func receive(_ text: String) -> [WuKongClient.Action] {
      act { $0.received(Array(text.utf8), $1, &$2) }
    }
    mutating func end() -> [WuKongClient.Action] { act { $0.transportEnded($1, .transport, &$2) } }
    mutating func authenticate(_ id: String) -> [WuKongClient.Action] {
      receive(#"{"jsonrpc":"2.0","id":"\#(id)","result":{"header":{},"reasonCode":1,"nodeId":1}}"#)
    }
  }

  @Test func connectIsTheFirstFrameAndReasonOneAloneIsSuccess() throws {
    var life = Life()
    #expect(life.act { $0.start($1, &$2) } == [.open])

    let first = life.open()

    guard case .send(let bytes) = try #require(first.first) else { return }
    guard case .connect(let id, let request) = try ClientFrame(bytes) else { return }
    #expect(request.uid == "reader-7" && request.token == "tk")
    #expect(life.authenticate(id) == [.online(generation: 1)])
    var other = Life()
    _ = other.act { $0.start($1, &$2) }
    _ = other.open()
    let refused = other.receive(#"{"id":"c1","result":{"reasonCode":0}}"#)
    #expect(refused == [.close(code: 1000), .offline(.refused(.unknown), retryIn: .seconds(1))])
  }

  @Test func delaysDoubleToTheCapAndBeginAnewAfterAuthentication() {
    var life = Life()
    _ = life.act { $0.start($1, &$2) }

    for seconds in [1.0, 2, 4, 8, 16, 30, 30] {
      #expect(life.end() == [.offline(.transport, retryIn: .seconds(seconds))])
      #expect(life.pass(seconds - 0.001).isEmpty)
      #expect(life.pass(0.001) == [.open])
    }
    _ = life.open()
    #expect(life.authenticate("c1") == [.online(generation: 1)])
    #expect(life.end() == [.offline(.transport, retryIn: .seconds(1))])
  }

  @Test func givesUpAfterTheLimitOfAttempts() {
    var settings = WuKongClientSettings()
    settings.maximumAttempts = 2
    var life = Life(settings)
    _ = life.act { $0.start($1, &$2) }
    _ = life.end()
    _ = life.pass(1)
    _ = life.end()
    _ = life.pass(2)

    #expect(life.end() == [.offline(.transport, retryIn: nil), .ended(.gaveUp(attempts: 2, .transport))])
  }

  @Test func pingsEvery25SecondsAndAMissingPongReconnects() {
    var life = Life()
    _ = life.act { $0.start($1, &$2) }
    _ = life.open()
    _ = life.authenticate("c1")

    #expect(life.pass(24.999).isEmpty)
    #expect(life.pass(0.001) == [.send(ClientFrame.ping(id: "p2").bytes)])
    #expect(life.receive(#"{"jsonrpc":"2.0","id":"p2","result":null}"#).isEmpty)
    #expect(life.pass(25) == [.send(ClientFrame.ping(id: "p3").bytes)])
    #expect(life.receive(#"{"jsonrpc":"2.0","id":"p2","result":null}"#).isEmpty)
    #expect(life.pass(9.999).isEmpty)
    #expect(life.pass(0.001) == [.close(code: 1001), .offline(.pongTimeout, retryIn: .seconds(1))])
  }

  @Test func aPeerThatNeverAnswersEndsInATypedLoss() {
    var life = Life()
    _ = life.act { $0.start($1, &$2) }
    #expect(life.pass(30) == [.close(code: 1001), .offline(.connectTimeout, retryIn: .seconds(1))])
    #expect(life.pass(1) == [.open])
    _ = life.open()
    #expect(life.pass(15) == [.close(code: 1001), .offline(.authenticationTimeout, retryIn: .seconds(2))])
  }

  @Test func eachRecvIsAcknowledgedOnceAndEventsNever() throws {
    var life = Life()
    _ = life.act { $0.start($1, &$2) }
    _ = life.open()
    _ = life.authenticate("c1")

    let recv = life.receive(
      #"{"jsonrpc":"2.0","method":"recv","params":{"header":{},"setting":{"stream":true},"messageId":"90071992547","messageSeq":9,"clientMsgNo":"reply-42","timestamp":1790000000,"channelId":"room-42","channelType":2,"fromUid":"author-42","payload":{"type":1,"content":""}}}"#
    )
    let event = life.receive(
      #"{"jsonrpc":"2.0","method":"event","params":{"id":"reply-42:2","type":"stream.delta","timestamp":1790000000123,"data":"{\"channel_id\":\"room-42\",\"channel_type\":2,\"client_msg_no\":\"reply-42\",\"event_key\":\"main\",\"text_offset\":0,\"payload\":{\"kind\":\"text\",\"delta\":\"a\"}}"}}"#
    )

    #expect(recv.count == 2)
    guard case .send(let bytes) = try #require(recv.last) else { return }
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == #"{"jsonrpc":"2.0","method":"recvack","params":{"header":{},"messageId":"90071992547","messageSeq":9}}"#
    )
    #expect(event.count == 1)
  }

  @Test func endingsByTheServer() {
    var wrong = Life()
    _ = wrong.act { $0.start($1, &$2) }
    _ = wrong.open()
    #expect(
      wrong.receive(#"{"jsonrpc":"2.0","id":"c1","error":{"code":2,"message":"auth failed"}}"#) == [
        .close(code: 1000), .ended(.authenticationFailed(code: 2, message: "auth failed")),
      ])
    var kicked = Life()
    _ = kicked.act { $0.start($1, &$2) }
    _ = kicked.open()
    _ = kicked.authenticate("c1")
    #expect(
      kicked.receive(#"{"jsonrpc":"2.0","method":"disconnect","params":{"reasonCode":12,"reason":"kicked"}}"#)
        == [.close(code: 1000), .ended(.kicked(reason: "kicked"))])
    #expect(kicked.client.nextDeadline == nil)
  }

  @Test(arguments: [
    "", "{", "[]", "[{}]", "null", "{}", #"{"id":5,"result":{}}"#,
    #"{"jsonrpc":"1.0","id":"c1","result":{}}"#, #"{"method":"recv","params":{"messageId":7}}"#,
    String(repeating: "[", count: 1_000),
  ])
  func hostileFramesEndTheConnectionWithATypedLoss(_ text: String) {
    var life = Life()
    _ = life.act { $0.start($1, &$2) }
    _ = life.open()
    _ = life.authenticate("c1")

    let actions = life.receive(text)

    #expect(actions.first == .close(code: 1002))
    guard case .offline(.protocolError, retryIn: Nanoseconds.seconds(1)?)? = actions.last else {
      Issue.record("\(actions)")
      return
    }
  }

  @Test func anUndecodableEventIsCountedAndTheConnectionStays() {
    var life = Life()
    _ = life.act { $0.start($1, &$2) }
    _ = life.open()
    _ = life.authenticate("c1")

    for frame in [
      #"{"method":"event","params":{"id":"1","type":"stream.delta","data":"{"}}"#,
      #"{"method":"event","params":{"id":"1","type":"stream.delta","data":"\ud83d"}}"#,
    ] {
      let actions = life.receive(frame)
      guard case .undecodable? = actions.first else {
        Issue.record("\(actions)")
        continue
      }
    }
    #expect(life.receive(#"{"method":"later","params":{}}"#).isEmpty)
    #expect(life.client.state == .online)
  }
}
