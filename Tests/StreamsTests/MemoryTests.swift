// Bytes that must not be touched and memory that must not be taken: input against an unreadable page, allocations counted.

import CPlatform
import Foundation
import FoundationClients
import Primitives
import Streams
import Testing

/// Bytes that end at, or begin after, a page that cannot be read.
final class GuardedBytes {
  private let base: UnsafeMutableRawPointer
  private let length: Int
  private let page = sysconf(Int32(_SC_PAGESIZE))

  /// Room for `capacity` bytes between two unreadable pages.
  init(capacity: Int) {
    let pages = (capacity + page - 1) / page
    length = (pages + 2) * page
    base = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    mprotect(base, page, PROT_NONE)
    mprotect(base + length - page, page, PROT_NONE)
  }

  deinit { munmap(base, length) }

  func atEnd(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let start = base + length - page - bytes.count
    bytes.withUnsafeBytes { if bytes.count > 0 { start.copyMemory(from: $0.baseAddress!, byteCount: bytes.count) } }
    return UnsafeRawBufferPointer(start: start, count: bytes.count)
  }

  func atStart(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let start = base + page
    bytes.withUnsafeBytes { if bytes.count > 0 { start.copyMemory(from: $0.baseAddress!, byteCount: bytes.count) } }
    return UnsafeRawBufferPointer(start: start, count: bytes.count)
  }
}

private struct CountingSink: EventSink {
  var events = 0
  var bytes = 0
  mutating func receive(_ event: EventSlices) {
    events += 1
    bytes += event.data.count
  }
}

private struct ExtractingSink: EventSink {
  var extractor: TokenExtractor
  let scratch: ExtractorScratch
  var content = 0
  var events = 0
  mutating func receive(_ event: EventSlices) {
    var meaning = EventMeaning()
    extractor.read(event, stamp: true, scratch: scratch, into: &meaning)
    content += meaning.content.count
    events += 1
  }
}

@Suite(.serialized) struct MemoryTests {
  @Test(arguments: LineScan.allCases.filter(\.isSupported))
  func parser_readsNothingOutsideItsInput(_ path: LineScan) throws {
    let usual = LineScan.current
    path.use()
    defer { usual.use() }
    let guarded = GuardedBytes(capacity: 1 << 16)
    for index in 0..<2000 {
      var streams = RandomStreams(seed: 51, index: index)
      let body = index % 8 == 0 ? streams.longBody() : streams.body()
      for mode in [ParserMode.whatwg, .dataOnly, .ndjson, .lines, .custom, .eventsource] {
        var sink = CountingSink()
        var parser = StreamParser(ParserSettings(mode))
        let cut = streams.next(below: body.count + 1)
        try parser.feed(guarded.atEnd(Array(body[..<cut])), into: &sink)
        try parser.feed(guarded.atStart(Array(body[cut...])), into: &sink)
        try parser.feed(guarded.atEnd(body), into: &sink)
        try parser.finish(into: &sink)
      }
    }
    for length in 0..<400 {
      var sink = CountingSink()
      var parser = StreamParser(ParserSettings(.whatwg))
      try parser.feed(guarded.atEnd(Array(repeating: UInt8(ascii: "d"), count: length)), into: &sink)
      try parser.feed(guarded.atEnd(Array(repeating: 0x0A, count: length)), into: &sink)
    }
  }

  @Test(arguments: [DecoderKind.simdjson, .scan])
  func decoder_readsNothingOutsideItsInput(_ decoder: DecoderKind) {
    let guarded = GuardedBytes(capacity: 1 << 16)
    let scratch = ExtractorScratch()
    var texts = [
      #"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#, #"{"text":"\u00e9\ud83d"}"#, "{", "[", "\"", "1", "-", "nul", "{\"a\":", "[DONE]",
      "", " ", #"{"text":"x","ssebench":{"n":1,"crc":"9ae0daaf","t_ns":"12"}}"#, "{\"\\u0074ext\":\"x\"}", "{}", "}}",
    ].map { Array($0.utf8) }
    texts += texts.flatMap { text in (0..<text.count).map { Array(text[..<$0]) } }
    texts += (1..<200).map { Array("{\"text\":\"\(String(repeating: "x", count: $0))\"}".utf8) }
    for api in StreamAPI.allCases {
      var extractor = TokenExtractor(api: api, decoder: decoder)
      for text in texts + texts {
        for slice in [guarded.atEnd(text), guarded.atStart(text)] {
          let event = EventSlices(data: slice, type: UnsafeRawBufferPointer(start: nil, count: 0), lastEventID: slice)
          _ = extractor.read(event, stamp: true, scratch: scratch)
        }
      }
    }
  }

  /// Fixed events that each lie in one read: single and joined data, ids, types, CRLF.
  static let bodies = [
    String(repeating: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"token\"}}]}\n\n", count: 100),
    String(repeating: "id: 123\r\nevent: delta\r\ndata: a\r\ndata: b\r\n\r\n", count: 100),
    String(repeating: ": keep-alive\n\n", count: 100) + "data\n\n",
  ]

  @Test(arguments: bodies.indices, [ParserMode.whatwg, .dataOnly])
  func eventInOneRead_allocatesNothing(_ index: Int, _ mode: ParserMode) throws {
    guard let allocated = CPlatform_thread_allocated() else { return }
    let body = Array(Self.bodies[index].utf8)
    var sink = CountingSink()
    var parser = StreamParser(ParserSettings(mode))
    try body.withUnsafeBytes { bytes in
      try parser.feed(bytes, into: &sink)

      let before = allocated.pointee
      for _ in 0..<100 { try parser.feed(bytes, into: &sink) }
      let after = allocated.pointee

      #expect(after - before == 0)
    }
    #expect(sink.events >= 101)
  }

  @Test(arguments: [DecoderKind.simdjson, .scan, .none])
  func parseAndExtract_allocateNothing(_ decoder: DecoderKind) throws {
    guard let allocated = CPlatform_thread_allocated() else { return }
    let chunks = [
      #"{"model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#,
      #"{"model":"m","choices":[{"index":0,"delta":{"content":"\n\ud83d\ude00 é"},"finish_reason":null}]}"#,
      #"{"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
      #"{"model":"m","choices":[{"index":0,"delta":{"content":"x"}}],"ssebench":{"n":1,"crc":"9ae0daaf","t_ns":"123"}}"#,
      #"{"error":{"message":"m"}}"#, "[DONE]", "not json",
    ]
    let body = Array(chunks.map { "data: \($0)\n\n" }.joined().utf8)
    var sink = ExtractingSink(extractor: TokenExtractor(api: .openaiChat, decoder: decoder), scratch: ExtractorScratch())
    var parser = StreamParser(ParserSettings(.whatwg))
    try body.withUnsafeBytes { bytes in
      try parser.feed(bytes, into: &sink)
      try parser.feed(bytes, into: &sink)

      let before = allocated.pointee
      for _ in 0..<100 { try parser.feed(bytes, into: &sink) }
      let after = allocated.pointee

      #expect(after - before == 0)
    }
    #expect(sink.events == 102 * chunks.count)
  }

  /// Work, not time: what a byte costs must not grow with the event. Counted as bytes copied into buffers, by way of what is allocated.
  @Test func hugeEvent_isHeldOnce() throws {
    guard let allocated = CPlatform_thread_allocated() else { return }
    let read = Array(repeating: UInt8(ascii: "x"), count: 1460)
    for size in [1 << 20, 4 << 20] {
      var sink = CountingSink()
      var parser = StreamParser(ParserSettings(.whatwg))
      feed("data: ", &parser, into: &sink)
      let before = allocated.pointee
      try read.withUnsafeBytes { bytes in
        for _ in 0..<(size / 1460) { try parser.feed(bytes, into: &sink) }
      }
      feed("\n\n", &parser, into: &sink)

      #expect(sink.bytes == size / 1460 * 1460)
      #expect(Int(allocated.pointee - before) <= 5 * size)
      #expect(parser.heldBytes == 0)
    }
  }

  private func feed(_ text: String, _ parser: inout StreamParser, into sink: inout CountingSink) {
    let bytes = Array(text.utf8)
    bytes.withUnsafeBytes { try? parser.feed($0, into: &sink) }
  }
}
