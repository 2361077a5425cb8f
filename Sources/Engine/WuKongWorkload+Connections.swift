// The readers' connections of the WuKongIM workload: what a session machine asks for is done on a socket, and what the
// socket brings goes back to the machine.

internal import EventLoops
internal import Primitives
internal import Recording
internal import WuKongIM

extension WuKongWorkload {
  func act(
    _ reader: WuKongReader, _ now: Instant,
    _ body: (inout WuKongClient, Instant, inout [WuKongClient.Action]) -> Void
  ) {
    var todo = actions
    actions = []
    body(&reader.client, now, &todo)
    for action in todo { perform(action, reader, now) }
    setTimer(reader)
    todo.removeAll(keepingCapacity: true)
    actions = todo
  }

  func setTimer(_ reader: WuKongReader) {
    if let due = reader.client.nextDeadline {
      wheel.set(reader.number, at: due)
    } else {
      wheel.cancel(reader.number)
    }
  }

  func perform(_ action: WuKongClient.Action, _ reader: WuKongReader, _ now: Instant) {
    switch action {
    case .open: dial(reader, now)
    case .send(let bytes):
      reader.webSocket?.send(text: bytes)
      touched.insert(reader.number)
    case .close(let code):
      if code != 1006 {
        reader.webSocket?.close(code: code)
        _ = reader.flush()
      }
      hangUp(reader)
    case .online(let generation): online(reader, generation, now)
    case .base(let base):
      counts.basesReceived += 1
      reader.timeline.receive(base)
    case .event(let event): receive(event, reader, now)
    case .undecodable: reader.timeline.receiveUndecodable()
    case .offline(let loss, let delay): offline(reader, loss, delay, now)
    case .ended(let ending):
      if case .stopped = ending { return }
      problem("reader \(reader.number): \(ending)")
      close(reader, completed: false)
    }
  }

  func dial(_ reader: WuKongReader, _ now: Instant) {
    reader.dialledAt = now
    if reader.record.value.requestStart < 0 {
      reader.record.value.requestStart = now.nanoseconds - origin.nanoseconds
    }
    do throws(SocketError) { reader.descriptor = try StreamSocket.dial(webSocketDestination) } catch {
      problem("reader \(reader.number): \(error.message)")
      act(reader, now) { $0.transportEnded($1, .transport, &$2) }
      return
    }
    reader.epoch += 1
    reader.phase = .connecting
    do throws(EventQueueError) {
      try queue.add(reader.descriptor, [.read, .write], token: token(reader))
    } catch {
      hangUp(reader)
      act(reader, now) { $0.transportEnded($1, .transport, &$2) }
    }
  }

  func token(_ reader: WuKongReader) -> UInt64 { reader.epoch << 24 | UInt64(reader.number) }

  func ready(_ event: Readiness, _ now: Instant) {
    let number = Int(event.token & 0xFF_FFFF)
    guard number < readers.count, token(readers[number]) == event.token, readers[number].descriptor >= 0
    else { return }
    let reader = readers[number]
    if reader.phase == .connecting {
      guard event.isWritable || event.isClosed else { return }
      guard StreamSocket.dialError(reader.descriptor) == 0 else {
        lost(reader, now)
        return
      }
      reader.phase = .upgrading
      reader.key = WebSocketHandshake.newKey()
      reader.head = []
      reader.output = WebSocketHandshake.request(
        host: webSocketHost, path: webSocketPath, key: reader.key, headers: settings.headers)
      reader.sent = 0
      reader.waitsForWriting = true
      touched.insert(number)
      return
    }
    if event.isWritable { touched.insert(number) }
    if event.isReadable || event.isClosed { read(reader, now) }
  }

  func read(_ reader: WuKongReader, _ now: Instant) {
    switch StreamSocket.receive(reader.descriptor, buffer) {
    case .wouldBlock: return
    case .ended: lost(reader, now)
    case .bytes(let count):
      counts.bytesReceived += count
      reader.record.value.bytes += Int64(count)
      reader.record.value.reads += 1
      let bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count])
      if reader.phase == .upgrading { upgrade(reader, bytes, now) } else { receive(bytes, reader, now) }
    }
  }

  func upgrade(_ reader: WuKongReader, _ bytes: UnsafeBufferPointer<UInt8>, _ now: Instant) {
    reader.head.append(contentsOf: bytes)
    do throws(WebSocketError) {
      guard let length = try UpgradeHead.length(in: reader.head) else { return }
      try WebSocketHandshake.check(try UpgradeHead(reader.head[..<length]), key: reader.key)
      let rest = Array(reader.head[length...])
      reader.head = []
      reader.phase = .open
      reader.webSocket = WebSocketSession(role: .client)
      act(reader, now) { $0.transportOpened($1, wallMilliseconds: StreamSocket.wallMilliseconds(), &$2) }
      if !rest.isEmpty { rest.withUnsafeBufferPointer { receive($0, reader, now) } }
    } catch {
      problem("reader \(reader.number): \(error.message)")
      lost(reader, now)
    }
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>, _ reader: WuKongReader, _ now: Instant) {
    guard let webSocket = reader.webSocket else { return }
    do throws(WebSocketError) {
      try webSocket.receive(bytes) { message in
        // A reader that was dropped meanwhile has another socket, or none.
        guard reader.webSocket === webSocket else { return }
        switch message {
        case .text(let text), .binary(let text): act(reader, now) { $0.received(text, $1, &$2) }
        case .ping, .pong, .close: break
        }
      }
    } catch {
      problem("reader \(reader.number): \(error.message)")
    }
    guard reader.webSocket === webSocket else { return }
    touched.insert(reader.number)
    if webSocket.state == .closed {
      _ = reader.flush()
      lost(reader, now)
    }
  }

  func lost(_ reader: WuKongReader, _ now: Instant) {
    hangUp(reader)
    act(reader, now) { $0.transportEnded($1, .transport, &$2) }
  }

  func hangUp(_ reader: WuKongReader) {
    reader.webSocket = nil
    reader.output = []
    reader.sent = 0
    reader.phase = .none
    reader.waitsForWriting = false
    guard reader.descriptor >= 0 else { return }
    queue.remove(reader.descriptor)
    StreamSocket.end(reader.descriptor)
    reader.descriptor = -1
    reader.epoch += 1
  }

  func flushTouched(_ now: Instant) {
    let due = touched
    touched.removeAll(keepingCapacity: true)
    for number in due {
      let reader = readers[number]
      guard reader.descriptor >= 0, reader.phase != .connecting else { continue }
      if !reader.flush() {
        lost(reader, now)
        continue
      }
      let waits = reader.pendingCount > 0
      if waits != reader.waitsForWriting {
        reader.waitsForWriting = waits
        try? queue.modify(reader.descriptor, waits ? [.read, .write] : .read, token: token(reader))
      }
    }
  }
}
