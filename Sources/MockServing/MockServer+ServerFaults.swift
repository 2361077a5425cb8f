// Faults of the server as a whole: it goes down, comes back, and then accepts slowly.

internal import Arrivals
internal import EventLoops
internal import Primitives
internal import Scenarios

extension MockServer {
  // MARK: the whole server

  /// Sets the timer of the next fault of the server at a time of the run, and does those that are due from the start.
  mutating func scheduleServerFaults() {
    var earliest = Int64.max
    let now = Instant.now().nanoseconds
    let hasRestart = faults.contains { $0.kind == .restart }
    for index in faults.indices where faults[index].kind.isGlobal && globalUses[index] == 0 {
      let due: Int64
      switch faults[index].at {
      case .time(let time)?, .runTime(let time)?: due = start.nanoseconds + time.value
      case nil: due = start.nanoseconds
      default: continue
      }
      if due > now {
        earliest = min(earliest, due)
        continue
      }
      globalUses[index] += 1
      counters.count(faults[index].kind)
      switch faults[index].kind {
      case .slowStart: if !hasRestart || faults[index].at != nil { acceptRate = faults[index].perSecond }
      case .down: goDown(for: nil)
      default: goDown(for: faults[index].length)
      }
    }
    if earliest < .max { wheel.set(1, at: Instant(nanoseconds: earliest)) }
  }

  mutating func fireServerTimer(_ timer: Int) {
    if timer == 1 { scheduleServerFaults() } else { acceptAgain() }
  }

  /// Closes the listening sockets and every connection; nil: for ever.
  mutating func goDown(for length: Nanoseconds?) {
    for descriptor in listeners where descriptor >= 0 {
      queue.remove(descriptor)
      SocketCalls.close(descriptor)
    }
    listeners = listeners.map { _ in -1 }
    acceptsAgain = .max
    wheel.cancel(0)
    for slot in 0..<connections.capacity where connections[slot].pointee.phase != .free {
      close(slot)
    }
    if let length { pauseAccepting(until: Instant.now().nanoseconds + length.value) }
  }

  /// Looks at the listening sockets no more until then.
  mutating func pauseAccepting(until time: Int64) {
    for descriptor in listeners where descriptor >= 0 { queue.remove(descriptor) }
    acceptsAgain = time
    wheel.set(0, at: Instant(nanoseconds: time))
  }

  private mutating func acceptAgain() {
    acceptsAgain = 0
    for (index, descriptor) in listeners.enumerated() {
      if descriptor < 0 {
        let host = index == 0 ? options.host : "127.0.0.\(index + 1)"
        guard let address = SocketAddress(host: host, port: port),
          case .success(let opened) = SocketCalls.listen(address, sharesPort: options.sharesPort)
        else {
          pauseAccepting(until: Instant.now().nanoseconds + 50_000_000)
          return
        }
        listeners[index] = opened
        if let slow = faults.first(where: { $0.kind == .slowStart && $0.at == nil }) {
          acceptRate = slow.perSecond
          nextAccept = Instant.now().nanoseconds
        }
      }
      try? queue.add(listeners[index], .read, token: Self.specialToken | UInt64(index))
    }
    for index in listeners.indices where acceptsAgain == 0 { acceptAll(index) }
  }

  /// Whether a connection may be accepted now under `rate` a second; if not, accepting pauses until one may.
  mutating func maySlowlyAccept(_ rate: Double) -> Bool {
    let now = Instant.now().nanoseconds
    if now < nextAccept {
      if acceptsAgain == 0 { pauseAccepting(until: nextAccept) }
      return false
    }
    nextAccept = max(nextAccept, now - 1_000_000) + Int64(1e9 / max(rate, 0.001))
    return true
  }
}
