// A right producer against the server model: order, ids that stay, and what it does after a lost cache.

import Primitives
import Testing
import WuKongIM

@Suite struct ReplyProducerTests {
  static func make(_ deltas: [String] = ["你", "好🙂", "!"]) -> (ReplyProducer, WuKongServer) {
    (
      ReplyProducer(
        channel: ChannelKey(id: "room-42", type: 2), sender: "author-42", clientMessageNumber: "reply-42",
        deltas: deltas),
      WuKongServerTests.make(base: false)
    )
  }

  static func post(_ producer: inout ReplyProducer, _ server: WuKongServer) -> ReplyProducer.Next {
    let request = producer.request
    let answer = server.handle(method: "POST", target: request.path, body: request.body, wallMilliseconds: 1)
    return producer.answered(status: answer.status, body: Array(answer.body.text().utf8))
  }

  @Test func baseOpenDeltasSnapshotFinish() throws {
    var (producer, server) = Self.make()
    var kinds: [ReplyProducer.Request.Kind] = []

    repeat { kinds.append(producer.request.kind) } while Self.post(&producer, server) == .proceed

    #expect(kinds == [.base, .open, .delta(0), .delta(1), .delta(2), .snapshot, .finish])
    let row = WuKongServerTests.history(server)["messages"]?[0]
    #expect(row?["event_meta"]?["events"]?[0]?["snapshot"]?["text"] == .string("你好🙂!"))
  }

  @Test func aBusyServerGetsTheSameBytesAgain() {
    var (producer, server) = Self.make()
    _ = Self.post(&producer, server)
    let first = producer.request
    for _ in 0..<4 { server.beginFanOut() }

    let next = Self.post(&producer, server)

    #expect(next == .retry(after: .milliseconds(5)))
    #expect(producer.request == first)
    #expect(producer.unanswered() == .retry(after: .milliseconds(10)))
    for _ in 0..<4 { server.endFanOut() }
    #expect(Self.post(&producer, server) == .proceed)
  }

  @Test func aCacheLostAtAnyPointLosesNoText() {
    for lost in 2...6 {
      var (producer, server) = Self.make()
      var step = 0
      var next = ReplyProducer.Next.proceed

      while next == .proceed {
        if step == lost { server.changeLeader() }
        step += 1
        next = Self.post(&producer, server)
      }

      #expect(next == .done)
      let row = WuKongServerTests.history(server)["messages"]?[0]
      let text = row?["event_meta"]?["events"]?[0]?["snapshot"]?["text"]
      // Between the snapshot and the finish nothing can be known: the finish is accepted, and its text is nowhere.
      #expect(text == (lost == 6 ? nil : .string("你好🙂!")), "lost before step \(lost)")
    }
  }

  @Test func aCacheMissPutsASnapshotBeforeTheSameFinish() {
    var (producer, server) = Self.make()
    for _ in 0..<6 { _ = Self.post(&producer, server) }
    let finish = producer.request
    let snapshot = #"{"msg":"message event stream cache miss","status":400}"#

    #expect(producer.answered(status: 400, body: Array(snapshot.utf8)) == .proceed)
    #expect(producer.request.kind == .snapshot)
    #expect(Self.post(&producer, server) == .proceed)
    #expect(producer.request == finish)
    #expect(Self.post(&producer, server) == .done)
  }

  @Test func itGivesUpInTheEnd() {
    var (producer, _) = Self.make()
    var last = ReplyProducer.Next.proceed

    for _ in 0...ReplyProducer.maximumRetries { last = producer.unanswered() }

    guard case .failed = last else {
      Issue.record("\(last)")
      return
    }
  }
}
