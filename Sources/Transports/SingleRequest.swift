// One request, waited for: what is asked before a run begins.

package import Primitives
internal import EventLoops

package enum SingleRequest {
  /// The status that answers a request; nil where none came within `limit`. The body is not waited for.
  package static func status(_ endpoint: EndpointAddress, within limit: Nanoseconds) -> Int? {
    guard let queue = try? EventQueue(capacity: 16) else { return nil }
    let receiver = StatusReceiver()
    let transport = CurlTransport(endpoint: endpoint, places: 1, queue: queue, receiver: receiver, now: .now())
    defer { transport.shutDown() }
    let deadline = Instant.now() + limit
    transport.start(0, TransferRequest(), at: .now())
    while receiver.status == nil && !receiver.isOver && Instant.now() < deadline {
      let until = min(deadline, transport.nextDeadline() ?? deadline)
      guard let ready = try? queue.wait(until: until) else { return nil }
      for readiness in ready { transport.handle(readiness) }
      transport.expire(.now())
    }
    return receiver.status
  }
}

private final class StatusReceiver: TransferReceiver {
  var status: Int?
  var isOver = false

  func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes) {}
  func headReceived(_ place: Int, _ head: ResponseHead, at: Instant) { status = head.status }
  func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant) {}
  func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant) { isOver = true }
}
