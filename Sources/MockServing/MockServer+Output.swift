// Bytes to a connection: what the socket takes at once is gone, the rest waits in the connection, and nothing more is
// made until it is gone. So a slow reader costs one write's worth of memory.

internal import EventLoops
internal import Primitives

extension MockServer {
  // MARK: scratch

  /// Makes room for `count` more bytes of scratch.
  @inline(__always) mutating func reserve(_ count: Int) {
    if scratchCount + count > scratchCapacity { growScratch(count) }
  }

  @inline(never) private mutating func growScratch(_ count: Int) {
    let capacity = max(scratchCapacity * 2, scratchCount + count)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: scratch, count: scratchCount)
    scratch.deallocate()
    scratch = larger
    scratchCapacity = capacity
  }

  mutating func put(_ text: StaticString) {
    reserve(text.utf8CodeUnitCount)
    (scratch + scratchCount).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
    scratchCount += text.utf8CodeUnitCount
  }

  mutating func put(_ bytes: [UInt8]) {
    reserve(bytes.count)
    bytes.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { (scratch + scratchCount).update(from: base, count: bytes.count) }
    }
    scratchCount += bytes.count
  }

  mutating func put(_ text: String) { put(Array(text.utf8)) }

  // MARK: sending

  /// Sends the scratch and empties it. False when the connection is gone.
  @discardableResult
  mutating func deliver(_ slot: Int) -> Bool {
    let connection = connections[slot]
    let count = scratchCount
    scratchCount = 0
    if count == 0 { return true }
    if connection.pointee.outputCount > connection.pointee.outputStart
      || !connection.pointee.flags.isDisjoint(with: .held) || connection.pointee.drip != nil
    {
      append(slot, scratch, count)
      return true
    }
    let sent = SocketCalls.send(connection.pointee.descriptor, scratch, count)
    counters.writes += 1
    if sent == count {
      counters.bytes += Int64(count)
      return true
    }
    if sent < 0, -sent != Int(SocketCalls.wouldBlock), -sent != Int(SocketCalls.interrupted) {
      peerClosed(slot)
      return false
    }
    counters.bytes += Int64(max(0, sent))
    append(slot, scratch + max(0, sent), count - max(0, sent))
    awaitWriting(slot)
    return true
  }

  /// Puts bytes behind those that wait already.
  func append(_ slot: Int, _ bytes: UnsafePointer<UInt8>, _ count: Int) {
    let connection = connections[slot]
    let pending = connection.pointee.pendingOutput
    if connection.pointee.output == nil
      || Int(connection.pointee.outputCount) + count > Int(connection.pointee.outputCapacity)
    {
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: pending + count)
      if let old = connection.pointee.output {
        larger.update(from: old + Int(connection.pointee.outputStart), count: pending)
        old.deallocate()
      }
      connection.pointee.output = larger
      connection.pointee.outputCapacity = Int32(pending + count)
      connection.pointee.outputStart = 0
      connection.pointee.outputCount = Int32(pending)
    }
    (connection.pointee.output.unsafelyUnwrapped + Int(connection.pointee.outputCount)).update(
      from: bytes, count: count)
    connection.pointee.outputCount += Int32(count)
  }

  private mutating func awaitWriting(_ slot: Int) {
    guard !connections[slot].pointee.flags.contains(.awaitsWriting) else { return }
    connections[slot].pointee.flags.insert(.awaitsWriting)
    setInterest(slot)
  }

  mutating func setInterest(_ slot: Int) {
    let connection = connections[slot]
    var interest: Interest = []
    if !connection.pointee.flags.contains(.mute) { interest.insert(.read) }
    if connection.pointee.flags.contains(.awaitsWriting) { interest.insert(.write) }
    do throws(EventQueueError) {
      try queue.modify(connection.pointee.descriptor, interest, token: token(slot))
    } catch {
      close(slot)
    }
  }

  /// The socket takes more: sends what waits, at most `limit` bytes of it, and goes on with the stream when all is gone.
  mutating func flush(_ slot: Int, limit: Int = .max) {
    let connection = connections[slot]
    guard connection.pointee.flags.isDisjoint(with: .held) else { return }
    var left = limit
    while let output = connection.pointee.output, connection.pointee.pendingOutput > 0, left > 0 {
      let wanted = min(left, connection.pointee.pendingOutput)
      let sent = SocketCalls.send(
        connection.pointee.descriptor, output + Int(connection.pointee.outputStart), wanted)
      counters.writes += 1
      if sent < 0 {
        if -sent == Int(SocketCalls.interrupted) { continue }
        if -sent == Int(SocketCalls.wouldBlock) {
          awaitWriting(slot)
          return
        }
        peerClosed(slot)
        return
      }
      counters.bytes += Int64(sent)
      connection.pointee.outputStart += Int32(sent)
      left -= sent
    }
    if connection.pointee.flags.contains(.awaitsWriting) {
      connection.pointee.flags.remove(.awaitsWriting)
      setInterest(slot)
      guard connection.pointee.phase != .free else { return }
    }
    if connection.pointee.pendingOutput > 0 { return }
    connection.pointee.output?.deallocate()
    connection.pointee.output = nil
    connection.pointee.outputStart = 0
    connection.pointee.outputCount = 0
    connection.pointee.outputCapacity = 0
    drained(slot)
  }

  /// Nothing is pending any more.
  private mutating func drained(_ slot: Int) {
    let connection = connections[slot]
    switch connection.pointee.phase {
    case .streaming:
      noteHighest(slot)
      connection.pointee.flags.insert([.catchesUp, .wasBlocked])
      if connection.pointee.drip == nil { pump(slot) } else { dripIsOver(slot) }
    case .finishing:
      noteHighest(slot)
      finish(slot)
    case .reading:
      noteHighest(slot)
      process(slot)
    case .free, .lingering: break
    }
  }

  // MARK: closing

  /// All has been said on this connection: closes it once what is pending is sent.
  mutating func finish(_ slot: Int) {
    let connection = connections[slot]
    connection.pointee.phase = .finishing
    if connection.pointee.flags.contains(.resets) {
      close(slot)
      return
    }
    if connection.pointee.pendingOutput > 0 { return }
    // A close with bytes unread would reset the connection and could take our last bytes with it.
    SocketCalls.shutWriting(connection.pointee.descriptor)
    connection.pointee.phase = .lingering
    connection.pointee.flags.remove(.mute)
    setInterest(slot)
    guard connection.pointee.phase != .free else { return }
    let patience: Int64 = connection.pointee.flags.contains(.halfCloses) ? 60_000_000_000 : 1_000_000_000
    setAuxiliary(slot, .linger, at: Instant.now().nanoseconds + patience)
  }

  mutating func close(_ slot: Int) {
    let connection = connections[slot]
    guard connection.pointee.phase != .free else { return }
    if connection.pointee.phase == .streaming { settle(slot) }
    cancelPace(slot)
    cancelAuxiliary(slot)
    if connection.pointee.flags.contains(.resets) { SocketCalls.resetOnClose(connection.pointee.descriptor) }
    SocketCalls.close(connection.pointee.descriptor)
    connection.pointee.input?.deallocate()
    connection.pointee.output?.deallocate()
    connection.pointee.dropScript()
    leaveSession(slot)
    connections.give(slot)
    counters.active -= 1
  }

  mutating func leaveSession(_ slot: Int) {
    let connection = connections[slot]
    if connection.pointee.session >= 0 { sessions.leave(connection.pointee.session) }
    connection.pointee.session = -1
  }

  /// All events made so far are with the kernel.
  @inline(__always) func noteHighest(_ slot: Int) {
    let connection = connections[slot]
    guard connection.pointee.session >= 0 else { return }
    let state = sessions[connection.pointee.session]
    if connection.pointee.pendingHighest > state.pointee.highest {
      state.pointee.highest = connection.pointee.pendingHighest
    }
  }
}
