// A server on loopback that answers its n-th connection as its n-th script says, and keeps what it was asked. One
// thread a connection; nothing in it waits for time.

import Foundation
import Primitives
import Synchronization

/// What one connection does after it has read a request.
struct Script: Sendable {
  enum Step: Sendable {
    case send([UInt8])
    /// Reads until the client has closed, and keeps the instant.
    case waitForClose
    /// Holds the connection, silent, until the server is ended.
    case hold
    /// Waits until the test says so.
    case gate(Gate)
    /// Sends the same again and again until the client has closed or so many were sent.
    case flood([UInt8], times: Int)
    /// Closes with a reset.
    case reset
  }

  var steps: [Step]

  static func answer(_ status: String, _ headers: [String], _ body: String, more: [Step] = []) -> Script {
    Script(steps: [.send(head(status, headers)), .send(Array(body.utf8))] + more)
  }

  /// A stream that ends by the connection's close.
  static func stream(_ body: String, more: [Step] = []) -> Script {
    answer("200 OK", ["Content-Type: text/event-stream", "Connection: close"], body, more: more)
  }

  /// Chunked, so that its end is told apart from a cut; `isWhole` false leaves the last chunk out.
  static func chunked(_ pieces: [String], isWhole: Bool = true, more: [Step] = []) -> Script {
    var steps: [Step] = [.send(head("200 OK", ["Content-Type: text/event-stream", "Transfer-Encoding: chunked"]))]
    for piece in pieces {
      steps.append(.send(Array("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n".utf8)))
    }
    steps += more
    if isWhole { steps.append(.send(Array("0\r\n\r\n".utf8))) }
    return Script(steps: steps)
  }

  static func head(_ status: String, _ headers: [String]) -> [UInt8] {
    Array((["HTTP/1.1 \(status)"] + headers + ["", ""]).joined(separator: "\r\n").utf8)
  }
}

/// Opened once; whoever waits goes on.
final class Gate: Sendable {
  private let lock = NSCondition()
  private let isOpen = Mutex(false)

  func open() {
    lock.lock()
    isOpen.withLock { $0 = true }
    lock.broadcast()
    lock.unlock()
  }

  func wait() {
    lock.lock()
    while !isOpen.withLock({ $0 }) { if !lock.wait(until: Date(timeIntervalSinceNow: 20)) { break } }
    lock.unlock()
  }
}

final class LoopbackServer: @unchecked Sendable {
  private struct State {
    var requests: [String] = []
    var closedAt: [Instant] = []
    var sentBytes = 0
  }

  let port: UInt16
  private let listener: Int32
  private let state = Mutex(State())
  private let scripts: [Script]
  private let end = Gate()

  /// The last script serves all later connections too.
  init(_ scripts: [Script]) {
    self.scripts = scripts
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    listener = socket
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, length) + listen(socket, 128) + getsockname(socket, $0, &length)
      }
    }
    precondition(code == 0, "no listener on loopback")
    port = UInt16(bigEndian: address.sin_port)
    let descriptor = listener
    Thread.detachNewThread { [self] in
      var number = 0
      while true {
        let connection = accept(descriptor, nil, nil)
        if connection < 0 { return }
        let script = scripts[min(number, scripts.count - 1)]
        number += 1
        Thread.detachNewThread { self.serve(connection, script) }
      }
    }
  }

  var url: String { "http://127.0.0.1:\(port)/events" }
  var requests: [String] { state.withLock { $0.requests } }
  /// When clients were seen to close, in order.
  var closedAt: [Instant] { state.withLock { $0.closedAt } }
  var sentBytes: Int { state.withLock { $0.sentBytes } }

  /// The value of a header of the n-th request; nil where it is not there.
  func header(_ name: String, ofRequest number: Int) -> String? {
    guard number < requests.count else { return nil }
    for line in requests[number].components(separatedBy: "\r\n").dropFirst() {
      guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else { continue }
      return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return nil
  }

  func stop() {
    end.open()
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private func serve(_ connection: Int32, _ script: Script) {
    defer { close(connection) }
    guard readRequest(connection) else { return }
    for step in script.steps {
      switch step {
      case .send(let bytes): if !send(connection, bytes) { return }
      case .flood(let bytes, let times):
        for _ in 0..<times where !send(connection, bytes) { return }
      case .waitForClose: readToEnd(connection)
      case .hold: end.wait()
      case .gate(let gate): gate.wait()
      case .reset:
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        return
      }
    }
  }

  private func readRequest(_ connection: Int32) -> Bool {
    var head: [UInt8] = []
    var byte: UInt8 = 0
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard read(connection, &byte, 1) == 1, head.count < 65536 else { return false }
      head.append(byte)
    }
    let text = String(decoding: head, as: UTF8.self)
    state.withLock { $0.requests.append(text) }
    return true
  }

  private func send(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 {
        state.withLock { $0.closedAt.append(.now()) }
        return false
      }
      state.withLock { $0.sentBytes += count }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private func readToEnd(_ connection: Int32) {
    var byte: UInt8 = 0
    while read(connection, &byte, 1) > 0 {}
    state.withLock { $0.closedAt.append(.now()) }
  }
}
