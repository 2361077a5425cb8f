// What a client of the mock reads: the shape, the numbers and the checksums of each API's stream, the same for the same
// seed and session.

import Foundation
import Primitives
import Scenarios
import Testing

@Suite struct StreamTests {
  @Test func chatStream_IsNumberedFromOne_ChecksummedAndEndsWithDone() throws {
    let mock = try RunningMock()

    let answer = try mock.exchange(RunningMock.chat(#","stream_options":{"include_usage":true}"#))

    #expect(answer.status == 200)
    #expect(answer.headers["content-type"] == "text/event-stream")
    #expect(answer.end == .proper)
    let events = answer.events
    #expect(events.last?.data == "[DONE]")
    #expect(events.dropLast().map(\.number) == [1, 2, 3, 4, 5, 6, 7])
    #expect(events.dropLast().allSatisfy { $0.isIntact })
    #expect(events[0].json?["choices"]?[0]?["delta"]?["role"]?.asString == "assistant")
    #expect(events[4].json?["choices"]?[0]?["finish_reason"]?.isNull == true)
    #expect(events[5].json?["choices"]?[0]?["finish_reason"]?.asString == "stop")
    #expect(events[5].json?["ssebench"]?["crc"]?.asString == "00000000")
    #expect(events[6].json?["usage"]?["completion_tokens"]?.asInt == 5)
    #expect(events[6].json?["model"]?.asString == "m")
  }

  @Test func mark_IsTheLastMemberInItsExactSpelling() throws {
    let mock = try RunningMock()

    let data = try #require(try mock.exchange(RunningMock.chat()).events.first?.data)

    #expect(data.firstMatch(of: /,"ssebench":\{"n":1,"crc":"[0-9a-f]{8}","t_ns":"[0-9]{16}"\}\}$/) != nil)
  }

  @Test func withoutStamp_ThereIsNoTime() throws {
    let mock = try RunningMock { $0.stamp = false }

    let data = try #require(try mock.exchange(RunningMock.chat()).events.first?.data)

    #expect(data.firstMatch(of: /,"ssebench":\{"n":1,"crc":"[0-9a-f]{8}"\}\}$/) != nil)
  }

  @Test func sameSeedAndSession_GiveTheSameBytes() throws {
    let one = try RunningMock {
      $0.stamp = false; $0.text = .mixed
    }
    let two = try RunningMock {
      $0.stamp = false; $0.text = .mixed
    }
    let other = try RunningMock(seed: 43) {
      $0.stamp = false; $0.text = .mixed
    }

    let first = try one.exchange(RunningMock.chat(session: 3)).body

    #expect(try two.exchange(RunningMock.chat(session: 3)).body == first)
    #expect(try one.exchange(RunningMock.chat(session: 3)).body == first)
    #expect(try one.exchange(RunningMock.chat(session: 4)).body != first)
    #expect(try other.exchange(RunningMock.chat(session: 3)).body != first)
  }

  @Test func maxTokens_BoundsTheStream_AndIsTheFinishReason() throws {
    let mock = try RunningMock()

    let events = try mock.exchange(RunningMock.chat(#","max_completion_tokens":2"#)).events

    #expect(events.dropLast().map(\.number) == [1, 2, 3])
    #expect(events[2].json?["choices"]?[0]?["finish_reason"]?.asString == "length")
  }

  @Test func mixedText_IsValidJSONWithTrueChecksums() throws {
    let mock = try RunningMock {
      $0.text = .mixed
      $0.tokens = .constant(300)
    }

    let events = try mock.exchange(RunningMock.chat()).events.dropLast()

    #expect(events.count == 301)
    #expect(events.allSatisfy { $0.isIntact })
  }

  @Test func wholeAnswer_HasTheTextOfTheStream() throws {
    let mock = try RunningMock()
    let streamed = try mock.exchange(RunningMock.chat(session: 1)).events.compactMap(\.text).joined()

    let answer = try mock.exchange(
      RunningMock.post("/v1/chat/completions", #"{"model":"m","messages":[]}"#, "X-Ssebench-Session: 1"))

    let json = try JSONReader.read(answer.body)
    #expect(json["choices"]?[0]?["message"]?["content"]?.asString == streamed)
    #expect(json["usage"]?["completion_tokens"]?.asInt == 5)
  }

  @Test func toolCall_ComesInPiecesThatAreJSONTogether() throws {
    let mock = try RunningMock {
      $0.toolCall = true
      $0.text = .mixed
    }

    let events = try mock.exchange(RunningMock.chat()).events

    let pieces = events.compactMap {
      $0.json?["choices"]?[0]?["delta"]?["tool_calls"]?[0]?["function"]?["arguments"]?.asString
    }
    #expect(pieces.count == 6)
    #expect(try JSONReader.read(pieces.joined())["text"]?.asString != nil)
    #expect(events.dropLast().last?.json?["choices"]?[0]?["finish_reason"]?.asString == "tool_calls")
  }

  @Test func reasoning_StandsBeforeTheText() throws {
    let mock = try RunningMock { $0.reasoningTokens = 2 }

    let deltas = try mock.exchange(RunningMock.chat()).events.compactMap { $0.json?["choices"]?[0]?["delta"] }

    #expect(deltas.prefix(2).allSatisfy { $0["reasoning_content"] != nil })
    #expect(deltas[2...6].allSatisfy { $0["content"] != nil })
  }

  @Test(arguments: [
    ("/v1/completions", #"{"model":"m","prompt":"p","stream":true}"#),
    ("/v1/responses", #"{"model":"m","input":"p","stream":true}"#),
    (
      "/v1/messages",
      #"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"p"}],"stream":true}"#
    ),
    ("/v1beta/models/g:streamGenerateContent?alt=sse", #"{"contents":[{"parts":[{"text":"p"}]}]}"#),
  ])
  func otherAPI_NumbersItsEventsFromOneWithoutAGap(target: String, body: String) throws {
    for (reasoning, tool) in [(0, false), (2, false), (0, true), (2, true)] {
      let mock = try RunningMock {
        $0.reasoningTokens = reasoning
        $0.toolCall = tool
      }

      let answer = try mock.exchange(RunningMock.post(target, body))

      let numbers = answer.events.compactMap(\.number)
      #expect(
        numbers == Array(1...max(1, numbers.count)) && numbers.count >= 2, "\(target) \(reasoning) \(tool)")
      let events = answer.events.filter { $0.data != "[DONE]" }
      #expect(events.count == numbers.count, "\(target) \(reasoning) \(tool)")
      #expect(answer.end == .proper)
    }
  }

  @Test func ollama_IsOneObjectALine() throws {
    let mock = try RunningMock()

    let answer = try mock.exchange(RunningMock.post("/api/chat", #"{"model":"m","messages":[]}"#))

    #expect(answer.headers["content-type"] == "application/x-ndjson")
    let lines = try answer.text.split(separator: "\n").map { try JSONReader.read(String($0)) }
    #expect(lines.compactMap { $0["ssebench"]?["n"]?.asInt } == [1, 2, 3, 4, 5, 6])
    #expect(lines.last?["done"]?.asBool == true)
    #expect(lines.last?["eval_count"]?.asInt == 5)
  }

  @Test func plainStream_HasIdsAndTheTextSizeAsked() throws {
    let mock = try RunningMock()

    let answer = try mock.exchange(RunningMock.get("/events?session=9&events=3&size=37&retry=250"))

    let events = answer.events
    #expect(events[0].retry == "250")
    #expect(events.dropFirst().map(\.id) == ["1", "2", "3"])
    #expect(events.dropFirst().allSatisfy { $0.isIntact && $0.text?.utf8.count == 37 })
  }

  @Test func lastEventID_ResumesAtTheNextEvent_AndTheEndIs204() throws {
    let mock = try RunningMock()
    let whole = try mock.exchange(RunningMock.get("/events?session=9&events=5")).events

    let rest = try mock.exchange(RunningMock.get("/events?session=9&events=5", "Last-Event-ID: 3"))
    let end = try mock.exchange(RunningMock.get("/events?session=9&events=5", "Last-Event-ID: 5"))

    #expect(rest.events.compactMap(\.text) == whole.dropFirst(3).compactMap(\.text))
    #expect(end.status == 204)
  }

  @Test func resume_BringsOverdueEventsAtOnce() throws {
    let mock = try RunningMock()
    let target = "/events?session=1&events=5&interval=1ms"
    _ = try mock.exchange(RunningMock.get(target))

    let before = try mock.stats()
    let again = try mock.exchange(RunningMock.get(target))
    let after = try mock.stats()

    #expect(again.events.compactMap(\.number) == [1, 2, 3, 4, 5])
    // All five in one write, with the head in it or before it.
    let writes = try #require(after["writes"]?.asInt) - #require(before["writes"]?.asInt)
    #expect(writes <= 2)
  }

  /// Asserts "not earlier than" on the real clock.
  @Test func pacedEvents_AreNeverEarly() throws {
    let mock = try RunningMock {
      $0.firstToken = .constant(4e6)
      $0.interval = .constant(2e6)
    }
    let begin = Instant.now()

    let events = try mock.exchange(RunningMock.chat()).events

    let stamps = events.compactMap { $0.json?["ssebench"]?["t_ns"]?.asString.flatMap { Int64($0) } }
    for (index, stamp) in stamps.prefix(5).enumerated() {
      #expect(stamp - begin.nanoseconds >= 4_000_000 + Int64(index) * 2_000_000)
    }
    let pace = try mock.stats()["pace"]?["counts"]?.asArray?.compactMap { $0[1]?.asInt }.reduce(0, +)
    #expect(pace == 5)
  }

  @Test func eventsPerWrite_PutsThatManyIntoOneWrite() throws {
    let mock = try RunningMock {
      $0.tokens = .constant(12)
      $0.firstToken = .constant(1e6)
      $0.interval = .constant(1e6)
      $0.eventsPerWrite = 4
    }

    let events = try mock.exchange(RunningMock.chat()).events

    // The head, and three writes.
    #expect(try mock.stats()["writes"]?.asInt == 4)
    let stamps = events.compactMap { $0.json?["ssebench"]?["t_ns"]?.asString }
    #expect(Set(stamps).count == 3)
  }

  @Test func tokensPerEvent_SharesEventsAndCountsTokens() throws {
    let mock = try RunningMock {
      $0.tokens = .constant(10)
      $0.tokensPerEvent = 4
    }

    let events = try mock.exchange(RunningMock.chat(#","stream_options":{"include_usage":true}"#)).events

    #expect(events.compactMap(\.text).count == 3)
    #expect(events.dropLast().allSatisfy { $0.isIntact })
    #expect(events[4].json?["usage"]?["completion_tokens"]?.asInt == 10)
  }

  @Test func manyConcurrentStreams_AllComeWhole() throws {
    let mock = try RunningMock {
      $0.tokens = .constant(40); $0.interval = .constant(200_000)
    }
    let connections = try (0..<200).map { _ in try mock.connect() }
    for (index, connection) in connections.enumerated() { connection.send(RunningMock.chat(session: index)) }

    for connection in connections {
      let answer = try connection.answer()
      #expect(answer.events.dropLast().compactMap(\.number) == Array(1...41))
      #expect(answer.events.dropLast().allSatisfy { $0.isIntact })
    }
  }

  @Test func slowReader_GetsAllInTheEnd_AndIsNotHeldAgainstThePace() throws {
    let mock = try RunningMock {
      $0.tokens = .constant(3_000)
      $0.tokenSize = .constant(4_000)
    }
    let connection = try mock.connect()
    connection.send(RunningMock.chat())
    // 12 MB fit in no socket buffer and nobody reads, so the mock has to stop. It answers commands in the same loop in
    // which it sends: a hundred answers with the same count mean that it waits for the reader.
    var sent = -1
    var unchanged = 0
    while unchanged < 100 {
      let events = try #require(try mock.stats()["events"]?.asInt)
      unchanged = events == sent && events > 0 ? unchanged + 1 : 0
      sent = events
    }
    #expect(sent < 3_000)

    let answer = try connection.answer()

    #expect(answer.events.dropLast().compactMap(\.number) == Array(1...3_001))
    #expect(try #require(try mock.stats()["blocked_events"]?.asInt) > 0)
  }
}
