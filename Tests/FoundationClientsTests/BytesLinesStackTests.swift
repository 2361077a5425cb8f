import Primitives
import Recording
import Testing

/// The pipeline of `URLSession.bytes`, `.lines` and a JSON decoder, naive (`faithful`) and as it should be (`strict`).
@Suite(.serialized) struct BytesLinesStackTests {
  private func chunk(_ text: String) -> String {
    #"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"\#(text)"},"finish_reason":null}]}"#
  }

  private func run(_ fidelity: String, _ pieces: [String], isWhole: Bool = true, more: String = "") throws -> StackRun {
    let server = LoopbackServer([.chunked(pieces, isWhole: isWhole)])
    defer { server.stop() }
    return try StackRun(#"{"stack": "bytes-lines", "fidelity": "\#(fidelity)"\#(more)}"#, server, api: "openai-chat")
  }

  private let done = "data: [DONE]\n\n"

  @Test func aPlainStream_IsReadByBoth() throws {
    for fidelity in ["faithful", "strict"] {
      let run = try run(fidelity, ["data: \(chunk("a"))\n\n", "data: \(chunk("b"))\n\n", done])

      #expect(run.outcome == "completed")
      #expect(run.tokens == 2)
    }
  }

  @Test(arguments: ["\u{2028}", "\u{2029}", "\u{85}"])
  func aLineSeparatorInAToken_EndsTheNaiveStreamWithADecodeError(separator: String) throws {
    let pieces = ["data: \(chunk("a"))\n\n", "data: \(chunk("x\(separator)y"))\n\n", done]

    let naive = try run("faithful", pieces)
    let strict = try run("strict", pieces)

    #expect(naive.outcome == "failed parse")
    #expect(naive.tokens == 1)
    #expect(strict.outcome == "completed")
    #expect(strict.tokens == 2)
  }

  @Test func aDataLineWithoutItsSpace_IsNoTokenToTheNaiveStream() throws {
    let pieces = ["data:\(chunk("a"))\n\n", done]

    #expect(try run("faithful", pieces).tokens == 0)
    #expect(try run("strict", pieces).tokens == 1)
  }

  @Test func jsonOverTwoDataLines_FailsTheNaiveStreamOnly() throws {
    let whole = chunk("a")
    let cut = whole.index(whole.startIndex, offsetBy: whole.utf8.count - 2)
    let pieces = ["data: \(whole[..<cut])\ndata: \(whole[cut...])\n\n", done]

    #expect(try run("faithful", pieces).outcome == "failed parse")
    let strict = try run("strict", pieces)
    #expect(strict.outcome == "completed")
    #expect(strict.tokens == 1)
  }

  @Test func anEndWithoutTheMarker_IsSuccessToTheNaiveStreamAndTruncatedInStrict() throws {
    let pieces = ["data: \(chunk("a"))\n\n"]

    #expect(try run("faithful", pieces).outcome == "completed")
    #expect(try run("strict", pieces).outcome == "failed truncated")
  }

  @Test func anEndInsideAnEvent_ReachesTheNaiveDecoder() throws {
    let pieces = ["data: \(chunk("a"))\n\n", #"data: {"cho"#]

    #expect(try run("faithful", pieces).outcome == "failed parse")
    #expect(try run("strict", pieces).outcome == "failed truncated")
  }

  @Test func eachFailure_HasAnOutcomeOfItsOwnInStrict() throws {
    func outcome(_ script: Script) throws -> String {
      let server = LoopbackServer([script])
      defer { server.stop() }
      return try StackRun(#"{"stack": "bytes-lines"}"#, server, api: "openai-chat").outcome
    }
    let type = ["Content-Type: text/event-stream", "Connection: close"]
    let usage = #"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":9,"total_tokens":10}}"#

    #expect(try outcome(.answer("401 Unauthorized", type, "no")) == "failed http_4xx")
    #expect(try outcome(.answer("429 Slow", type, "later")) == "failed http_429")
    #expect(try outcome(.answer("200 OK", ["Content-Type: text/html", "Connection: close"], "<html>")) == "failed content_type")
    #expect(try outcome(.chunked([#"data: {"error":{"message":"no","type":"t"}}"# + "\n\n"])) == "failed stream_error")
    let server = LoopbackServer([.chunked(["data: \(chunk("a"))\n\n", "data: \(usage)\n\n", done])])
    defer { server.stop() }
    let withUsage = try StackRun(#"{"stack": "bytes-lines"}"#, server, api: "openai-chat")
    #expect(withUsage.outcome == "completed")
    #expect(withUsage.records.first?.tokens == 9)
    #expect(withUsage.tokens == 1)
  }

  @Test func anErrorFrame_IsADecodeErrorToTheNaiveStream() throws {
    #expect(try run("faithful", [#"data: {"error":{"message":"no","type":"t"}}"# + "\n\n"]).outcome == "failed parse")
  }

  /// The naive reader gets a line that ends in CR only with the byte after it.
  @Test func aLineEndedByCR_WaitsForTheNextEvent() throws {
    func tokens(_ fidelity: String, _ event: String) throws -> Int64 {
      let server = LoopbackServer([.chunked([event], more: [.hold])])
      defer { server.stop() }
      let client = #"{"stack": "bytes-lines", "fidelity": "\#(fidelity)", "timeouts": {"total": "600ms"}}"#
      return try StackRun(client, server, api: "openai-chat").tokens
    }

    #expect(try tokens("faithful", "data: \(chunk("a"))\r") == 0)
    #expect(try tokens("faithful", "data: \(chunk("a"))\r\r") == 1)
    #expect(try tokens("strict", "data: \(chunk("a"))\r\r") == 1)
  }

  @Test func cancelInStrict_ClosesTheSocketAndCountsNothingMore() throws {
    let server = LoopbackServer([
      .chunked((0..<3).map { "data: \(chunk("t\($0)"))\n\n" }, more: [.waitForClose])
    ])
    defer { server.stop() }

    let run = try StackRun(
      #"{"stack": "bytes-lines", "cancel": {"share": 1, "after": {"tokens": 3}}}"#, server, api: "openai-chat")
    while server.closedAt.isEmpty {}

    #expect(run.outcome == "cancelled")
    #expect(run.records.first?.tokensAfterCancel == 0)
  }

  @Test func cancelInFaithful_LeavesTheProducerRunningToTheServersEnd() throws {
    let late = (0..<20).map { "data: \(chunk("l\($0)"))\n\n" }
    let more = (late + [done]).map { Script.Step.send(Array("\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n".utf8)) }
    let server = LoopbackServer([.chunked((0..<3).map { "data: \(chunk("t\($0)"))\n\n" }, more: more)])
    defer { server.stop() }

    let run = try StackRun(
      #"{"stack": "bytes-lines", "fidelity": "faithful", "cancel": {"share": 1, "after": {"tokens": 1}}}"#, server,
      api: "openai-chat")

    #expect(run.outcome == "cancelled")
    let record = try #require(run.records.first)
    #expect(record.tokensAfterCancel > 0)
    #expect(record.tokensAfterCancel + record.tokenEvents == 23)
  }
}
