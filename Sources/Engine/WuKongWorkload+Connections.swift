// The readers' connections of the WuKongIM workload: what a session machine asks for is done on a socket, and what the
// socket brings goes back to the machine.

internal import EventLoops
internal import Primitives
internal import Recording
internal import Transports
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
      reader.failure = .streamError
      problem("reader \(reader.number): \(ending)")
      close(reader, completed: false)
    }
  }

  func dial(_ reader: WuKongReader, _ now: Instant) {
    reader.dialledAt = now
    if reader.record.value.requestStart < 0 {
      reader.record.value.requestStart = now.nanoseconds - origin.nanoseconds
    }
    reader.epoch += 1
    reader.phase = .connecting
    do throws(SocketError) {
      reader.connection = try dialer.open(webSocketDestination, token: token(reader))
    } catch {
      refused(reader, DialFailure(kind: .refused, detail: error.message), now)
    }
  }

  /// A reader's dial has failed.
  func refused(_ reader: WuKongReader, _ failure: DialFailure, _ now: Instant) {
    let kind = SessionErrorKind(failure.kind)
    reader.failure = kind
    note(kind, failure.detail)
    problem("reader \(reader.number): \(failure.detail)")
    lost(reader, now)
    // To dial again would be refused again, for as long as the run lasts.
    guard failure.isLasting else { return }
    close(reader, completed: false)
    if readersOpen == 0 { isGivenUp = true }
  }

  func token(_ reader: WuKongReader) -> UInt64 { reader.epoch << 24 | UInt64(reader.number) }

  func ready(_ event: Readiness, _ now: Instant) {
    let number = Int(event.token & 0xFF_FFFF)
    guard number < readers.count, token(readers[number]) == event.token, !readers[number].connection.isClosed
    else { return }
    let reader = readers[number]
    if reader.phase == .connecting {
      guard event.isWritable || event.isClosed else { return }
      if let failure = reader.connection.dialFailure {
        refused(reader, failure, now)
        return
      }
      reader.record.value.tls = reader.connection.handshake.value
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
    let epoch = reader.epoch
    guard reader.connection.mayHoldBytes else {
      _ = readOnce(reader, now)
      return
    }
    // What libcurl has decrypted already is not seen by the queue: read on until nothing is left, or it is others' turn.
    for _ in 0..<Self.readsInTurn {
      if !readOnce(reader, now) || reader.epoch != epoch { return }
    }
    unread.insert(reader.number)
  }

  /// What was left when others had their turn.
  func readRest(_ now: Instant) {
    let due = unread
    unread.removeAll(keepingCapacity: true)
    for number in due where !readers[number].connection.isClosed { read(readers[number], now) }
  }

  /// False where there was nothing more to read.
  private func readOnce(_ reader: WuKongReader, _ now: Instant) -> Bool {
    switch reader.connection.receive(buffer) {
    case .wouldBlock: return false
    case .ended:
      lost(reader, now)
      return false
    case .bytes(let count):
      counts.bytesReceived += count
      reader.record.value.bytes += Int64(count)
      reader.record.value.reads += 1
      let bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count])
      if reader.phase == .upgrading { upgrade(reader, bytes, now) } else { receive(bytes, reader, now) }
      return true
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
      reader.failure = SessionErrorKind(error)
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
      reader.failure = SessionErrorKind(error)
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
    if reader.connection.isClosed { return }
    reader.connection.end(on: queue)
    reader.epoch += 1
  }

  func flushTouched(_ now: Instant) {
    let due = touched
    touched.removeAll(keepingCapacity: true)
    for number in due {
      let reader = readers[number]
      guard !reader.connection.isClosed, reader.phase != .connecting else { continue }
      if !reader.flush() {
        lost(reader, now)
        continue
      }
      let waits = reader.pendingCount > 0
      if waits != reader.waitsForWriting {
        reader.waitsForWriting = waits
        try? queue.modify(
          reader.connection.descriptor, waits ? [.read, .write] : .read, token: token(reader))
      }
    }
  }
}

extension SessionErrorKind {
  /// What a peer's broken WebSocket is to a session.
  init(_ error: WebSocketError) {
    switch error.kind {
    case .messageTooBig, .tooManyFragments: self = .tooLarge
    case .notWebSocket, .notUTF8, .handshake, .alreadyClosed: self = .protocolError
    }
  }
}
