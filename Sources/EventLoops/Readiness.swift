// What a queue reports about one descriptor, and what may be asked of it. The same for epoll and kqueue.

/// A descriptor that is ready, by the token it was added with.
package struct Readiness: Sendable {
  package var token: UInt64
  package var isReadable: Bool
  package var isWritable: Bool
  /// The peer closed or the descriptor failed; a read tells which.
  package var isClosed: Bool

  @inlinable package init(token: UInt64, isReadable: Bool, isWritable: Bool, isClosed: Bool) {
    self.token = token
    self.isReadable = isReadable
    self.isWritable = isWritable
    self.isClosed = isClosed
  }
}

package struct Interest: OptionSet, Sendable {
  package let rawValue: UInt8
  @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let read = Interest(rawValue: 1)
  package static let write = Interest(rawValue: 2)
}

/// A call of the event queue that failed.
package struct EventQueueError: Error, Equatable, Sendable {
  /// The system call.
  package var call: String
  package var errno: Int32

  package init(call: String, errno: Int32) {
    self.call = call
    self.errno = errno
  }
}
