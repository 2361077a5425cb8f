// The mock as an HTTP server: what it accepts, what it bounds, what it refuses and how.

import Foundation
import Primitives
import Scenarios
import Testing

@Suite struct HTTPTests {
  @Test func keepAlive_AnswersTheNextRequestOnTheSameConnection() throws {
    let mock = try RunningMock()
    let connection = try mock.connect()

    for session in 1...3 {
      connection.send(RunningMock.chat(session: session))
      #expect(try connection.answer().events.last?.data == "[DONE]")
    }

    #expect(try mock.stats()["connections"]?.asInt == 1)
    #expect(try mock.stats()["requests"]?.asInt == 3)
  }

  @Test func pipelinedRequests_AreAnsweredInOrder() throws {
    let mock = try RunningMock()
    let connection = try mock.connect()

    connection.send(
      RunningMock.get("/events?session=1&events=2") + RunningMock.get("/health")
        + RunningMock.get("/events?session=2&events=1"))

    #expect(try connection.answer().events.count == 2)
    #expect(try connection.answer().text == #"{"status":"ok"}"#)
    #expect(try connection.answer().events.count == 1)
  }

  @Test func requestInSingleBytes_IsRead() throws {
    let mock = try RunningMock()
    let connection = try mock.connect()

    for character in RunningMock.chat() { connection.send(String(character)) }

    #expect(try connection.answer().status == 200)
  }

  @Test func chunkedRequestBody_IsRead() throws {
    let mock = try RunningMock()

    let answer = try mock.exchange(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n8;x=y\r\n{\"stream\r\n7\r\n\":true}\r\n0\r\nTrailer: t\r\n\r\n"
    )

    #expect(answer.events.last?.data == "[DONE]")
  }

  @Test func expect100_IsAnsweredBeforeTheBody() throws {
    let mock = try RunningMock()
    let connection = try mock.connect()
    let body = #"{"stream":true}"#

    connection.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: m\r\nExpect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    )
    #expect(try connection.answer().status == 100)
    connection.send(body)
    #expect(try connection.answer().status == 200)
  }

  @Test func http10_GetsABodyWithoutChunks_EndedByTheClose() throws {
    let mock = try RunningMock()

    let answer = try mock.exchange("GET /events?session=1&events=2 HTTP/1.0\r\n\r\n")

    #expect(answer.headers["transfer-encoding"] == nil)
    #expect(answer.events.compactMap(\.number) == [1, 2])
    #expect(answer.end == .closed)
  }

  @Test func head_GetsNoBody() throws {
    let mock = try RunningMock()
    let connection = try mock.connect()

    connection.send("HEAD /health HTTP/1.1\r\nHost: m\r\n\r\n" + RunningMock.get("/health"))

    #expect(try connection.answer(toHead: true).headers["content-length"] == "15")
    #expect(try connection.answer().text == #"{"status":"ok"}"#)
  }

  @Test func options_AllowsEveryOrigin() throws {
    let mock = try RunningMock()

    let answer = try mock.exchange("OPTIONS /events HTTP/1.1\r\nHost: m\r\nOrigin: http://page\r\n\r\n")

    #expect(answer.status == 204)
    #expect(answer.headers["access-control-allow-origin"] == "*")
    #expect(answer.headers["access-control-allow-headers"] == "*")
  }

  @Test func unknownPathAndMethod_AreJSONErrors() throws {
    let mock = try RunningMock()

    let missing = try mock.exchange(RunningMock.get("/nope"))
    let method = try mock.exchange(RunningMock.get("/v1/chat/completions"))

    #expect(missing.status == 404)
    #expect(try JSONReader.read(missing.body)["error"]?["message"]?.asString == "no such path: /nope")
    #expect(method.status == 405)
    #expect(method.headers["allow"] == "POST")
  }

  @Test(arguments: [
    ("nonsense\r\n\r\n", 400), ("\u{16}\u{3}\u{1}\r\n\r\n", 400), ("GET /\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\n\r\n", 505),
    ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400), ("GET / HTTP/1.1\r\n name: folded\r\n\r\n", 400),
    ("POST /v1/messages HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
    ("POST /v1/messages HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
    ("POST /v1/messages HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    ("POST /v1/messages HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
    ("POST /v1/messages HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", 413),
  ])
  func nonsense_IsRefusedAndTheConnectionCloses(request: String, status: Int) throws {
    let mock = try RunningMock()
    let connection = try mock.connect()
    connection.send(request)

    let answer = try connection.answer()

    #expect(answer.status == status)
    #expect(answer.headers["connection"] == "close")
    #expect(throws: RawConnection.Incomplete.self) { try connection.answer() }
  }

  @Test func headOver32KiB_IsRefused() throws {
    let mock = try RunningMock()

    let answer = try mock.exchange("GET /health HTTP/1.1\r\nX: " + String(repeating: "x", count: 40_000))

    #expect(answer.status == 431)
  }

  @Test(arguments: [
    "{", "[]", #"{"stream":"yes"}"#, #"{"stream":true,"max_tokens":"many"}"#,
    #"{"stream":true,"max_tokens":-1}"#,
  ])
  func badBody_IsA400WithAReason(body: String) throws {
    let mock = try RunningMock()

    let answer = try mock.exchange(RunningMock.post("/v1/chat/completions", body))

    #expect(answer.status == 400)
    #expect(try JSONReader.read(answer.body)["error"]?["message"]?.asString?.isEmpty == false)
  }

  @Test(arguments: [
    "events=x", "interval=-1", "interval=1y", "first=", "size=0", "size=99999999", "events=99999999999",
  ])
  func badParameter_IsA400(parameter: String) throws {
    let mock = try RunningMock()

    #expect(try mock.exchange(RunningMock.get("/events?\(parameter)")).status == 400)
  }

  @Test func hostileModelName_IsEchoedAsValidJSON() throws {
    let mock = try RunningMock()

    let events = try mock.exchange(
      RunningMock.post("/v1/chat/completions", #"{"stream":true,"model":"a\"b\\\n«n»\u0001"}"#)
    ).events

    #expect(events.dropLast().compactMap(\.number) == Array(1...6))
    #expect(events[0].json?["model"]?.asString?.hasPrefix("a\"b\\\n") == true)
  }

  @Test func moreModelsThanAreKept_StillGetAnswers() throws {
    let mock = try RunningMock { $0.tokens = .constant(1) }
    let connection = try mock.connect()

    for number in 0..<1_100 {
      connection.send(
        RunningMock.post("/v1/chat/completions", #"{"stream":true,"model":"model-\#(number)"}"#))
      #expect(try connection.answer().events.count == 3)
    }
  }

  @Test func randomBytes_EndNothing() throws {
    let mock = try RunningMock()
    var random = SeededRandom(seed: 5)
    for _ in 0..<200 {
      let connection = try mock.connect()
      var bytes = Array(RunningMock.chat().utf8)
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      connection.send(String(decoding: bytes, as: UTF8.self))
      connection.endSending()
      _ = try? connection.answer()
    }

    #expect(try mock.exchange(RunningMock.get("/health")).status == 200)
  }

  @Test func metrics_ArePrometheusText() throws {
    let mock = try RunningMock()
    _ = try mock.exchange(RunningMock.chat())

    let text = try mock.exchange(RunningMock.get("/metrics")).text

    #expect(text.contains("\nssebench_mock_events_total 6\n"))
    #expect(text.contains("ssebench_mock_faults_total{kind=\"fin\"} 0\n"))
  }

  @Test func controlPipe_TellsWhatWasSentAndClosed() throws {
    let mock = try RunningMock()
    _ = try mock.exchange(RunningMock.chat(session: 7))
    while try mock.stats()["active"]?.asInt != 0 {}

    #expect(try mock.ask("sent 7 8")["sent"] == .object(["7": .integer(6)]))
    #expect(try mock.ask("closes")["closes"]?["7"]?.asInt != nil)
    #expect(try mock.ask("closes")["closes"] == .object(JSONObject()))
    #expect(try mock.ask("what")["error"] != nil)
  }
}
