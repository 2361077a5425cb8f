// The fuzz targets, one chosen by FUZZ_TARGET: each compares a parser mode or a decoder with something slower that shares no code with it, on
// whatever libFuzzer makes up. A difference stops the process, which libFuzzer takes for a crash. Built by run.sh, not by the package.

import Foundation
import FoundationClients
import Primitives
import Streams

enum FuzzTarget: String, CaseIterable {
  case whatwg, dataOnly = "data-only", eventsource, eventsourceDataOnly = "eventsource-data-only", lines, ndjson, custom, limits
  case simdjson, scan, foundation
}

let target = ProcessInfo.processInfo.environment["FUZZ_TARGET"].flatMap(FuzzTarget.init(rawValue:)) ?? .whatwg
nonisolated(unsafe) let scratch = ExtractorScratch(foreignDecoder: FoundationDecoder())

struct Event: Equatable {
  var fields: UInt8
  var data: [UInt8]
  var type: [UInt8]
  var id: [UInt8]
  var other: [UInt8]
  var time: [UInt8]
}

struct ListSink: EventSink {
  var events: [Event] = []
  mutating func receive(_ event: EventSlices) {
    events.append(
      Event(
        fields: event.fields.rawValue, data: Array(event.data), type: Array(event.type), id: Array(event.lastEventID),
        other: Array(event.other), time: Array(event.time)))
  }
}

struct Result: Equatable {
  var events: [Event]
  var id: [UInt8]
  var retry: Int64?
  var error: StreamError?
}

/// Each read is a copy of its own, so that the address sanitizer sees what lies behind it.
func parse(_ body: [UInt8], _ settings: ParserSettings, _ cuts: [Int], finishing: Bool = true) -> Result {
  var parser = StreamParser(settings)
  var sink = ListSink()
  var error: StreamError?
  var start = 0
  for cut in cuts + [body.count] where error == nil {
    let read = UnsafeMutableRawBufferPointer.allocate(byteCount: cut - start, alignment: 1)
    read.copyBytes(from: body[start..<cut])
    do throws(StreamError) { try parser.feed(UnsafeRawBufferPointer(read), into: &sink) } catch let caught { error = caught }
    read.deallocate()
    start = cut
  }
  if finishing, error == nil { try? parser.finish(into: &sink) }
  return Result(events: sink.events, id: Array(parser.lastEventID), retry: parser.retry, error: error)
}

func repaired(_ bytes: [UInt8]) -> [UInt8] { Array(String(decoding: bytes, as: UTF8.self).utf8) }

func same<T: Equatable>(_ got: T, _ wanted: T, _ what: String) {
  if got != wanted { fatalError("\(what): \(got) instead of \(wanted)") }
}

func checkWHATWG(_ body: [UInt8], _ cuts: [Int], _ seed: UInt64) {
  let paths = LineScan.allCases.filter(\.isSupported)
  paths[Int(seed % UInt64(paths.count))].use()
  let got = parse(body, ParserSettings(.whatwg), cuts)
  let oracle = StandardOracle(body)
  same(got.events.map { [repaired($0.type), repaired($0.data), repaired($0.id)] }, oracle.events.map { [$0.type, $0.data, $0.lastEventID] }, "events")
  same(repaired(got.id), Array(oracle.lastEventID.utf8), "last event id")
  same(got.retry, oracle.retry, "retry")
}

func checkEventSource(_ body: [UInt8], _ cuts: [Int], _ mode: ParserMode) {
  var oracle = EventSourceOracle(isDataOnly: mode == .eventsourceDataOnly)
  var wanted: [EventSourceOracle.Event] = []
  var start = 0
  for cut in cuts + [body.count] {
    wanted += oracle.read(Array(body[start..<cut]))
    start = cut
  }
  for fix in [false, true] {
    let got = parse(body, ParserSettings(mode, hasBufferFix: fix), cuts).events.map { event in
      func text(_ field: EventSlices.Fields, _ bytes: [UInt8]) -> String? {
        EventSlices.Fields(rawValue: event.fields).contains(field) ? String(decoding: bytes, as: UTF8.self) : nil
      }
      let names = EventSlices.Fields(rawValue: event.fields).contains(.other) ? event.other.split(separator: 0xFF, omittingEmptySubsequences: false) : nil
      return EventSourceOracle.Event(
        id: text(.lastEventID, event.id), event: text(.type, event.type), data: text(.data, event.data),
        time: text(.time, event.time), other: names.map { Set($0.map { Array($0) }) })
    }
    same(got, wanted, "events")
  }
}

/// Errors do not depend on the cut, and neither does what comes before them.
func checkLimits(_ body: [UInt8], _ cuts: [Int]) {
  for mode in [ParserMode.whatwg, .dataOnly] {
    let settings = ParserSettings(mode, lineLimit: 24, eventLimit: 16)
    same(parse(body, settings, cuts), parse(body, settings, []), "limits in \(mode)")
  }
}

/// Our reading of JSON against another strict one, where that one has no limits of its own.
func checkJSON(_ body: [UInt8]) {
  if body.starts(with: [0xEF, 0xBB, 0xBF]) || String(validating: body, as: UTF8.self) == nil { return }
  let reader = read([body], .openaiChat, .simdjson)
  do throws(JSONSyntaxError) {
    let value = try JSONReader.read(body)
    if case .object = value { same(reader.undecodable, 0, "undecodable of an object") }
  } catch {
    let isOurs = ["half of a surrogate", "stands twice", "too large"].contains { error.message.contains($0) } || error.isTooDeep
    let trimmed = String(decoding: body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines.union(.controlCharacters))
    if !isOurs, trimmed.hasPrefix("{") { same(reader.undecodable, 1, "undecodable of '\(trimmed)': \(error.message)") }
  }
}

func read(_ events: [[UInt8]], _ api: StreamAPI, _ decoder: DecoderKind) -> ResponseReader {
  var reader = ResponseReader(api: api, decoder: decoder, scratch: scratch)
  for event in events {
    let data = UnsafeMutableRawBufferPointer.allocate(byteCount: event.count, alignment: 1)
    data.copyBytes(from: event)
    reader.read(EventSlices(data: UnsafeRawBufferPointer(data), type: messageType, lastEventID: UnsafeRawBufferPointer(start: nil, count: 0)))
    data.deallocate()
  }
  return reader
}

func compare(_ a: ResponseReader, _ b: ResponseReader) {
  same(a.texts, b.texts, "texts")
  same(a.reasoning, b.reasoning, "reasoning")
  same(a.refusal, b.refusal, "refusal")
  same(a.toolCalls, b.toolCalls, "tool calls")
  same(a.finishReasons, b.finishReasons, "finish reasons")
  same(a.usage, b.usage, "usage")
  same(a.terminal, b.terminal, "terminal")
  same(a.error == nil, b.error == nil, "error")
  same([a.contentChunks, a.reasoningChunks, a.toolChunks, a.undecodable], [b.contentChunks, b.reasoningChunks, b.toolChunks, b.undecodable], "counts")
}

/// Events one after another: what `scan` remembers of one must not change the next.
func checkScan(_ body: [UInt8], _ seed: UInt64) {
  let events = body.split(separator: 0x0A).map { Array($0) }
  for api in [StreamAPI.openaiChat, .anthropicMessages, .sse, .ollama] {
    compare(read(events, api, .scan), read(events, api, .simdjson))
    var scan = TokenExtractor(api: api, decoder: .scan)
    var exact = TokenExtractor(api: api, decoder: .simdjson)
    for event in events {
      event.withUnsafeBytes { data in
        let slices = EventSlices(data: data, type: messageType, lastEventID: UnsafeRawBufferPointer(start: nil, count: 0))
        let wanted = exact.read(slices, stamp: true, scratch: scratch)
        let (text, flags, number) = (Array(wanted.text), wanted.flags.subtracting(.model), wanted.stampNumber)
        let got = scan.read(slices, stamp: true, scratch: scratch)
        same(Array(got.text), text, "text")
        same(got.flags.subtracting(.model), flags, "flags")
        same(got.stampNumber, number, "stamp")
      }
    }
  }
}

/// Where a strict reader without any tolerance takes the text, Foundation and simdjson read the same in it.
func checkFoundation(_ body: [UInt8]) {
  let isStrict = !body.starts(with: [0xEF, 0xBB, 0xBF]) && (try? JSONReader.read(body)) != nil
  for api in StreamAPI.allCases {
    let foundation = read([body], api, .foundation)
    if isStrict { compare(foundation, read([body], api, .simdjson)) }
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var body = Array(UnsafeBufferPointer(start: bytes, count: count))
  var cuts: [Int] = []
  var seed: UInt64 = 0
  if ![FuzzTarget.simdjson, .foundation, .scan].contains(target) {
    // The last bytes choose the cuts, so that the body stays what it is when they change.
    guard body.count >= 2 else { return 0 }
    seed = UInt64(body.removeLast()) << 8 | UInt64(body.removeLast())
    var random = SeededRandom(seed: seed)
    cuts = seed % 5 == 0 ? Array(0..<body.count) : (0..<Int(seed % 7)).map { _ in Int(random.next() % UInt64(body.count + 1)) }.sorted()
  }
  switch target {
  case .whatwg: checkWHATWG(body, cuts, seed)
  case .dataOnly:
    let got = parse(body, ParserSettings(.dataOnly), cuts)
    same(got.events.map(\.data), parse(body, ParserSettings(.whatwg), []).events.map(\.data), "data")
  case .eventsource: checkEventSource(body, cuts, .eventsource)
  case .eventsourceDataOnly: checkEventSource(body, cuts, .eventsourceDataOnly)
  case .lines: same(parse(body, ParserSettings(.lines), cuts).events.map(\.data), LinesOracle.payloads(body), "payloads")
  case .ndjson: same(parse(body, ParserSettings(.ndjson), cuts), parse(body, ParserSettings(.ndjson), []), "cut")
  case .custom:
    let settings = ParserSettings(.custom, custom: CustomFormat(record: "\n\n", field: ": ", fields: ["event", "id", "data"]))
    same(parse(body, settings, cuts), parse(body, settings, []), "cut")
  case .limits: checkLimits(body, cuts)
  case .simdjson: checkJSON(body)
  case .scan: checkScan(body, 0)
  case .foundation: checkFoundation(body)
  }
  return 0
}
