// Bytes from a connection become requests. Bounded in size and time; what is no request is answered with a 4xx and the
// connection is closed.

internal import EventLoops
internal import Primitives

extension MockServer {
  mutating func readInput(_ slot: Int, isClosed: Bool) {
    let connection = connections[slot]
    while true {
      let count = SocketCalls.receive(connection.pointee.descriptor, readBuffer, Self.readCapacity)
      if count == 0
        || (count < 0 && -count != Int(SocketCalls.wouldBlock) && -count != Int(SocketCalls.interrupted))
      {
        peerClosed(slot)
        return
      }
      if count < 0 {
        if -count == Int(SocketCalls.interrupted) { continue }
        return
      }
      if connection.pointee.phase == .lingering || connection.pointee.phase == .finishing {
        if isClosed { continue }
        return
      }
      keep(slot, count)
      if connection.pointee.phase == .streaming {
        // What comes during a stream waits; too much of it is not read until the stream is over.
        if Int(connection.pointee.inputCount) > HTTPRequest.maximumHead {
          connection.pointee.flags.insert(.mute)
          setInterest(slot)
          return
        }
      } else {
        process(slot)
        guard connection.pointee.phase != .free else { return }
      }
      if count < Self.readCapacity && !isClosed { return }
    }
  }

  private func keep(_ slot: Int, _ count: Int) {
    let connection = connections[slot]
    let needed = Int(connection.pointee.inputCount) + count
    if needed > Int(connection.pointee.inputCapacity) {
      let capacity = max(needed, 512)
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
      if let old = connection.pointee.input {
        larger.update(from: old, count: Int(connection.pointee.inputCount))
        old.deallocate()
      }
      connection.pointee.input = larger
      connection.pointee.inputCapacity = Int32(capacity)
    }
    (connection.pointee.input.unsafelyUnwrapped + Int(connection.pointee.inputCount)).update(
      from: readBuffer, count: count)
    connection.pointee.inputCount = Int32(needed)
  }

  /// Answers the requests that are complete, one after another, until one becomes a stream.
  mutating func process(_ slot: Int) {
    let connection = connections[slot]
    while connection.pointee.phase == .reading, let input = connection.pointee.input,
      connection.pointee.inputCount > 0
    {
      let bytes = UnsafeBufferPointer(start: input, count: Int(connection.pointee.inputCount))
      switch HTTPRequest.parse(bytes) {
      case .incomplete(let expectsContinue):
        if expectsContinue, !connection.pointee.flags.contains(.continueSent) {
          connection.pointee.flags.insert(.continueSent)
          put("HTTP/1.1 100 Continue\r\n\r\n")
          if !deliver(slot) { return }
        }
        if !connection.pointee.flags.contains(.requestBegun) {
          connection.pointee.flags.insert(.requestBegun)
          setAuxiliary(slot, .requestDeadline, at: Instant.now().nanoseconds + Self.requestLimit)
        }
        return
      case .refused(let refusal):
        refuse(slot, refusal)
        return
      case .complete(let request, let length):
        connection.pointee.flags.remove([.requestBegun, .continueSent])
        drop(slot, length)
        counters.requests += 1
        if request.keepsAlive {
          connection.pointee.flags.insert(.keepAlive)
        } else {
          connection.pointee.flags.remove(.keepAlive)
        }
        cancelAuxiliary(slot)
        answer(slot, request)
        guard connection.pointee.phase != .free else { return }
        if connection.pointee.phase == .reading {
          setAuxiliary(slot, .requestDeadline, at: Instant.now().nanoseconds + Self.idleLimit)
        }
      }
    }
  }

  private func drop(_ slot: Int, _ count: Int) {
    let connection = connections[slot]
    let left = Int(connection.pointee.inputCount) - count
    if left <= 0 {
      connection.pointee.input?.deallocate()
      connection.pointee.input = nil
      connection.pointee.inputCount = 0
      connection.pointee.inputCapacity = 0
    } else if let input = connection.pointee.input {
      input.update(from: input + count, count: left)
      connection.pointee.inputCount = Int32(left)
    }
  }

  /// Answers what is no request, and closes.
  private mutating func refuse(_ slot: Int, _ refusal: RequestRefusal) {
    connections[slot].pointee.flags.remove(.keepAlive)
    cancelAuxiliary(slot)
    counters.refused += 1
    sendError(slot, status: refusal.status, message: refusal.message)
  }

  /// The peer closed or reset its side.
  mutating func peerClosed(_ slot: Int) {
    let connection = connections[slot]
    if connection.pointee.session >= 0 {
      closes.note(key: sessions[connection.pointee.session].pointee.key, at: Instant.now().nanoseconds)
    }
    close(slot)
  }

  /// The second timer of a connection.
  mutating func fireAuxiliary(_ slot: Int) {
    let connection = connections[slot]
    switch connection.pointee.purpose {
    case .none: break
    case .requestDeadline:
      if connection.pointee.inputCount > 0 {
        refuse(slot, RequestRefusal(status: 408, message: "the request did not arrive within 10 s"))
      } else {
        close(slot)
      }
    case .fault: reachTime(slot)
    case .release: release(slot)
    case .pulse: pulse(slot)
    case .linger: close(slot)
    }
  }
}
