// A mock on a thread of its own with a control pipe, and a client that talks to it in bytes.

import Foundation
import MockServing
import Primitives
import Scenarios
import Testing

final class RunningMock: @unchecked Sendable {
  let port: Int
  private let commands: Int32
  private let answers: Int32
  private let isOver = DispatchSemaphore(value: 0)

  /// - Parameter change: the settings, from short and unpaced ones on.
  init(seed: UInt64 = 42, _ change: (inout MockSettings) -> Void = { _ in }) throws {
    var settings = MockSettings()
    settings.tokens = .constant(5)
    settings.firstToken = .constant(0)
    settings.interval = .constant(0)
    change(&settings)
    var toMock: [Int32] = [0, 0]
    var fromMock: [Int32] = [0, 0]
    try #require(pipe(&toMock) == 0 && pipe(&fromMock) == 0)
    commands = toMock[1]
    answers = fromMock[0]
    var options = MockOptions()
    options.settings = settings
    options.seed = seed
    options.controlInput = toMock[0]
    options.controlOutput = fromMock[1]
    let (input, output) = (toMock[0], fromMock[1])
    let started = DispatchSemaphore(value: 0)
    let found = Box()
    let isOver = isOver
    let chosen = options
    Thread.detachNewThread {
      do {
        var server = try MockServer(options: chosen)
        found.port = server.port
        started.signal()
        try server.run()
      } catch {
        found.error = "\(error)"
        started.signal()
      }
      close(input)
      close(output)
      isOver.signal()
    }
    started.wait()
    try #require(found.error == nil)
    port = found.port
  }

  private final class Box: @unchecked Sendable {
    var port = 0
    var error: String?
  }

  /// The end of the control pipe ends the mock.
  deinit {
    close(commands)
    isOver.wait()
    close(answers)
  }

  /// One command of the control pipe and its answer.
  func ask(_ line: String) throws -> JSONValue {
    _ = (line + "\n").withCString { write(commands, $0, strlen($0)) }
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(answers, &byte, 1) == 1, byte != 0x0A { bytes.append(byte) }
    return try JSONReader.read(bytes)
  }

  func stats() throws -> JSONValue { try #require(try ask("stats")["stats"]) }

  // MARK: requests

  func connect() throws -> RawConnection { try RawConnection(port: port) }

  /// One request on a connection of its own.
  func exchange(_ request: String) throws -> Answer {
    let connection = try connect()
    connection.send(request)
    return try connection.answer()
  }

  static func get(_ target: String, _ headers: String...) -> String {
    "GET \(target) HTTP/1.1\r\nHost: mock\r\n" + headers.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  static func post(_ target: String, _ body: String, _ headers: String...) -> String {
    "POST \(target) HTTP/1.1\r\nHost: mock\r\nContent-Length: \(body.utf8.count)\r\n"
      + headers.map { $0 + "\r\n" }.joined()
      + "\r\n" + body
  }

  static func chat(_ more: String = "", session: Int? = nil) -> String {
    let body = #"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello there"}]\#(more)}"#
    return session.map { post("/v1/chat/completions", body, "X-Ssebench-Session: \($0)") }
      ?? post("/v1/chat/completions", body)
  }

  /// A plain stream's session to its 204, as a client does that resumes by the last id.
  func session(_ number: Int, _ parameters: String = "", limit: Int = 50) throws -> SessionLog {
    var log = SessionLog()
    while log.answers.count < limit {
      var headers: [String] = []
      if let id = log.lastID { headers.append("Last-Event-ID: \(id)\r\n") }
      let connection: RawConnection
      do { connection = try connect() } catch { continue }
      connection.send(
        "GET /events?session=\(number)\(parameters) HTTP/1.1\r\nHost: mock\r\n\(headers.joined())\r\n")
      guard let answer = try? connection.answer() else { continue }
      log.answers.append(answer)
      if answer.status == 204 { return log }
      for event in answer.events { log.add(event) }
    }
    Issue.record("session \(number) did not end: \(log.answers.map(\.status))")
    return log
  }
}

/// What a resuming client got.
struct SessionLog {
  var answers: [Answer] = []
  var lastID: String?
  var events: [Answer.Event] = []
  var numbers: [Int] { events.compactMap(\.number) }

  mutating func add(_ event: Answer.Event) {
    if let id = event.id { lastID = id.isEmpty ? nil : id }
    if event.data != nil { events.append(event) }
  }

  /// Counts as a ledger makes them that knows numbers and checksums only.
  func counts(expected: Int) -> (lost: Int, duplicated: Int, reordered: Int, corrupted: Int) {
    var seen: Set<Int> = []
    var (duplicated, reordered, corrupted, highest) = (0, 0, 0, 0)
    for event in events {
      guard let number = event.number else { continue }
      if !event.isIntact { corrupted += 1 }
      if !seen.insert(number).inserted {
        duplicated += 1
      } else if number < highest {
        reordered += 1
      }
      highest = max(highest, number)
    }
    return (Set(1...max(1, expected)).subtracting(seen).count, duplicated, reordered, corrupted)
  }
}

final class RawConnection {
  let descriptor: Int32
  private var pending: [UInt8] = []

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    // `deinit` closes the descriptor, also of an object whose `init` throws.
    if connected != 0 { throw Refused() }
  }

  struct Refused: Error {}

  deinit { close(descriptor) }

  func send(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      bytes = bytes.dropFirst(count)
    }
  }

  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The next answer: to the end that its framing states, else to the end of the connection.
  func answer(toHead: Bool = false) throws -> Answer {
    var end: Answer.End? = nil
    while true {
      // A large body is looked at again only where it may have ended.
      let mayBeWhole =
        pending.count < 1 << 19 || end != nil || pending.suffix(4).elementsEqual("\r\n\r\n".utf8)
      if mayBeWhole, let answer = Answer(pending, end: end, toHead: toHead) {
        pending.removeFirst(answer.length)
        return answer
      }
      if end != nil { throw Incomplete(bytes: String(decoding: pending, as: UTF8.self)) }
      var buffer = [UInt8](repeating: 0, count: 65536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 {
        pending += buffer[..<count]
      } else {
        end = count == 0 ? .closed : errno == ECONNRESET ? .reset : .silent
      }
    }
  }

  struct Incomplete: Error { var bytes: String }
}

struct Answer {
  enum End: Equatable {
    /// As the framing says.
    case proper
    case closed, reset, silent
  }

  struct Event: Equatable {
    var id: String?
    var event: String?
    var retry: String?
    var data: String?

    var json: JSONValue? { data.flatMap { try? JSONReader.read($0) } }
    var number: Int? { json?["ssebench"]?["n"]?.asInt }
    var text: String? {
      json?["text"]?.asString ?? json?["choices"]?[0]?["delta"]?["content"]?.asString
    }
    /// Whether the text has the checksum that stands beside it.
    var isIntact: Bool {
      guard let stated = json?["ssebench"]?["crc"]?.asString else { return false }
      let sum = String(CRC32C.checksum((text ?? "").utf8), radix: 16)
      return stated == String(repeating: "0", count: 8 - sum.count) + sum
    }
  }

  var status = 0
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var end = End.proper
  /// Bytes of the connection that it took.
  var length = 0

  var text: String { String(decoding: body, as: UTF8.self) }

  /// Nil while more bytes are needed.
  init?(_ bytes: [UInt8], end: End?, toHead: Bool) {
    guard let headEnd = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<headEnd.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    status = Int(lines[0].split(separator: " ")[1]) ?? 0
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
        in: .whitespaces)
    }
    let rest = Array(bytes[headEnd.upperBound...])
    if status == 204 || status == 100 || toHead {
      length = headEnd.upperBound
      return
    }
    if headers["transfer-encoding"] == "chunked" {
      var at = 0
      while true {
        guard let lineEnd = rest[at...].firstRange(of: [0x0D, 0x0A]) else { break }
        guard let size = Int(String(decoding: rest[at..<lineEnd.lowerBound], as: UTF8.self), radix: 16) else {
          return nil
        }
        let start = lineEnd.upperBound
        if size == 0 {
          guard rest.count >= start + 2 else { break }
          length = headEnd.upperBound + start + 2
          return
        }
        body += rest[start..<min(rest.count, start + size)]
        at = start + size + 2
        if at > rest.count { break }
      }
    } else if let count = headers["content-length"].flatMap({ Int($0) }) {
      body = Array(rest.prefix(count))
      if rest.count >= count {
        length = headEnd.upperBound + count
        return
      }
    } else {
      body = rest
    }
    guard let end else { return nil }
    self.end = end
    length = bytes.count
  }

  /// The events that are complete, in the simple form in which the mock writes them.
  var events: [Event] {
    var events: [Event] = []
    // Bytes, since a String of megabytes is slow to cut.
    let bytes = body.contains(0x0D) ? Array(text.replacingOccurrences(of: "\r\n", with: "\n").utf8) : body
    var event = Event()
    var isEmpty = true
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
      if line.isEmpty {
        if !isEmpty { events.append(event) }
        (event, isEmpty) = (Event(), true)
        continue
      }
      isEmpty = false
      guard let colon = line.firstIndex(of: 0x3A) else { continue }
      let value = String(decoding: line[(colon + 1)...].drop { $0 == 0x20 }, as: UTF8.self)
      switch String(decoding: line[..<colon], as: UTF8.self) {
      case "id": event.id = value
      case "event": event.event = value
      case "retry": event.retry = value
      case "data": event.data = value
      default: break
      }
    }
    return events
  }
}
