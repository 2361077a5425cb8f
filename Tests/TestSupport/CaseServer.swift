// A server that does to each connection what a script says, byte for byte, and keeps what it was asked and when. Blocking
// calls on a thread of its own; loopback, a port of the system's choice.

import Foundation
package import Primitives
import Synchronization

/// What one connection gets.
package struct CaseAnswer: Sendable {
  package enum Ending: Sendable {
    /// FIN.
    case close
    /// RST.
    case reset
    /// Stays open until the client closes.
    case hold
  }

  package var parts: [(after: Nanoseconds, bytes: [UInt8])]
  package var ending: Ending

  package init(_ parts: [(after: Nanoseconds, bytes: [UInt8])], _ ending: Ending = .close) {
    self.parts = parts
    self.ending = ending
  }

  /// Bytes as they are, head included.
  package static func raw(_ text: String, _ ending: Ending = .close) -> CaseAnswer {
    CaseAnswer([(.zero, Array(text.utf8))], ending)
  }

  /// A head and a body with its Content-Length.
  package static func status(_ line: String, _ headers: [String] = [], body: String = "") -> CaseAnswer {
    let head = (["HTTP/1.1 \(line)"] + headers + ["Content-Length: \(body.utf8.count)", "Connection: close"])
    return raw(head.joined(separator: "\r\n") + "\r\n\r\n" + body)
  }

  private static func head(_ type: String, _ more: [String] = []) -> [UInt8] {
    let lines = ["HTTP/1.1 200 OK", "Content-Type: \(type)", "Transfer-Encoding: chunked", "Connection: close"] + more
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
    bytes.isEmpty ? [] : Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
  }

  /// A chunked event stream, each piece one chunk. `ends`: whether the last chunk comes.
  package static func stream(
    _ pieces: [[UInt8]], type: String = "text/event-stream", headers: [String] = [], gap: Nanoseconds = .zero,
    ends: Bool = true, _ ending: Ending = .close
  ) -> CaseAnswer {
    var parts: [(after: Nanoseconds, bytes: [UInt8])] = [(.zero, head(type, headers) + chunk(pieces.first ?? []))]
    for piece in pieces.dropFirst() { parts.append((gap, chunk(piece))) }
    if ends { parts[parts.count - 1].bytes += Array("0\r\n\r\n".utf8) }
    return CaseAnswer(parts, ending)
  }

  /// A stream that is finished properly.
  package static func stream(_ text: String, type: String = "text/event-stream") -> CaseAnswer {
    stream([Array(text.utf8)], type: type)
  }

  /// A stream whose connection is dropped inside the body.
  package static func cut(_ text: String, _ ending: Ending = .close) -> CaseAnswer {
    stream([Array(text.utf8)], ends: false, ending)
  }
}

/// A request as it came.
package struct CaseRequest: Sendable {
  package var at: Instant
  /// When the answer's last part began to go out: the client cannot have seen the end before.
  package var answeredAt = Instant(nanoseconds: 0)
  package var line: String
  package var headers: [(name: String, value: String)]
  package var body: String

  /// nil where the header is absent.
  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
  package var target: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
}

package final class CaseServer: @unchecked Sendable {
  package let port: Int
  package var url: String { "http://127.0.0.1:\(port)/" }
  private let listener: Int32
  private let answers: [CaseAnswer]
  private let state = Mutex<[CaseRequest]>([])
  private let isStopped = Atomic<Bool>(false)

  /// - Parameters:
  ///   - answers: one a connection, in order; every further one gets 204.
  ///   - opensAfter: until then the port refuses.
  package init(_ answers: [CaseAnswer], opensAfter delay: Nanoseconds = .zero) {
    self.answers = answers
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    precondition(listener >= 0, "no socket: errno \(errno)")
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        precondition(bind(descriptor, address, length) == 0, "bind: errno \(errno)")
        precondition(getsockname(descriptor, address, &length) == 0, "getsockname: errno \(errno)")
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    if delay == .zero { precondition(listen(descriptor, 64) == 0, "listen: errno \(errno)") }
    let thread = Thread { [self] in serve(after: delay) }
    thread.start()
  }

  /// The requests so far.
  package var requests: [CaseRequest] { state.withLock { $0 } }

  package func stop() {
    guard !isStopped.exchange(true, ordering: .relaxed) else { return }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func serve(after delay: Nanoseconds) {
    if delay > .zero {
      usleep(UInt32(delay.value / 1_000))
      listen(listener, 64)
    }
    var number = 0
    while !isStopped.load(ordering: .relaxed) {
      let connection = accept(listener, nil, nil)
      if connection < 0 { break }
      var limit = timeval(tv_sec: 20, tv_usec: 0)
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      if let request = read(connection) {
        state.withLock { $0.append(request) }
        let answer = number < answers.count ? answers[number] : .raw("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        perform(answer, connection, number)
      }
      number += 1
      close(connection)
    }
    close(listener)
  }

  private func perform(_ answer: CaseAnswer, _ connection: Int32, _ number: Int) {
    for part in answer.parts {
      if part.after > .zero { usleep(UInt32(part.after.value / 1_000)) }
      state.withLock { if number < $0.count { $0[number].answeredAt = .now() } }
      var rest = part.bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count <= 0 { break }
        rest = rest.dropFirst(count)
      }
    }
    switch answer.ending {
    case .close: drain(connection, shutting: true)
    case .hold: drain(connection, shutting: false)
    case .reset:
      var lingering = linger(l_onoff: 1, l_linger: 0)
      setsockopt(connection, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
    }
  }

  /// Reads until the client closes, so that our close is a FIN and no RST.
  private func drain(_ connection: Int32, shutting: Bool) {
    if shutting { shutdown(connection, Int32(SHUT_WR)) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    while recv(connection, &bytes, bytes.count, 0) > 0 {}
  }

  private func read(_ connection: Int32) -> CaseRequest? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let text = String(decoding: bytes, as: UTF8.self)
      if let end = text.range(of: "\r\n\r\n") {
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let headers = lines.dropFirst().map { line -> (name: String, value: String) in
          let colon = line.firstIndex(of: ":") ?? line.endIndex
          return (String(line[..<colon]), line[colon...].dropFirst().trimmingCharacters(in: .whitespaces))
        }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        let body = text[end.upperBound...]
        if body.utf8.count >= length {
          return CaseRequest(at: .now(), line: lines.first ?? "", headers: headers, body: String(body))
        }
      }
      let count = recv(connection, &buffer, buffer.count, 0)
      if count <= 0 { return nil }
      bytes += buffer[..<count]
    }
  }
}
