// A real response as it arrived, kept as JSON lines: `ssebench record` writes them, the mock serves them again with the
// same timing. Knows no event: a line is what one read brought.

package import Primitives

/// A recording. The file's first line is the head, each further line one read:
///
///     {"format":"ssebench-recording","version":1,"url":"…","status":200,"headers":{"content-type":"text/event-stream"}}
///     {"t_ms":203.114,"data":"data: {…}\n\n"}
///     {"t_ms":223.250,"data_b64":"4oCm"}
///     {"t_ms":240.001,"end":"complete"}
///
/// `t_ms` counts from the moment the request had been sent and never falls. `data` holds what is UTF-8, `data_b64` the
/// rest, in standard Base64. The last line says how the body ended, `complete` or an error kind; without it the
/// recording was cut off, and so is its replay.
package struct RecordedStream: Sendable, Equatable {
  package struct Read: Sendable, Equatable {
    package var at: Nanoseconds
    package var bytes: [UInt8]

    package init(at: Nanoseconds, bytes: [UInt8]) {
      self.at = at
      self.bytes = bytes
    }
  }

  /// Largest file that is read.
  package static let maximumFile = 256 << 20

  package var url = ""
  package var status = 200
  /// Names in lower case.
  package var headers: [(name: String, value: String)] = []
  package var reads: [Read] = []
  /// `complete`, an error kind, or nil where the recording was cut off.
  package var end: String?

  package init() {}

  package static func == (a: RecordedStream, b: RecordedStream) -> Bool {
    a.url == b.url && a.status == b.status && a.reads == b.reads && a.end == b.end
      && a.headers.elementsEqual(b.headers) { $0 == $1 }
  }

  package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  // MARK: writing

  /// The first line, with its line end.
  package var headLine: String {
    var object = JSONObject([
      ("format", .string("ssebench-recording")), ("version", .integer(1)), ("url", .string(url)),
      ("status", .integer(Int64(status))),
    ])
    var names = JSONObject()
    for header in headers { names[header.name] = .string(header.value) }
    object["headers"] = .object(names)
    return JSONValue.object(object).text() + "\n"
  }

  /// The line of one read, with its line end.
  package static func line(_ read: Read) -> String {
    let data: (String, JSONValue) =
      if let text = String(validating: read.bytes, as: UTF8.self) {
        ("data", .string(text))
      } else {
        ("data_b64", .string(Base64.encode(read.bytes)))
      }
    return JSONValue.object(JSONObject([("t_ms", .number(read.at.milliseconds)), data])).text() + "\n"
  }

  /// The last line, with its line end.
  package static func endLine(at time: Nanoseconds, _ end: String) -> String {
    JSONValue.object(JSONObject([("t_ms", .number(time.milliseconds)), ("end", .string(end))])).text() + "\n"
  }

  // MARK: reading

  /// Reads a recording from a file.
  package static func load(_ file: String) throws(MockError) -> RecordedStream {
    guard let bytes = SocketCalls.readFile(file, limit: maximumFile) else {
      throw .badRecording(file: file, reason: "cannot be read, or is over 256 MiB")
    }
    return try read(bytes, file: file)
  }

  /// - Parameter file: the name for errors.
  package static func read(_ bytes: [UInt8], file: String) throws(MockError) -> RecordedStream {
    var recording = RecordedStream()
    var number = 0
    var last = Nanoseconds.zero
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      number += 1
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      let value: JSONValue
      do throws(JSONSyntaxError) {
        value = try JSONReader.read(line)
      } catch {
        throw .badRecording(file: file, reason: "line \(number), column \(error.column): \(error.message)")
      }
      func fail(_ reason: String) -> MockError {
        .badRecording(file: file, reason: "line \(number): \(reason)")
      }
      if number == 1 {
        guard value["format"]?.asString == "ssebench-recording" else {
          throw fail(#"expected the head of a recording, {"format":"ssebench-recording",…}"#)
        }
        guard value["version"]?.asInt == 1 else { throw fail("version: only 1 is known") }
        guard let status = value["status"]?.asInt, (100...599).contains(status) else {
          throw fail("status: expected 100 to 599")
        }
        recording.status = status
        recording.url = value["url"]?.asString ?? ""
        for pair in value["headers"]?.asObject?.pairs ?? [] {
          recording.headers.append((pair.key.lowercased(), pair.value.asString ?? ""))
        }
        continue
      }
      if number > 1, recording.end != nil { throw fail("a line after the end") }
      guard let milliseconds = value["t_ms"]?.asDouble, milliseconds >= 0, milliseconds < 86_400_000 else {
        throw fail("t_ms: expected milliseconds from 0 to a day")
      }
      let time = Nanoseconds.milliseconds(milliseconds)
      if time < last { throw fail("t_ms: earlier than the line before") }
      last = time
      if let end = value["end"]?.asString {
        recording.end = end
      } else if let text = value["data"]?.asString {
        recording.reads.append(Read(at: time, bytes: Array(text.utf8)))
      } else if let text = value["data_b64"]?.asString, let data = Base64.decode(text) {
        recording.reads.append(Read(at: time, bytes: data))
      } else {
        throw fail("expected data, data_b64 or end")
      }
    }
    if number == 0
      || (recording.reads.isEmpty && recording.headers.isEmpty && recording.url.isEmpty
        && recording.end == nil)
    {
      throw .badRecording(file: file, reason: "empty")
    }
    return recording
  }
}

/// RFC 4648, section 4.
enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let group =
        UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
        | (left > 2 ? UInt32(bytes[index + 2]) : 0)
      out.append(digits[Int(group >> 18)])
      out.append(digits[Int(group >> 12 & 63)])
      out.append(left > 1 ? digits[Int(group >> 6 & 63)] : 0x3D)
      out.append(left > 2 ? digits[Int(group & 63)] : 0x3D)
      index += 3
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Nil for what is not Base64.
  static func decode(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    guard bytes.count % 4 == 0 else { return nil }
    let padding = bytes.reversed().prefix { $0 == 0x3D }.count
    guard padding <= 2 else { return nil }
    var out: [UInt8] = []
    var group: UInt32 = 0
    for (index, byte) in bytes.dropLast(padding).enumerated() {
      guard let value = digits.firstIndex(of: byte) else { return nil }
      group = group << 6 | UInt32(value)
      if index % 4 == 3 {
        out.append(contentsOf: [UInt8(group >> 16 & 255), UInt8(group >> 8 & 255), UInt8(group & 255)])
        group = 0
      }
    }
    if padding == 1 { out.append(contentsOf: [UInt8(group >> 10 & 255), UInt8(group >> 2 & 255)]) }
    if padding == 2 { out.append(UInt8(group >> 4 & 255)) }
    return out
  }
}
