// A TCP server on loopback whose every answer is a test's own function: bytes as they are on the wire, cuts, resets,
// silence. One thread a connection; knows HTTP only as far as to read a request whole.

import Foundation
import Synchronization

package final class ScriptedServer: Sendable {
  package let port: Int
  private let listener: Int32
  private let state: ServerState

  /// - Parameter script: called for each connection, on a thread of its own; the connection closes when it returns.
  package init(_ script: @escaping @Sendable (ScriptedConnection) -> Void) throws {
    #if canImport(Glibc)
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
    listener = socket(AF_INET, SOCK_STREAM, 0)
    _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    if listener < 0 || !isBound { throw ScriptedServerError(errno: errno) }
    port = Int(UInt16(bigEndian: address.sin_port))
    let state = ServerState()
    self.state = state
    Thread.detachNewThread {
      var number = 0
      while !state.isOver.load(ordering: .relaxed) {
        let descriptor = accept(listener, nil, nil)
        if descriptor < 0 {
          if errno == EINTR || errno == ECONNABORTED { continue }
          break
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let connection = ScriptedConnection(descriptor, number: number, state)
        number += 1
        Thread.detachNewThread {
          script(connection)
          connection.close()
        }
      }
      Foundation.close(listener)
    }
  }

  package struct ScriptedServerError: Error { package var errno: Int32 }

  package var url: String { "http://127.0.0.1:\(port)/" }
  /// Connections that have been accepted so far.
  package var connections: Int { state.accepted.load(ordering: .relaxed) }

  /// Takes no more connections and lets go those that are held.
  package func end() {
    if state.isOver.exchange(true, ordering: .relaxed) { return }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  deinit { end() }

  /// A server that answers every request with the same bytes, in these pieces, and closes.
  package static func answering(_ pieces: [[UInt8]]) throws -> ScriptedServer {
    try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      for piece in pieces where !connection.send(piece) { return }
    }
  }

  package static func answering(_ text: String) throws -> ScriptedServer { try answering([Array(text.utf8)]) }
}

/// What the threads of a server share.
final class ServerState: Sendable {
  let isOver = Atomic<Bool>(false)
  let accepted = Atomic<Int>(0)
}

/// One accepted connection, used by its script's thread alone.
package final class ScriptedConnection: @unchecked Sendable {
  private var descriptor: Int32
  /// From 0, in the order of acceptance.
  package let number: Int
  private let state: ServerState
  private var pending: [UInt8] = []

  init(_ descriptor: Int32, number: Int, _ state: ServerState) {
    self.descriptor = descriptor
    self.number = number
    self.state = state
    state.accepted.wrappingAdd(1, ordering: .relaxed)
    var limit = timeval(tv_sec: 0, tv_usec: 50_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  /// A request's head, line ends as they came, and its body; nil when the peer has gone.
  package func readRequest() -> (head: String, body: [UInt8])? {
    let blank = Array("\r\n\r\n".utf8)
    var end: Int?
    while end == nil {
      end = pending.firstRange(of: blank)?.upperBound
      if end == nil && !readMore() { return nil }
    }
    guard let end else { return nil }
    let head = String(decoding: pending[..<end], as: UTF8.self)
    var length = 0
    for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix("content-length:") {
      length = Int(line.dropFirst(15).filter { $0 != " " }) ?? 0
    }
    while pending.count < end + length { if !readMore() { return nil } }
    let body = Array(pending[end..<end + length])
    pending.removeFirst(end + length)
    return (head, body)
  }

  private func readMore() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !state.isOver.load(ordering: .relaxed) {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 {
        pending += buffer[..<count]
        return true
      }
      if count == 0 || errno != EAGAIN && errno != EINTR { return false }
    }
    return false
  }

  /// False when the peer takes no more.
  @discardableResult package func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      #if canImport(Glibc)
      let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      #else
      let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, 0) }
      #endif
      if count < 0 && errno != EINTR { return false }
      rest = rest.dropFirst(max(0, count))
    }
    return true
  }

  @discardableResult package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Says nothing until the peer closes or the server ends.
  package func hold() { while readMore() { pending = [] } }

  /// Ends the connection with a reset in place of a regular close.
  package func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Foundation.linger>.size))
    close()
  }

  package func close() {
    if descriptor >= 0 { Foundation.close(descriptor) }
    descriptor = -1
  }
}
