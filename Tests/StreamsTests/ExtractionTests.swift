// What events of each API mean: the corpus through every decoder, and the shapes beyond it, one by one.

import Foundation
import FoundationClients
import Primitives
import Streams
import Testing

/// A recorded stream of Tests/Vectors/llm and what must be extracted from it.
struct LLMStream: Sendable, CustomTestStringConvertible {
  var name: String
  var body: [UInt8]
  var expected: JSONValue
  var api: StreamAPI
  var testDescription: String { name }

  static let all: [LLMStream] = {
    let folder = SSEVector.folder.appending(path: "llm")
    let text = try! Data(contentsOf: folder.appending(path: "expect.json"))
    return try! JSONReader.read(text)["streams"]!.asObject!.pairs.map { name, expected in
      let shape = expected["shape"]!.asString!
      return LLMStream(
        name: name, body: Array(try! Data(contentsOf: folder.appending(path: name))), expected: expected,
        api: StreamAPI(rawValue: shape == "ollama-chat" ? "ollama" : shape)!)
    }
  }()
}

struct ReadingSink: EventSink {
  var reader: ResponseReader
  mutating func receive(_ event: EventSlices) { reader.read(event) }
}

func read(
  _ body: [UInt8], _ api: StreamAPI, _ decoder: DecoderKind, cuts: [Int] = [], mode: ParserMode? = nil
) -> ResponseReader {
  var sink = ReadingSink(
    reader: ResponseReader(api: api, decoder: decoder, scratch: ExtractorScratch(foreignDecoder: FoundationDecoder())))
  var parser = StreamParser(ParserSettings(mode ?? api.usualParser))
  var start = 0
  for cut in cuts + [body.count] {
    body[start..<cut].withUnsafeBytes { try! parser.feed($0, into: &sink) }
    start = cut
  }
  try! parser.finish(into: &sink)
  return sink.reader
}

/// One event's meaning as plain values, to compare decoders.
struct PlainMeaning: Equatable {
  var flags: EventMeaning.Flags
  var content: [UInt8]
  var text: [UInt8]
  var usage: TokenUsage
  var crc: UInt32

  init(_ meaning: EventMeaning) {
    // A remembered place does not say the model again.
    flags = meaning.flags.subtracting(.model)
    content = Array(meaning.content)
    text = Array(meaning.text)
    usage = meaning.usage
    crc = meaning.textCRC()
  }
}

struct MeaningSink: EventSink {
  var extractor: TokenExtractor
  let scratch = ExtractorScratch(foreignDecoder: FoundationDecoder())
  var meanings: [PlainMeaning] = []
  mutating func receive(_ event: EventSlices) {
    meanings.append(PlainMeaning(extractor.read(event, stamp: false, scratch: scratch)))
  }
}

func meanings(_ body: [UInt8], _ api: StreamAPI, _ decoder: DecoderKind) -> [PlainMeaning] {
  var sink = MeaningSink(extractor: TokenExtractor(api: api, decoder: decoder))
  var parser = StreamParser(ParserSettings(api.usualParser))
  body.withUnsafeBytes { try! parser.feed($0, into: &sink) }
  try! parser.finish(into: &sink)
  return sink.meanings
}

/// Events of an API, each on a data line (or NDJSON line) of its own.
func body(_ api: StreamAPI, _ events: [String]) -> [UInt8] {
  Array(events.map { api == .ollama ? "\($0)\n" : "data: \($0)\n\n" }.joined().utf8)
}

let exactDecoders: [DecoderKind] = [.simdjson, .scan, .foundation]

@Suite struct ExtractionTests {
  @Test(arguments: LLMStream.all, exactDecoders)
  func recordedStream_givesWhatIsExpected(_ stream: LLMStream, _ decoder: DecoderKind) {
    for cuts in [[], Array(0..<stream.body.count)] {
      let got = read(stream.body, stream.api, decoder, cuts: cuts)

      let wanted = stream.expected
      func text(_ key: String) -> String? { wanted[key]?.asString }
      func count(_ key: String) -> Int? { wanted[key]?.asInt }
      #expect(got.events == count("events"))
      #expect(got.texts.map { Array($0.utf8) } == wanted["texts"]?.asArray?.map { Array($0.asString!.utf8) })
      #expect(got.reasoning == text("reasoning"))
      #expect(got.contentChunks == count("content_chunks"))
      #expect(got.reasoningChunks == count("reasoning_chunks"))
      #expect(got.toolChunks == count("tool_chunks"))
      #expect(got.finishReasons == wanted["finish_reasons"]?.asArray?.map(\.asString))
      #expect(got.terminal == text("terminal"))
      #expect((got.terminal != nil) == wanted["terminal_seen"]?.asBool)
      #expect(got.firstContentEvent == count("first_content_event"))
      #expect(got.firstOutputEvent == count("first_output_event"))
      #expect(got.undecodable == 0)
      let calls = wanted["tool_calls"]?.asArray ?? []
      #expect(got.toolCalls.map(\.arguments) == calls.map { $0["arguments"]?.asString })
      #expect(got.toolCalls.map(\.name) == calls.map { $0["name"]?.asString })
      #expect(got.toolCalls.map(\.id) == calls.map { $0["id"]?.asString })
      #expect(got.toolCalls.map(\.index) == calls.map { $0["index"]?.asInt })
      if let usage = wanted["usage"], !usage.isNull {
        func number(_ key: String) -> Int { usage[key]?.asInt ?? -1 }
        #expect(
          got.usage
            == TokenUsage(
              input: number("input"), output: number("output"), total: number("total"), reasoning: number("reasoning"),
              cached: number("cached")))
      } else {
        #expect(got.usage == nil)
      }
      #expect(got.error?.message == wanted["error"]?["message"]?.asString)
      #expect(got.error?.type == wanted["error"]?["type"]?.asString)
      #expect(got.error?.code.flatMap { try? JSONReader.read($0) }?.asString == wanted["error"]?["code"]?.asString)
    }
  }

  @Test(arguments: LLMStream.all)
  func allDecoders_meanTheSame(_ stream: LLMStream) {
    let exact = meanings(stream.body, stream.api, .simdjson)

    #expect(meanings(stream.body, stream.api, .scan) == exact)
    #expect(meanings(stream.body, stream.api, .foundation) == exact)
    #expect(exact.count == stream.expected["events"]?.asInt)
  }

  @Test(arguments: exactDecoders)
  func errorsOfEveryShape_areFound(_ decoder: DecoderKind) {
    let shapes: [(StreamAPI, String, String?, String?, String?)] = [
      (.openaiChat, #"{"error":{"message":"m","type":"t","code":"c"}}"#, "m", "t", "\"c\""),
      (.openaiChat, #"{"error":{"message":"m","code":503}}"#, "m", nil, "503"),
      (.openaiChat, #"{"error":"text"}"#, "text", nil, nil),
      (.openaiChat, #"{"error":{}}"#, nil, nil, nil),
      (.openaiChat, #"{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#, "m", "BadRequestError", "400"),
      (.openaiChat, #"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"m"}}]}"#, "m", nil, "502"),
      (.openaiCompletions, #"{"error":{"message":"m"}}"#, "m", nil, nil),
      (.openaiResponses, #"{"type":"error","code":"c","message":"m","param":null,"sequence_number":3}"#, "m", "error", "\"c\""),
      (.openaiResponses, #"{"type":"error","error":{"type":"t","code":"c","message":"m"}}"#, "m", "t", "\"c\""),
      (.openaiResponses, #"{"type":"response.failed","response":{"status":"failed","error":{"code":"c","message":"m"}}}"#, "m", nil, "\"c\""),
      (.anthropicMessages, #"{"type":"error","error":{"type":"t","message":"m"}}"#, "m", "t", nil),
      (.gemini, #"{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}"#, "m", nil, "503"),
      (.ollama, #"{"error":"m"}"#, "m", nil, nil),
    ]
    for (api, event, message, type, code) in shapes {
      let got = read(body(api, [event]), api, decoder)

      #expect(got.error == EventReading.Failure(message: message, type: type, code: code), "\(api) \(event)")
      #expect(meanings(body(api, [event]), api, decoder).first?.flags.contains(.error) == true, "\(api) \(event)")
    }
  }

  @Test(arguments: exactDecoders)
  func errorsThatAreNone_areNotTakenForOne(_ decoder: DecoderKind) {
    for event in [
      #"{"error":null,"choices":[]}"#, #"{"error":"","choices":[]}"#, #"{"error":false,"choices":[]}"#, #"{"choices":[]}"#,
      #"{"type":"ping"}"#,
    ] {
      #expect(read(body(.openaiChat, [event]), .openaiChat, decoder).error == nil, "\(event)")
    }
  }

  @Test(arguments: exactDecoders)
  func errorEvent_isAnErrorWithoutJSON(_ decoder: DecoderKind) {
    let stream = Array("event: error\ndata: overloaded\n\nevent: error\ndata: {\"message\":\"again\"}\n\n".utf8)

    for api in [StreamAPI.openaiChat, .anthropicMessages, .openaiResponses] {
      let got = read(stream, api, decoder)
      #expect(got.error?.message == "overloaded")
      #expect(meanings(stream, api, decoder).map { $0.flags.contains(.error) } == [true, true])
    }
  }

  @Test(arguments: exactDecoders)
  func deltasOfEveryKind_areToldApart(_ decoder: DecoderKind) {
    let events = [
      #"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null}}]}"#,
      #"{"choices":[{"index":0,"delta":{"refusal":"I "}}]}"#,
      #"{"choices":[{"index":0,"delta":{"refusal":"cannot."}}]}"#,
      #"{"choices":[{"index":0,"delta":{"reasoning":"a","reasoning_content":"a"}}]}"#,
      #"{"choices":[{"index":0,"delta":{"reasoning":"b","reasoning_content":null}}]}"#,
      #"{"choices":[{"index":1,"delta":{"content":"one"}},{"index":0,"delta":{"content":"zero"}}]}"#,
      #"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"c"}]},{"type":"text","text":"!"}]}}]}"#,
      #"{"choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":""}}}]}"#,
      #"{"choices":[{"index":0,"delta":{"function_call":{"arguments":"{}"}}}]}"#,
      #"{"choices":[{"delta":{"content":"?"},"finish_reason":""}]}"#,
      #"{"choices":[{"index":99999999,"delta":{"content":"far"}}]}"#,
    ]

    let got = read(body(.openaiChat, events), .openaiChat, decoder)

    #expect(got.texts == ["zero!?", "one"])
    #expect(got.refusal == "I cannot.")
    #expect(got.refusalChunks == 2)
    #expect(got.reasoning == "abc")
    #expect(got.contentChunks == 4)
    #expect(got.toolCalls.map(\.name) == ["f"])
    #expect(got.toolCalls.map(\.arguments) == ["{}"])
    #expect(got.finishReasons == [nil, nil])
    #expect(meanings(body(.openaiChat, events), .openaiChat, decoder) == meanings(body(.openaiChat, events), .openaiChat, .simdjson))
  }

  @Test(arguments: exactDecoders)
  func toolCallsWithOneIndex_areToldApartByTheirIDs(_ decoder: DecoderKind) {
    func call(_ inner: String) -> String { #"{"choices":[{"index":0,"delta":{"tool_calls":[\#(inner)]}}]}"# }
    let events = [
      call(#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#), call(#"{"index":0,"function":{"arguments":"}"}}"#),
      call(#"{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}"#),
    ]

    let got = read(body(.openaiChat, events), .openaiChat, decoder)

    #expect(got.toolCalls.map(\.arguments) == ["{}", "{}"])
    #expect(got.toolCalls.map(\.name) == ["f", "g"])
  }

  @Test(arguments: exactDecoders)
  func geminiCallsAndThoughts_areRead(_ decoder: DecoderKind) {
    let events = [
      #"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{ "b" : 1, "a" : [ "\u00e9", null ] }}}]}}]}"#,
      #"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"g","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}"#,
    ]

    let got = read(body(.gemini, events), .gemini, decoder)

    #expect(got.reasoning == "hm")
    #expect(got.toolCalls.map(\.arguments) == [#"{"b":1,"a":["é",null]}"#, "{}"])
    #expect(got.toolCalls.map(\.index) == [0, 1])
    #expect(got.toolChunks == 2)
    #expect(got.finishReasons == ["STOP"])
    #expect(got.terminal == nil)
  }

  @Test(arguments: exactDecoders)
  func ollamaCallsAndGenerate_areRead(_ decoder: DecoderKind) {
    let events = [
      #"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":false}"#,
      #"{"model":"m","response":"Hi","done":false}"#, #"{"model":"m","response":"","done":true,"done_reason":"stop","eval_count":3}"#,
    ]

    let got = read(body(.ollama, events), .ollama, decoder)

    #expect(got.toolCalls.map(\.arguments) == [#"{"x":1}"#])
    #expect(got.texts == ["Hi"])
    #expect(got.usage == TokenUsage(output: 3))
    #expect(got.terminal == "done:true")
  }

  @Test(arguments: exactDecoders)
  func responsesIncomplete_isTerminalWithoutAnError(_ decoder: DecoderKind) {
    let events = [
      #"{"type":"response.refusal.delta","delta":"no"}"#,
      #"{"type":"response.incomplete","response":{"status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}"#,
    ]

    let got = read(body(.openaiResponses, events), .openaiResponses, decoder)

    #expect(got.finishReasons == ["incomplete"])
    #expect(got.terminal == "response.incomplete")
    #expect(got.error == nil)
    #expect(got.refusal == "no")
    #expect(got.usage?.total == 3)
  }

  @Test(arguments: exactDecoders)
  func plainEvents_areTheirText(_ decoder: DecoderKind) {
    let events = ["hello", #"{"text":"a\u0000b"}"#, #"{"n":1}"#, "{broken", #"{"text":""}"#, "[DONE]", "42"]

    let got = meanings(body(.sse, events), .sse, decoder)

    #expect(got.map(\.content) == ["hello", "a\0b", #"{"n":1}"#, "{broken", "", "[DONE]", "42"].map { Array($0.utf8) })
    #expect(got.allSatisfy { !$0.flags.contains(.undecodable) && !$0.flags.contains(.terminal) })
  }

  @Test(arguments: exactDecoders)
  func undecodableEvents_areCounted(_ decoder: DecoderKind) {
    let events = [#"{"choices":["#, "hello", "[]", "42", #"{"choices":[]} x"#, "{'a':1}", "\u{1}", " "]

    let got = read(body(.openaiChat, events), .openaiChat, decoder)

    #expect(got.undecodable == 7)
  }

  /// What Foundation does not look at, it does not refuse.
  @Test func looseJSON_isRefusedByAllButFoundation() {
    let events = [#"{"choices":[],}"#, #"{"a":01}"#, #"{"a":"\x"}"#, #"{"a":1e}"#]

    for decoder in [DecoderKind.simdjson, .scan] {
      #expect(read(body(.openaiChat, events), .openaiChat, decoder).undecodable == 4)
    }
    #expect(read(body(.openaiChat, events), .openaiChat, .foundation).undecodable == 0)
  }

  @Test func repeatedKey_isTheLastOneExceptToFoundation() {
    let event = #"{"choices":[{"index":0,"delta":{"content":"a","content":"b"}}]}"#

    for decoder in [DecoderKind.simdjson, .scan] {
      #expect(read(body(.openaiChat, [event]), .openaiChat, decoder).texts == ["b"])
    }
    #expect(read(body(.openaiChat, [event]), .openaiChat, .foundation).texts == ["a"])
  }

  /// Half of a surrogate pair is U+FFFD to simdjson and scan, and refused by Foundation.
  @Test func halfSurrogate_isReplacedOrRefused() {
    let events = [#"{"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]}"#, #"{"choices":[{"index":0,"delta":{"content":"\ude00b\ud83d\ude00"}}]}"#]

    for decoder in [DecoderKind.simdjson, .scan] {
      #expect(read(body(.openaiChat, events), .openaiChat, decoder).texts == ["a\u{FFFD}\u{FFFD}b😀"])
    }
    let refused = read(body(.openaiChat, events), .openaiChat, .foundation)
    #expect(refused.texts == [""])
    #expect(refused.undecodable == 2)
  }

  @Test(arguments: exactDecoders)
  func invalidUTF8_isRepairedBeforeTheJSON(_ decoder: DecoderKind) {
    let bytes = Array("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"caf".utf8) + [0xE9] + Array("\"}}]}\n\n".utf8)

    #expect(read(bytes + bytes, .openaiChat, decoder).texts == ["caf\u{FFFD}caf\u{FFFD}"])
  }

  @Test(arguments: exactDecoders)
  func escapedKeys_areKnown(_ decoder: DecoderKind) {
    let escaped = #"{"cho\u0069ces":[{"index":0,"delta":{"\u0063ontent":"x"}}]}"#

    #expect(read(body(.openaiChat, [escaped]), .openaiChat, decoder).texts == ["x"])
  }

  @Test func textInAnotherPlace_isNotTakenForTheRememberedOne() {
    let first = #"{"choices":[{"index":0,"delta":{"content":"aaa"},"x":"y"}]}"#
    let events = [
      first, #"{"choices":[{"index":0,"delta":{"content":"b","x":"c"},"x":"y"}]}"#,
      #"{"choices":[{"index":0,"delta":{"content":"b\"},\"x\":\"y"},"x":"y"}]}"#,
      #"{"choices":[{"index":1,"delta":{"content":"d"},"x":"y"}]}"#, #"{"choices":[{"index":0,"delta":{"content":""},"x":"y"}]}"#, first,
    ]
    for order in [events, events.reversed(), events + events] {
      let exact = meanings(body(.openaiChat, order), .openaiChat, .simdjson)
      #expect(meanings(body(.openaiChat, order), .openaiChat, .scan) == exact)
      #expect(read(body(.openaiChat, order), .openaiChat, .scan).texts == read(body(.openaiChat, order), .openaiChat, .simdjson).texts)
    }
  }

  @Test func decoderNone_knowsOnlyEndMarkers() {
    #expect(meanings(body(.openaiChat, ["{}", "[DONE] "]), .openaiChat, .none).map(\.flags) == [.content, .terminal])
    let anthropic = Array("event: message_stop\ndata: {}\n\nevent: ping\ndata: {}\n\n".utf8)
    #expect(meanings(anthropic, .anthropicMessages, .none).map(\.flags) == [.terminal, .content])
  }
}

@Suite struct StampTests {
  private func meaning(_ text: String, _ decoder: DecoderKind = .simdjson, api: StreamAPI = .sse) -> EventMeaning {
    var extractor = TokenExtractor(api: api, decoder: decoder)
    let scratch = ExtractorScratch()
    let bytes = Array(text.utf8)
    return bytes.withUnsafeBytes {
      let event = EventSlices(data: $0, type: $0, lastEventID: $0)
      var copy = extractor.read(event, stamp: true, scratch: scratch)
      copy.content = UnsafeRawBufferPointer(start: nil, count: 0)
      return copy
    }
  }

  @Test func stamp_isReadFromTheEnd() {
    let full = meaning(#"{"text":"a","ssebench":{"n":12,"crc":"9ae0daaf","t_ns":"1234567890123"}}"#)
    let short = meaning(#"{"text":"a","ssebench":{"n":1,"crc":"00000000"}}"#)
    let alone = meaning(#"{"ssebench":{"n":0,"crc":"ffffffff"}}"#)

    #expect(full.stampNumber == 12 && full.stampCRC == 0x9AE0_DAAF && full.stampTime == 1_234_567_890_123)
    #expect(short.stampNumber == 1 && short.stampCRC == 0 && short.stampTime == -1)
    #expect(alone.stampNumber == 0 && alone.stampCRC == 0xFFFF_FFFF)
  }

  @Test(arguments: [
    #"{"text":"a"}"#, #"{"text":"a","ssebench":{"n":1,"crc":"9AE0DAAF"}}"#, #"{"text":"a","ssebench":{"n":01,"crc":"9ae0daaf"}}"#,
    #"{"text":"a","ssebench":{"n":1,"crc":"9ae0daaf"}} "#, #"{"x":{"ssebench":{"n":1,"crc":"9ae0daaf"}}}"#,
    #"{"text":",\"ssebench\":{\"n\":1,\"crc\":\"9ae0daaf\"}}"}"#, #"{"text":"a","ssebench":{"n":-1,"crc":"9ae0daaf"}}"#,
    #""ssebench":{"n":1,"crc":"9ae0daaf"}}"#, #"{"ssebench":{"n":99999999999999999999,"crc":"9ae0daaf"}}"#, "", "}}",
  ])
  func anythingElse_isNoStamp(_ text: String) {
    #expect(meaning(text).stampNumber == -1)
  }

  @Test func checksum_coversTheTextThatIsThere() {
    var sink = MeaningSink(extractor: TokenExtractor(api: .openaiChat, decoder: .simdjson))
    let events = [
      #"{"choices":[{"index":0,"delta":{"content":"Hé\n"}}]}"#, #"{"choices":[{"index":0,"delta":{"reasoning_content":"r"}}]}"#,
      #"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}"#, #"{"choices":[]}"#,
    ]
    var parser = StreamParser(ParserSettings(.whatwg))
    body(.openaiChat, events).withUnsafeBytes { try! parser.feed($0, into: &sink) }

    #expect(sink.meanings.map(\.crc) == ["Hé\n", "r", "{", ""].map { CRC32C.checksum(Array($0.utf8)) })
  }

  @Test func stampedEvents_meanTheSameToScan() {
    func event(_ n: Int, _ text: String, stamped: Bool = true) -> String {
      #"{"choices":[{"index":0,"delta":{"content":"\#(text)"}}]"# + (stamped ? #","ssebench":{"n":\#(n),"crc":"9ae0daaf"}}"# : "}")
    }
    var exact = TokenExtractor(api: .openaiChat, decoder: .simdjson)
    var scan = TokenExtractor(api: .openaiChat, decoder: .scan)
    let scratch = ExtractorScratch()
    for text in [event(1, "a"), event(2, "bc"), event(10, "d\\n"), event(11, "x", stamped: false), event(12, "é"), event(13, "")] {
      let bytes = Array(text.utf8)
      bytes.withUnsafeBytes { data in
        let slices = EventSlices(data: data, type: UnsafeRawBufferPointer(start: nil, count: 0), lastEventID: data)
        let wanted = exact.read(slices, stamp: true, scratch: scratch)
        let (content, number) = (Array(wanted.content), wanted.stampNumber)
        let got = scan.read(slices, stamp: true, scratch: scratch)
        #expect(Array(got.content) == content)
        #expect(got.stampNumber == number)
      }
    }
  }
}
