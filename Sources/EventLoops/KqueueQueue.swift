// Readiness on Apple's systems: one kqueue, woken by a user event. The same interface as EpollQueue. Written to
// compile there; run on Linux only so far.

#if canImport(Darwin)
internal import Darwin
package import Primitives

package final class EventQueue: @unchecked Sendable {
  private let queue: Int32
  private let capacity: Int
  private let raw: UnsafeMutablePointer<kevent>
  private let ready: UnsafeMutablePointer<Readiness>
  private static let bellToken = UInt64.max

  package init(capacity: Int = 512) throws(EventQueueError) {
    queue = kqueue()
    if queue < 0 { throw EventQueueError(call: "kqueue", errno: errno) }
    self.capacity = capacity
    raw = .allocate(capacity: capacity)
    ready = .allocate(capacity: capacity)
    var bell = kevent(
      ident: 0, filter: Int16(EVFILT_USER), flags: UInt16(EV_ADD | EV_CLEAR), fflags: 0, data: 0,
      udata: UnsafeMutableRawPointer(bitPattern: UInt(Self.bellToken)))
    _ = kevent(queue, &bell, 1, nil, 0, nil)
  }

  deinit {
    close(queue)
    raw.deallocate()
    ready.deallocate()
  }

  package func add(_ descriptor: Int32, _ interest: Interest, token: UInt64) throws(EventQueueError) {
    try modify(descriptor, interest, token: token)
  }

  package func modify(_ descriptor: Int32, _ interest: Interest, token: UInt64) throws(EventQueueError) {
    for (filter, wanted) in [(EVFILT_READ, Interest.read), (EVFILT_WRITE, Interest.write)] {
      var change = kevent(
        ident: UInt(descriptor), filter: Int16(filter),
        flags: UInt16(interest.contains(wanted) ? EV_ADD : EV_DELETE), fflags: 0, data: 0,
        udata: UnsafeMutableRawPointer(bitPattern: UInt(token)))
      if kevent(queue, &change, 1, nil, 0, nil) != 0, interest.contains(wanted) {
        throw EventQueueError(call: "kevent", errno: errno)
      }
    }
  }

  package func remove(_ descriptor: Int32) {
    try? modify(descriptor, [], token: 0)
  }

  package func wait(until deadline: Instant?) throws(EventQueueError) -> UnsafeBufferPointer<Readiness> {
    var limit = timespec()
    if let deadline {
      let left = max(0, deadline.nanoseconds - Instant.now().nanoseconds)
      limit = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
    }
    let count = kevent(queue, nil, 0, raw, Int32(capacity), deadline == nil ? nil : &limit)
    if count < 0 {
      if errno == EINTR { return UnsafeBufferPointer(start: ready, count: 0) }
      throw EventQueueError(call: "kevent", errno: errno)
    }
    var filled = 0
    for index in 0..<Int(count) {
      let token = UInt64(UInt(bitPattern: raw[index].udata))
      if token == Self.bellToken { continue }
      ready[filled] = Readiness(
        token: token, isReadable: raw[index].filter == Int16(EVFILT_READ),
        isWritable: raw[index].filter == Int16(EVFILT_WRITE), isClosed: raw[index].flags & UInt16(EV_EOF) != 0)
      filled += 1
    }
    return UnsafeBufferPointer(start: ready, count: filled)
  }

  package func wake() {
    var bell = kevent(ident: 0, filter: Int16(EVFILT_USER), flags: 0, fflags: UInt32(NOTE_TRIGGER), data: 0, udata: nil)
    _ = kevent(queue, &bell, 1, nil, 0, nil)
  }

  package static func useExactTimers() {}
}
#endif
