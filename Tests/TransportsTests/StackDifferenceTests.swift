import TestSupport
import Testing
import Transports

/// The same hostile response to both stacks: status, body and kind of end must agree, but for the differences that are
/// listed here, each with its reason. Sections are RFC 9112's where nothing else is said.
@Suite struct StackDifferenceTests {
  struct Case: Sendable {
    var name: String
    var response: String
    var ending = Ending.close
    /// What both stacks report: status (0: no head), body, end.
    var status: Int
    var body: String
    var end: String
    /// What libcurl may report instead, in its versions from 7.88 on, and why.
    var curl: [(status: Int, body: String, end: String)] = []
    var why = ""

    enum Ending: Sendable { case close, reset, hold }
  }

  static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
  static let ok = "HTTP/1.1 200 OK\r\n"

  static let cases: [Case] = [
    Case(name: "whole body by length", response: ok + "Content-Length: 5\r\n\r\nhello", status: 200, body: "hello", end: "complete"),
    Case(name: "whole body by chunks", response: chunked + "5\r\nhello\r\n0\r\n\r\n", status: 200, body: "hello", end: "complete"),
    Case(name: "HTTP/1.0, ends with the connection", response: "HTTP/1.0 200 OK\r\n\r\nhello", status: 200, body: "hello", end: "complete"),
    Case(name: "no framing", response: ok + "\r\nhello", status: 200, body: "hello", end: "complete"),
    Case(name: "204 with a length", response: "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", status: 204, body: "", end: "complete"),
    Case(name: "interim heads", response: "HTTP/1.1 103 Early\r\nX: y\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nok", status: 200, body: "ok", end: "complete"),
    Case(name: "trailers", response: chunked + "2\r\nok\r\n0\r\nA: b\r\nC: d\r\n\r\n", status: 200, body: "ok", end: "complete"),
    Case(name: "chunk extensions", response: chunked + "2;a=\"b;c\"\r\nok\r\n0;x\r\n\r\n", status: 200, body: "ok", end: "complete"),
    Case(name: "status 500 with a body", response: "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", status: 500, body: "no", end: "complete"),
    Case(name: "bare LF in the head", response: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", status: 200, body: "ok", end: "complete"),
    Case(name: "reused too early: bytes behind the body", response: ok + "Content-Length: 2\r\n\r\nokEXTRA", status: 200, body: "ok", end: "complete"),

    Case(name: "cut inside a body by length", response: ok + "Content-Length: 9\r\n\r\nhello", status: 200, body: "hello", end: "cut"),
    Case(name: "cut inside a chunk", response: chunked + "9\r\nhello", status: 200, body: "hello", end: "cut"),
    Case(name: "cut between chunks", response: chunked + "5\r\nhello\r\n", status: 200, body: "hello", end: "cut"),
    Case(name: "cut inside a chunk size", response: chunked + "5\r\nhello\r\n1", status: 200, body: "hello", end: "cut"),
    Case(name: "cut before the end of the trailers", response: chunked + "5\r\nhello\r\n0\r\nA: b\r\n", status: 200, body: "hello", end: "cut"),
    Case(name: "cut inside the head", response: ok + "Content-Ty", status: 0, body: "", end: "cut"),
    Case(name: "cut before the blank line", response: ok + "Content-Type: text/event-stream\r\n", status: 0, body: "", end: "cut"),
    Case(name: "cut inside the status line", response: "HTTP/1.1 20", status: 0, body: "", end: "cut", curl: [(0, "", "reset")], why: "8 calls both incomplete; libcurl has seen no answer yet"),
    Case(name: "cut after an interim head", response: "HTTP/1.1 103 Early Hints\r\n\r\n", status: 0, body: "", end: "reset"),
    Case(name: "304 with a Location", response: "HTTP/1.1 304 Not Modified\r\nLocation: /other\r\n\r\n", status: 304, body: "", end: "complete"),
    Case(name: "300 with a Location", response: "HTTP/1.1 300 Choices\r\nLocation: /other\r\nContent-Length: 2\r\n\r\nok", status: 300, body: "ok", end: "complete"),
    Case(name: "no answer at all", response: "", status: 0, body: "", end: "reset"),
    Case(name: "reset inside a body", response: ok + "Content-Length: 9\r\n\r\nhello", ending: .reset, status: 200, body: "hello", end: "reset"),

    Case(name: "chunk size that is no number", response: chunked + "5\r\nhello\r\nzz\r\n", status: 200, body: "hello", end: "protocolViolation"),
    Case(name: "no line end after a chunk", response: chunked + "5\r\nhelloX\r\n0\r\n\r\n", status: 200, body: "hello", end: "protocolViolation"),
    Case(name: "chunk size beyond 64 bits", response: chunked + "11111111111111111\r\nx", status: 200, body: "", end: "protocolViolation"),
    Case(name: "HTTP/0.9", response: "hello, this is no head at all\r\n\r\n", status: 0, body: "", end: "protocolViolation"),
    Case(name: "head over its limit", response: ok + "X: \(String(repeating: "a", count: 400_000))\r\n\r\n", status: 0, body: "", end: "protocolViolation"),
    Case(name: "Content-Length that is no number", response: ok + "Content-Length: x\r\n\r\nhello", status: 0, body: "", end: "protocolViolation"),
    Case(name: "negative Content-Length", response: ok + "Content-Length: -5\r\n\r\nhello", status: 0, body: "", end: "protocolViolation"),
    Case(name: "two lengths", response: ok + "Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello", status: 0, body: "", end: "protocolViolation", curl: [(200, "hello", "cut")], why: "6.3, rule 5 calls it an error; libcurl takes the last length"),
    Case(name: "length and chunks", response: ok + "Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", status: 200, body: "ok", end: "complete"),
    Case(name: "header without a colon", response: ok + "no colon\r\nContent-Length: 2\r\n\r\nok", status: 0, body: "", end: "protocolViolation", curl: [(200, "ok", "complete")], why: "5 calls it no header; newer versions of libcurl ignore it"),
    Case(name: "space before a colon", response: ok + "Content-Length : 2\r\n\r\nok", status: 0, body: "", end: "protocolViolation", curl: [(200, "ok", "complete")], why: "5.1 binds servers and proxies; libcurl takes it for a name of its own and reads to the close"),
    Case(name: "switching protocols unasked", response: "HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\nhello", status: 0, body: "", end: "protocolViolation", curl: [(101, "hello", "complete")], why: "RFC 9110, 15.2.2; libcurl takes it for the last head; a session calls both `protocol`"),
    Case(name: "unknown transfer coding", response: ok + "Transfer-Encoding: x-own, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", status: 0, body: "", end: "protocolViolation", curl: [(200, "", "unsupportedEncoding"), (0, "", "unsupportedEncoding")], why: "6.1 leaves the answer open; libcurl has one word for both kinds of coding"),
    Case(name: "status of two digits", response: "HTTP/1.1 20 OK\r\n\r\nhello", status: 0, body: "", end: "protocolViolation"),
    Case(name: "unknown content coding", response: ok + "Content-Encoding: x-own\r\nContent-Length: 2\r\n\r\nok", status: 200, body: "", end: "unsupportedEncoding"),
    Case(name: "redirect", response: "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", status: 302, body: "", end: "complete", curl: [(0, "", "redirectLoop"), (302, "", "redirectLoop")], why: "RFC 9110, 15.4; libcurl follows, the stack raw does not"),
  ]

  private func transfer(_ stack: StackUnderTest, _ row: Case, pieces: Int) throws -> Transfer {
    let bytes = Array(row.response.utf8)
    let size = max(1, bytes.count / pieces)
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil {
        for start in stride(from: 0, to: bytes.count, by: size) {
          if !connection.send(Array(bytes[start..<min(start + size, bytes.count)])) { return }
        }
        switch row.ending {
        case .close:
          // A redirect comes back on the same connection.
          if row.name != "redirect" { return }
        case .hold: connection.hold()
        case .reset:
          connection.reset()
          return
        }
      }
    }
    defer { server.end() }
    return try TransferLog(stack, EndpointAddress(url: server.url)).run()[0]
  }

  @Test(arguments: cases.indices, [1, 9]) func bothStacks_ReportTheSame(_ index: Int, _ pieces: Int) throws {
    let row = Self.cases[index]

    let raw = try transfer(.raw, row, pieces: pieces)
    let curl = try transfer(.curl, row, pieces: pieces)

    #expect(raw.head?.status ?? 0 == row.status, "raw, \(row.name)")
    #expect(raw.text == row.body, "raw, \(row.name)")
    #expect(raw.endWord == row.end, "raw, \(row.name): \(String(describing: raw.end))")
    let allowed = [(row.status, row.body, row.end)] + row.curl
    #expect(
      allowed.contains { curl.head?.status ?? 0 == $0.0 && curl.text == $0.1 && curl.endWord == $0.2 },
      "curl, \(row.name): \(curl.head?.status ?? 0), \(curl.text.debugDescription), \(String(describing: curl.end)); \(row.why)")
  }
}
