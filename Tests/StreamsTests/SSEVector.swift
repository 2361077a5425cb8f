// The vectors of Tests/Vectors/sse, and events as plain values to compare.

import Foundation
import Primitives
import Streams
import Testing

/// An event as a value; fields that the parser leaves nil are nil.
struct PlainEvent: Equatable, CustomStringConvertible {
  var data: [UInt8]?
  var type: [UInt8]?
  var id: [UInt8]?
  var time: [UInt8]?
  var other: [UInt8]?

  init(_ event: EventSlices) {
    if event.fields.contains(.data) { data = Array(event.data) }
    if event.fields.contains(.type) { type = Array(event.type) }
    if event.fields.contains(.lastEventID) { id = Array(event.lastEventID) }
    if event.fields.contains(.time) { time = Array(event.time) }
    if event.fields.contains(.other) { other = Array(event.other) }
  }

  init(data: String?, type: String? = nil, id: String? = nil, time: String? = nil, other: String? = nil) {
    self.data = data.map { Array($0.utf8) }
    self.type = type.map { Array($0.utf8) }
    self.id = id.map { Array($0.utf8) }
    self.time = time.map { Array($0.utf8) }
    self.other = other.map { Array($0.utf8) }
  }

  init(data: String?, type: String?, id: String?, time: String?, otherNames: [String]?) {
    self.init(data: data, type: type, id: id, time: time)
    other = otherNames.map { Array($0.map { Array($0.utf8) }.joined(separator: [0xFF])) }
  }

  /// Bad UTF-8 replaced, as the standard decodes a stream.
  var repaired: PlainEvent {
    func repair(_ bytes: [UInt8]?) -> [UInt8]? { bytes.map { Array(String(decoding: $0, as: UTF8.self).utf8) } }
    var event = self
    (event.data, event.type, event.id, event.time, event.other) = (
      repair(data), repair(type), repair(id), repair(time), other
    )
    return event
  }

  var description: String {
    func text(_ bytes: [UInt8]?) -> String { bytes.map { String(decoding: $0, as: UTF8.self).debugDescription } ?? "nil" }
    return "(data \(text(data)), type \(text(type)), id \(text(id)), time \(text(time)), other \(text(other)))"
  }
}

/// Keeps the events it is given.
struct EventList: EventSink {
  var events: [PlainEvent] = []
  mutating func receive(_ event: EventSlices) { events.append(PlainEvent(event)) }
}

/// What came of a body.
struct Outcome: Equatable {
  var events: [PlainEvent]
  var lastEventID: [UInt8]
  var retry: Int64?
  var error: StreamError?
}

/// Feeds `body` cut into `pieces` (their lengths; the rest is the last one) and finishes.
func parse(_ body: [UInt8], _ settings: ParserSettings, cuts: [Int] = [], finishing: Bool = true) -> Outcome {
  var parser = StreamParser(settings)
  var list = EventList()
  var error: StreamError?
  do throws(StreamError) {
    var start = 0
    for cut in cuts + [body.count] {
      let end = min(max(cut, start), body.count)
      // A copy of its own for each read: slices that outlive a read are found out.
      let read = Array(body[start..<end])
      let result = read.withUnsafeBytes { bytes -> StreamError? in
        do throws(StreamError) {
          try parser.feed(bytes, into: &list)
          return nil
        } catch { return error }
      }
      if let result { throw result }
      start = end
    }
    if finishing { try parser.finish(into: &list) }
  } catch let caught {
    error = caught
  }
  return Outcome(events: list.events, lastEventID: Array(parser.lastEventID), retry: parser.retry, error: error)
}

struct SSEVector: Sendable, CustomTestStringConvertible {
  var id: String
  var feature: String
  var input: [UInt8]
  var expected: [(event: String, data: String, id: String)]
  var lastEventID: String
  var retry: Int64?
  var isSoft: Bool

  var testDescription: String { id }

  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Vectors")

  static let all: [SSEVector] = {
    let text = try! Data(contentsOf: folder.appending(path: "sse/sse-vectors.jsonl"))
    return text.split(separator: 0x0A).map { line in
      let value = try! JSONReader.read(line)
      return SSEVector(
        id: value["id"]!.asString!, feature: value["feature"]!.asString!,
        input: Array(Data(base64Encoded: value["input_b64"]!.asString!)!),
        expected: value["expect"]!.asArray!.map {
          ($0["event"]!.asString!, $0["data"]!.asString!, $0["id"]!.asString!)
        },
        lastEventID: value["last_event_id"]!.asString!, retry: value["retry_ms"]?.asInt.map(Int64.init),
        isSoft: value["notes"]?.asString?.hasPrefix("SOFT") ?? false)
    }
  }()

  /// Whether `outcome` is what the standard wants.
  func isMet(by outcome: Outcome) -> Bool {
    outcome.error == nil && outcome.events.count == expected.count
      && zip(outcome.events, expected).allSatisfy { got, wanted in
        got.repaired == PlainEvent(data: wanted.data, type: wanted.event, id: wanted.id)
      } && String(decoding: outcome.lastEventID, as: UTF8.self).utf8.elementsEqual(lastEventID.utf8)
      && outcome.retry == retry
  }
}
