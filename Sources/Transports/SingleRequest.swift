// One request, waited for: what is asked before a run begins.

package import Primitives
internal import EventLoops

package enum SingleRequest {
  /// The status that answers a request; nil where none came within `limit`. The body is not waited for.
  package static func status(_ endpoint: EndpointAddress, within limit: Nanoseconds) -> Int? {
    let receiver = StatusReceiver()
    ask(endpoint, receiver, within: limit)
    return receiver.status
  }

  private static func ask(_ endpoint: EndpointAddress, _ receiver: StatusReceiver, within limit: Nanoseconds) {
    guard let queue = try? EventQueue(capacity: 16) else { return }
    let transport = CurlTransport(endpoint: endpoint, places: 1, queue: queue, receiver: receiver, now: .now())
    defer { transport.shutDown() }
    let deadline = Instant.now() + limit
    transport.start(0, TransferRequest(), at: .now())
    while receiver.status == nil && !receiver.isOver && Instant.now() < deadline {
      let until = min(deadline, transport.nextDeadline() ?? deadline)
      guard let ready = try? queue.wait(until: until) else { return }
      for readiness in ready { transport.handle(readiness) }
      transport.expire(.now())
    }
  }
}

extension SingleRequest {
  /// The server's clock as the answer to a request says it, with the instants between which it was read there; nil where
  /// none came within `limit` or the answer says no time.
  package static func clock(_ endpoint: EndpointAddress, within limit: Nanoseconds) -> (clock: ServerClock, sent: Instant, received: Instant)? {
    var endpoint = endpoint
    endpoint.readsClock = true
    let receiver = StatusReceiver()
    ask(endpoint, receiver, within: limit)
    guard let clock = receiver.clock, clock.resolution > 0, let sent = receiver.sent, let received = receiver.received else { return nil }
    return (clock, sent, received)
  }
}

private final class StatusReceiver: TransferReceiver {
  var status: Int?
  var clock: ServerClock?
  var sent: Instant?
  var received: Instant?
  var isOver = false

  func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes) { sent = at }
  func headReceived(_ place: Int, _ head: ResponseHead, at: Instant) {
    status = head.status
    clock = head.clock
    received = at
  }
  func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant) {}
  func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant) { isOver = true }
}
