// The WuKongIM mock's front: one loop that accepts connections, reads HTTP requests and WebSocket frames on one port,
// asks the model, and sends what the model wants delivered. Knows nothing of lanes and offsets; WuKongServer does.
//
// One thread owns it: `run` until `stop`, or `step` from a loop of the caller's own.

package import EventLoops
package import Primitives
internal import Synchronization
package import WuKongIM

package final class WuKongListener: @unchecked Sendable {
  package let port: Int
  /// For `/route`'s `ws_addr` and for the line that the mock prints.
  package let webSocketURL: String
  package let httpURL: String
  package let server: WuKongServer
  package var faults: WuKongFaults
  /// Events that a full output kept from a receiver.
  package internal(set) var droppedDeliveries = 0

  static let maximumConnections = 100_000
  static let maximumInput = UpgradeHead.maximumBytes + WuKongServer.maximumBodyBytes

  let queue: EventQueue
  private let listening: Int32
  private let limits: ServerConnectionLimits
  private static let listenToken: UInt64 = 0
  private var nextID: UInt64 = 1
  var connections: [UInt64: WuKongConnection] = [:]
  var connectionsByUID: [ByteText: [UInt64]] = [:]
  /// Connections with bytes to flush before the next wait.
  var touched: Set<UInt64> = []
  private var scheduled: [(due: Instant, work: (WuKongListener) -> Void)] = []
  private var nextSweep: Instant
  private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)
  private let stopped = Atomic<Bool>(false)
  /// Encodes a notification once for all its receivers.
  let encoder = WebSocketSession(role: .server)

  /// - Parameters:
  ///   - host: a numeric address; the port 0 takes a free one.
  package init(
    host: String = "127.0.0.1", port: Int = 0, settings: WuKongServerSettings = WuKongServerSettings(),
    faults: WuKongFaults = WuKongFaults(), limits: ServerConnectionLimits = ServerConnectionLimits()
  ) throws(SocketError) {
    let descriptor: Int32
    switch StreamSocket.listen(host: host, port: port) {
    case .success(let made): descriptor = made
    case .failure(let error): throw error
    }
    do throws(EventQueueError) {
      queue = try EventQueue(capacity: 1_024)
      try queue.add(descriptor, .read, token: Self.listenToken)
    } catch {
      StreamSocket.end(descriptor)
      throw SocketError(call: error.call, errno: error.errno)
    }
    listening = descriptor
    self.port = StreamSocket.port(of: descriptor)
    let name = host.contains(":") ? "[\(host)]" : host
    webSocketURL = "ws://\(name):\(self.port)"
    httpURL = "http://\(name):\(self.port)"
    var settings = settings
    if settings.webSocketAddress.isEmpty { settings.webSocketAddress = webSocketURL }
    server = WuKongServer(settings: settings)
    self.faults = faults
    self.limits = limits
    nextSweep = Instant.now()
  }

  deinit {
    for connection in connections.values { StreamSocket.end(connection.descriptor) }
    StreamSocket.end(listening)
    buffer.deallocate()
  }

  /// Serves until `stop`.
  package func run() {
    while !stopped.load(ordering: .relaxed) { step(until: nil) }
  }

  /// Ends `run`, from any thread.
  package func stop() {
    stopped.store(true, ordering: .relaxed)
    queue.wake()
  }

  /// One wait, until `deadline` at the latest, and everything that it brought.
  package func step(until deadline: Instant?) {
    var wake = nextSweep
    if let deadline { wake = min(wake, deadline) }
    if let due = scheduled.lazy.map(\.due).min() { wake = min(wake, due) }
    guard let ready = try? queue.wait(until: wake) else { return }
    let now = Instant.now()
    for event in ready {
      if event.token == Self.listenToken {
        acceptAll(now)
      } else if let connection = connections[event.token] {
        if event.isWritable { touched.insert(connection.id) }
        if event.isReadable || event.isClosed { read(connection, now) }
      }
    }
    runScheduled(now)
    if now >= nextSweep {
      nextSweep = now + .milliseconds(100)
      sweep(now)
    }
    distribute()
    flushTouched()
  }

  func schedule(after delay: Nanoseconds, _ work: @escaping (WuKongListener) -> Void) {
    scheduled.append((Instant.now() + delay, work))
  }

  private func runScheduled(_ now: Instant) {
    guard scheduled.contains(where: { $0.due <= now }) else { return }
    let due = scheduled.filter { $0.due <= now }.sorted { $0.due < $1.due }
    scheduled.removeAll { $0.due <= now }
    for entry in due { entry.work(self) }
  }

  private func acceptAll(_ now: Instant) {
    while connections.count < Self.maximumConnections, let descriptor = StreamSocket.acceptNext(listening) {
      let id = nextID
      nextID += 1
      do throws(EventQueueError) { try queue.add(descriptor, .read, token: id) } catch {
        StreamSocket.end(descriptor)
        continue
      }
      connections[id] = WuKongConnection(id: id, descriptor: descriptor)
    }
  }

  private func read(_ connection: WuKongConnection, _ now: Instant) {
    switch StreamSocket.receive(connection.descriptor, buffer) {
    case .wouldBlock: return
    case .ended: drop(connection)
    case .bytes(let count):
      let bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count])
      if connection.isLingering { return }
      if connection.webSocket != nil {
        receiveFrames(bytes, connection, now)
      } else {
        connection.input.append(contentsOf: bytes)
        if connection.input.count > Self.maximumInput {
          drop(connection)
        } else {
          receiveHTTP(connection, now)
        }
      }
    }
  }

  // MARK: WebSocket

  func receiveFrames(_ bytes: UnsafeBufferPointer<UInt8>, _ connection: WuKongConnection, _ now: Instant) {
    guard let webSocket = connection.webSocket else { return }
    touched.insert(connection.id)
    do throws(WebSocketError) {
      try webSocket.receive(bytes) { message in
        switch message {
        case .text(let bytes), .binary(let bytes): receiveMessage(bytes, connection, now)
        case .ping, .pong, .close: break
        }
      }
    } catch {
      connection.isEnding = true
    }
    if webSocket.state == .closed { connection.isEnding = true }
  }

  private func receiveMessage(_ bytes: [UInt8], _ connection: WuKongConnection, _ now: Instant) {
    guard connection.session != nil else { return }
    var actions: [ServerConnection.Action] = []
    connection.session?.received(
      bytes, now, wallMilliseconds: StreamSocket.wallMilliseconds(), server: server, &actions)
    perform(actions, connection)
    // The sender of a message has its answer; the `recv` is for the others.
    distribute(exceptBaseTo: connection.id)
  }

  func beginWebSocket(_ connection: WuKongConnection, _ now: Instant) {
    connection.webSocket = WebSocketSession(role: .server)
    connection.session = ServerConnection(now, limits: limits)
  }

  private func perform(_ actions: [ServerConnection.Action], _ connection: WuKongConnection) {
    touched.insert(connection.id)
    for action in actions {
      switch action {
      case .send(let bytes): connection.webSocket?.send(text: bytes)
      case .close(let code):
        connection.webSocket?.close(code: code)
        connection.isEnding = true
      case .online(let uid, let deviceID, let deviceFlag):
        replaceOlder(uid, deviceID, deviceFlag)
        connection.uid = uid
        connection.deviceID = deviceID
        connection.deviceFlag = deviceFlag
        connectionsByUID[uid, default: []].append(connection.id)
      }
    }
  }

  /// One connection for each kind of device: the same device has come back, another one is kicked.
  private func replaceOlder(_ uid: ByteText, _ deviceID: String, _ deviceFlag: Int) {
    for id in connectionsByUID[uid] ?? [] {
      guard let older = connections[id], older.deviceFlag == deviceFlag else { continue }
      if ByteText(older.deviceID) == ByteText(deviceID) { drop(older) } else { kick(older) }
    }
  }

  func kick(_ connection: WuKongConnection) {
    connection.webSocket?.send(text: ServerFrame.disconnect(.kicked, reason: "kicked"))
    connection.webSocket?.close(code: 1000)
    connection.isEnding = true
    touched.insert(connection.id)
  }

  private func sweep(_ now: Instant) {
    for connection in connections.values where connection.session.map({ now >= $0.deadline }) == true {
      var actions: [ServerConnection.Action] = []
      connection.session?.tick(now, &actions)
      perform(actions, connection)
    }
  }

  // MARK: Ends

  func flushTouched() {
    for id in touched {
      guard let connection = connections[id] else { continue }
      if !connection.flush() {
        drop(connection)
        continue
      }
      let waits = connection.pendingCount > 0
      if !waits && connection.isEnding {
        linger(connection)
      } else if waits != connection.waitsForWriting {
        connection.waitsForWriting = waits
        try? queue.modify(connection.descriptor, waits ? [.read, .write] : .read, token: id)
      }
    }
    touched.removeAll(keepingCapacity: true)
  }

  /// A close with bytes unread would reset the connection and could take our last frame with it: we end our direction
  /// and wait a second for the peer's end.
  private func linger(_ connection: WuKongConnection) {
    guard !connection.isLingering else { return }
    connection.isLingering = true
    connection.waitsForWriting = false
    try? queue.modify(connection.descriptor, .read, token: connection.id)
    StreamSocket.shutWriting(connection.descriptor)
    let id = connection.id
    schedule(after: .seconds(1)) { listener in
      if let connection = listener.connections[id] { listener.drop(connection) }
    }
  }

  func drop(_ connection: WuKongConnection) {
    guard connections.removeValue(forKey: connection.id) != nil else { return }
    if let uid = connection.uid {
      connectionsByUID[uid]?.removeAll { $0 == connection.id }
      if connectionsByUID[uid]?.isEmpty == true { connectionsByUID[uid] = nil }
    }
    queue.remove(connection.descriptor)
    StreamSocket.end(connection.descriptor)
  }
}
