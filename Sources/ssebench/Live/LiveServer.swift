// A small HTTP server inside a run: pages, a metrics text and a stream of snapshots, on a thread of its own. It knows
// no figures: what it serves is put into it as text.

import EventLoops
import Foundation
import Primitives
import Synchronization

/// Where a live server listens: `[ADDR:]PORT`, loopback unless an address is given.
struct LiveAddress: Equatable {
  var host = "127.0.0.1"
  var port: Int

  init(_ text: String, flag: String) throws {
    var rest = Substring(text)
    if let colon = rest.lastIndex(of: ":") {
      let name = rest[..<colon]
      host = name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : String(name)
      rest = rest[rest.index(after: colon)...]
    }
    guard let port = Int(rest), (0...65535).contains(port), !host.isEmpty else {
      throw CommandFailure(
        .usage, "\(flag): '\(Terminal.printable(text))' is no address; expected PORT or ADDR:PORT, 0 for a free port")
    }
    self.port = port
  }
}

/// Serves until it is ended; `publish` and `set` are for the run's thread.
final class LiveServer: @unchecked Sendable {
  /// What stands at a path.
  struct Page: Sendable {
    var type: String
    var text: String
  }

  /// Requests are answered from memory, so these are generous.
  private static let mostConnections = 64
  private static let longestHead = 16_384
  /// A reader further behind than this is let go.
  private static let mostWaiting = 4 << 20
  /// Snapshots that a late reader still gets: ten minutes of seconds.
  private static let keptSnapshots = 600
  private static let listenerToken: UInt64 = 0
  /// Held by the browser for a reconnect after the run; it has nothing to come back to.
  private static let streamHead = """
    HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\nretry: 2000\n\n
    """

  let address: String
  private let queue: EventQueue
  private let listener: Int32
  private var thread: Thread?
  private let ended = DispatchSemaphore(value: 0)

  private struct Shared {
    var pages: [String: Page] = [:]
    var hasStream = false
    var kept: [String] = []
    var fresh: [String] = []
    var isEnding = false
  }
  private let shared = Mutex(Shared())

  private struct Connection {
    var input: [UInt8] = []
    var output: [UInt8] = []
    var isStream = false
    /// To be closed when the output is gone.
    var isLast = false
    var wantsWrite = false
  }
  private var connections: [Int32: Connection] = [:]

  /// Listens; a port that is taken is exit code 73 before any traffic.
  init(_ wanted: LiveAddress, flag: String) throws {
    switch StreamSocket.listen(host: wanted.host, port: wanted.port) {
    case .success(let descriptor): listener = descriptor
    case .failure(let error):
      throw CommandFailure(
        .cannotCreate,
        "\(flag): \(wanted.host):\(wanted.port) cannot be listened on: \(error.message); choose another port, or 0 for a free one")
    }
    let host = wanted.host.contains(":") ? "[\(wanted.host)]" : wanted.host
    address = "http://\(host):\(StreamSocket.port(of: listener))"
    queue = try EventQueue(capacity: 64)
    try queue.add(listener, .read, token: Self.listenerToken)
  }

  func start() {
    let thread = Thread { [self] in serve() }
    thread.name = "live"
    thread.start()
    self.thread = thread
  }

  /// Replaces what stands at `path`.
  func set(_ path: String, _ page: Page) { shared.withLock { $0.pages[path] = page } }

  func enableStream() { shared.withLock { $0.hasStream = true } }

  /// Sends a message, one line of JSON, to every reader of `/events`.
  func publish(_ json: String, event: String? = nil) {
    let text = (event.map { "event: \($0)\n" } ?? "") + "data: \(json)\n\n"
    shared.withLock { shared in
      shared.kept.append(text)
      if shared.kept.count > Self.keptSnapshots { shared.kept.removeFirst() }
      shared.fresh.append(text)
    }
    queue.wake()
  }

  /// Sends what waits, closes every connection and the port.
  func end() {
    guard thread != nil else { return }
    thread = nil
    shared.withLock { $0.isEnding = true }
    queue.wake()
    _ = ended.wait(timeout: .now() + 2)
  }

  // MARK: The thread

  private func serve() {
    var deadline: Instant?
    while true {
      guard let ready = try? queue.wait(until: deadline) else { break }
      for readiness in ready {
        if readiness.token == Self.listenerToken {
          accept()
        } else {
          let descriptor = Int32(truncatingIfNeeded: readiness.token)
          if readiness.isReadable || readiness.isClosed { read(descriptor) }
          if readiness.isWritable { write(descriptor) }
        }
      }
      let isEnding = spread()
      guard isEnding else { continue }
      // Half a second for readers that are behind.
      let last = deadline ?? Instant.now() + .milliseconds(500)
      deadline = last
      for descriptor in connections.keys where connections[descriptor]?.output.isEmpty == true { drop(descriptor) }
      if connections.isEmpty || Instant.now() >= last { break }
    }
    for descriptor in connections.keys { drop(descriptor) }
    queue.remove(listener)
    StreamSocket.end(listener)
    ended.signal()
  }

  private func accept() {
    while let descriptor = StreamSocket.acceptNext(listener) {
      guard connections.count < Self.mostConnections,
        (try? queue.add(descriptor, .read, token: UInt64(descriptor))) != nil
      else {
        StreamSocket.end(descriptor)
        continue
      }
      connections[descriptor] = Connection()
    }
  }

  private func read(_ descriptor: Int32) {
    guard connections[descriptor] != nil else { return }
    let isGone = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { buffer -> Bool in
      while true {
        switch StreamSocket.receive(descriptor, buffer) {
        case .bytes(let count):
          // What a reader sends behind its request is of no interest.
          if connections[descriptor]?.isStream == false && connections[descriptor]?.isLast == false {
            connections[descriptor]?.input += buffer[..<count]
          }
        case .wouldBlock: return false
        case .ended: return true
        }
      }
    }
    if isGone {
      drop(descriptor)
      return
    }
    answer(descriptor)
  }

  private func answer(_ descriptor: Int32) {
    guard let connection = connections[descriptor], !connection.isStream, !connection.isLast else { return }
    let text = String(decoding: connection.input, as: UTF8.self)
    guard text.contains("\r\n\r\n") || text.contains("\n\n") else {
      if connection.input.count > Self.longestHead { drop(descriptor) }
      return
    }
    let words = text.prefix { $0 != "\r\n" && $0 != "\n" && $0 != "\r" }.split(separator: " ")
    let path = words.count > 1 ? String(words[1].prefix { $0 != "?" }) : ""
    guard words.first == "GET" || words.first == "HEAD" else {
      reply(descriptor, "405 Method Not Allowed", Page(type: "text/plain", text: "GET only\n"), isHead: false)
      return
    }
    let (page, hasStream, kept) = shared.withLock { ($0.pages[path], $0.hasStream, $0.kept) }
    if path == "/events" && hasStream && words.first == "GET" {
      connections[descriptor]?.isStream = true
      connections[descriptor]?.output += Array((Self.streamHead + kept.joined()).utf8)
      write(descriptor)
    } else if let page {
      reply(descriptor, "200 OK", page, isHead: words.first == "HEAD")
    } else {
      reply(descriptor, "404 Not Found", Page(type: "text/plain", text: "not here\n"), isHead: words.first == "HEAD")
    }
  }

  private func reply(_ descriptor: Int32, _ status: String, _ page: Page, isHead: Bool) {
    let head = """
      HTTP/1.1 \(status)\r\nContent-Type: \(page.type); charset=utf-8\r\nContent-Length: \(page.text.utf8.count)\r\n\
      Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; \
      style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:\r\nConnection: close\r\n\r\n
      """
    connections[descriptor]?.output += Array((head + (isHead ? "" : page.text)).utf8)
    connections[descriptor]?.isLast = true
    write(descriptor)
  }

  private func write(_ descriptor: Int32) {
    guard var connection = connections[descriptor] else { return }
    var isGone = false
    var sent = 0
    connection.output.withUnsafeBufferPointer { bytes in
      while sent < bytes.count {
        guard case .bytes(let count) = StreamSocket.transmit(descriptor, UnsafeBufferPointer(rebasing: bytes[sent...]))
        else { break }
        sent += count
      }
    }
    connection.output.removeFirst(sent)
    if connection.output.isEmpty && connection.isLast { isGone = true }
    if connection.output.count > Self.mostWaiting { isGone = true }
    let wantsWrite = !connection.output.isEmpty
    if wantsWrite != connection.wantsWrite {
      connection.wantsWrite = wantsWrite
      try? queue.modify(descriptor, wantsWrite ? [.read, .write] : .read, token: UInt64(descriptor))
    }
    connections[descriptor] = connection
    if isGone { drop(descriptor) }
  }

  /// Hands fresh messages to the readers; true when the server is to end.
  private func spread() -> Bool {
    let (fresh, isEnding) = shared.withLock { shared in
      defer { shared.fresh = [] }
      return (shared.fresh, shared.isEnding)
    }
    if !fresh.isEmpty {
      let bytes = Array(fresh.joined().utf8)
      for descriptor in connections.keys where connections[descriptor]?.isStream == true {
        connections[descriptor]?.output += bytes
        write(descriptor)
      }
    }
    return isEnding
  }

  private func drop(_ descriptor: Int32) {
    guard connections.removeValue(forKey: descriptor) != nil else { return }
    queue.remove(descriptor)
    StreamSocket.end(descriptor)
  }
}
