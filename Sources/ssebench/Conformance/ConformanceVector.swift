// The vectors' file and the record of what the libraries gave, read strictly: a line that cannot be read is named by its number.

import Foundation
import Primitives
import Streams

/// An event as values; nil is what a parser leaves out.
struct VectorEvent: Equatable {
  var event: [UInt8]?
  var data: [UInt8]?
  var id: [UInt8]?
  var time: [UInt8]?
  var other: [UInt8]?

  init(_ slices: EventSlices) {
    func bytes(_ field: EventSlices.Fields, _ slice: UnsafeRawBufferPointer) -> [UInt8]? {
      slices.fields.contains(field) ? Array(String(decoding: slice, as: UTF8.self).utf8) : nil
    }
    event = bytes(.type, slices.type)
    data = bytes(.data, slices.data)
    id = bytes(.lastEventID, slices.lastEventID)
    time = bytes(.time, slices.time)
    other = slices.fields.contains(.other) ? Array(slices.other) : nil
  }

  init(_ value: JSONValue) {
    func bytes(_ key: String) -> [UInt8]? { value[key]?.asString.map { Array($0.utf8) } }
    event = bytes("event")
    data = bytes("data")
    id = bytes("id")
    time = bytes("time")
    other = value["other"]?.asObject.map { Array($0.keys.map { Array($0.utf8) }.joined(separator: [0xFF])) }
  }

  var document: JSONValue {
    func text(_ bytes: [UInt8]?) -> JSONValue { bytes.map { .string(String(decoding: $0, as: UTF8.self)) } ?? .null }
    return .object(["event": text(event), "data": text(data), "id": text(id)])
  }
}

/// What a body gave, or must give.
struct VectorOutcome: Equatable {
  var events: [VectorEvent]
  var lastEventID: [UInt8] = []
  var retry: Int64?

  var document: JSONValue {
    let shown = events.prefix(20).map(\.document)
    return .object([
      "events": .array(shown), "count": .integer(Int64(events.count)),
      "last_event_id": .string(String(decoding: lastEventID, as: UTF8.self)),
      "retry_ms": retry.map { .integer($0) } ?? .null,
    ])
  }
}

struct ConformanceVector {
  var id: String
  var feature: String
  var input: [UInt8]
  var expected: VectorOutcome
  /// A retry beyond Int64 may be ignored as well.
  var allowsOtherRetry: Bool

  static func read(_ file: String) throws -> [ConformanceVector] {
    var ids: Set<String> = []
    let vectors = try lines(file).map { number, value in
      guard let id = value["id"]?.asString, let feature = value["feature"]?.asString,
        let input = value["input_b64"]?.asString.flatMap({ Data(base64Encoded: $0) }),
        let expect = value["expect"]?.asArray, let lastEventID = value["last_event_id"]?.asString
      else {
        throw CommandFailure(
          .data, "\(file):\(number): not a vector; expected id, feature, input_b64, expect and last_event_id")
      }
      guard expect.allSatisfy({ $0["data"]?.asString != nil }) else {
        throw CommandFailure(.data, "\(file):\(number): expect: an event without data; expected objects with data, and event and id where they matter")
      }
      if let retry = value["retry_ms"], retry != .null, retry.asInt == nil {
        throw CommandFailure(.data, "\(file):\(number): retry_ms: expected a whole number of milliseconds or null")
      }
      guard ids.insert(id).inserted else { throw CommandFailure(.data, "\(file):\(number): id: \"\(id)\" stands on an earlier line, too") }
      return ConformanceVector(
        id: id, feature: feature, input: Array(input),
        expected: VectorOutcome(
          events: expect.map { VectorEvent($0) }, lastEventID: Array(lastEventID.utf8),
          retry: value["retry_ms"]?.asInt.map(Int64.init)),
        allowsOtherRetry: value["notes"]?.asString?.hasPrefix("SOFT:") ?? false)
    }
    if vectors.isEmpty { throw CommandFailure(.data, "\(file): no vectors in it") }
    return vectors
  }

  /// The lines of a file of JSON objects, with their numbers from 1.
  static func lines(_ file: String) throws -> [(number: Int, value: JSONValue)] {
    var bytes: [UInt8] = []
    let input = try InputBytes(file)
    try input.forEachRead(.whole, wholeMatters: false) {
      bytes.append(contentsOf: $0)
      if bytes.count > 256 << 20 { throw CommandFailure(.data, "\(file): more than 256 MiB") }
    }
    return try bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated().compactMap { index, line in
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x0D }) { return nil }
      do throws(JSONSyntaxError) {
        return (index + 1, try JSONReader.read(line))
      } catch {
        throw CommandFailure(.data, "\(file):\(index + 1):\(error.column): \(error.message)")
      }
    }
  }
}

/// What the libraries gave for the vectors, recorded from the libraries themselves; see Tests/Vectors/README.md.
struct LibraryRecords {
  struct Record {
    var whole: [VectorEvent]
    /// Where reads of one byte gave something else.
    var byByte: [VectorEvent]?
  }

  private var records: [String: Record] = [:]

  func record(_ mode: ParserMode, _ id: String) -> Record? { records["\(mode.rawValue) \(id)"] }
  func has(_ mode: ParserMode) -> Bool { records.keys.contains { $0.hasPrefix("\(mode.rawValue) ") } }

  /// `library-results.jsonl` in the folder of the vectors; none where there is no such file.
  static func read(beside vectors: String) throws -> LibraryRecords {
    let file = URL(filePath: vectors).deletingLastPathComponent().appending(path: "library-results.jsonl").path
    var all = LibraryRecords()
    guard FileManager.default.fileExists(atPath: file) else { return all }
    for (number, value) in try ConformanceVector.lines(file) {
      guard let id = value["id"]?.asString, let parser = value["parser"]?.asString, let events = value["events"]?.asArray
      else { throw CommandFailure(.data, "\(file):\(number): not a record; expected id, parser and events") }
      all.records["\(parser) \(id)"] = Record(
        whole: events.map { VectorEvent($0) }, byByte: value["events_by_byte"]?.asArray?.map { VectorEvent($0) })
    }
    return all
  }
}
