// Readiness on Linux: one epoll set and one eventfd to wake it from another thread. Level-triggered. Owned by one
// thread but for `wake`.

#if os(Linux)
internal import CPlatform
internal import Glibc
package import Primitives

package final class EventQueue: @unchecked Sendable {
  private let queue: Int32
  private let bell: Int32
  private let capacity: Int
  private let raw: UnsafeMutablePointer<epoll_event>
  private let ready: UnsafeMutablePointer<Readiness>
  private static let bellToken = UInt64.max

  /// - Parameter capacity: how many descriptors one wait can report.
  package init(capacity: Int = 512) throws(EventQueueError) {
    let queue = epoll_create1(Int32(EPOLL_CLOEXEC))
    if queue < 0 { throw EventQueueError(call: "epoll_create1", errno: errno) }
    let bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    if bell < 0 {
      let code = errno
      close(queue)
      throw EventQueueError(call: "eventfd", errno: code)
    }
    self.queue = queue
    self.bell = bell
    self.capacity = capacity
    raw = .allocate(capacity: capacity)
    ready = .allocate(capacity: capacity)
    try add(bell, .read, token: Self.bellToken)
  }

  deinit {
    close(bell)
    close(queue)
    raw.deallocate()
    ready.deallocate()
  }

  package func add(_ descriptor: Int32, _ interest: Interest, token: UInt64) throws(EventQueueError) {
    try control(EPOLL_CTL_ADD, descriptor, interest, token)
  }

  package func modify(_ descriptor: Int32, _ interest: Interest, token: UInt64) throws(EventQueueError) {
    try control(EPOLL_CTL_MOD, descriptor, interest, token)
  }

  /// A descriptor that is about to be closed needs no removal if nothing else refers to its file.
  package func remove(_ descriptor: Int32) {
    _ = epoll_ctl(queue, EPOLL_CTL_DEL, descriptor, nil)
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ interest: Interest, _ token: UInt64)
    throws(EventQueueError)
  {
    var flags: UInt32 = 0
    if interest.contains(.read) { flags |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
    if interest.contains(.write) { flags |= EPOLLOUT.rawValue }
    var event = CPlatform_epoll_event(flags, token)
    if epoll_ctl(queue, operation, descriptor, &event) != 0 {
      throw EventQueueError(call: "epoll_ctl", errno: errno)
    }
  }

  /// Waits for readiness, for `wake`, or until `deadline` (nil: without limit); what is ready stands in the result
  /// until the next call. A signal ends the wait early, with nothing ready.
  package func wait(until deadline: Instant?) throws(EventQueueError) -> UnsafeBufferPointer<Readiness> {
    var timeout: Int64 = -1
    if let deadline { timeout = max(0, deadline.nanoseconds - Instant.now().nanoseconds) }
    let count = CPlatform_epoll_wait(queue, raw, Int32(capacity), timeout)
    if count < 0 {
      if errno == EINTR { return UnsafeBufferPointer(start: ready, count: 0) }
      throw EventQueueError(call: "epoll_wait", errno: errno)
    }
    var filled = 0
    for index in 0..<Int(count) {
      let token = CPlatform_epoll_token(raw + index)
      if token == Self.bellToken {
        var value: UInt64 = 0
        _ = read(bell, &value, 8)
        continue
      }
      let flags = raw[index].events
      ready[filled] = Readiness(
        token: token,
        isReadable: flags & EPOLLIN.rawValue != 0,
        isWritable: flags & EPOLLOUT.rawValue != 0,
        isClosed: flags & (EPOLLHUP.rawValue | EPOLLERR.rawValue | EPOLLRDHUP.rawValue) != 0)
      filled += 1
    }
    return UnsafeBufferPointer(start: ready, count: filled)
  }

  /// Ends a wait, from any thread.
  package func wake() {
    var one: UInt64 = 1
    _ = write(bell, &one, 8)
  }

  /// Makes this thread's waits exact to microseconds; call once on the thread that waits.
  package static func useExactTimers() { CPlatform_exact_timers() }
}
#endif
