// A connection that carries bytes both ways and never blocks, whether its bytes are on the wire as they are or
// encrypted. Knows no protocol; waiting is the business of the loop's queue.

package import EventLoops
package import Primitives

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// One connection. A copy is the same connection: one owner ends it, once.
package enum StreamChannel {
  case closed
  case plain(Int32)
  case secure(SecureStream)

  package var isClosed: Bool {
    if case .closed = self { return true }
    return false
  }

  /// For the queue; −1 where there is none yet.
  package var descriptor: Int32 {
    switch self {
    case .closed: -1
    case .plain(let descriptor): descriptor
    case .secure(let stream): stream.descriptor
    }
  }

  /// Why the dial failed, once its token was reported; nil where the connection stands.
  package var dialFailure: DialFailure? {
    switch self {
    case .closed: DialFailure(kind: .reset, detail: "the connection is closed")
    case .plain(let descriptor): DialFailure(errno: StreamSocket.dialError(descriptor))
    case .secure(let stream): stream.failure
    }
  }

  /// Whether bytes may wait on our side of the socket, where the queue does not see them: then read until
  /// `.wouldBlock`.
  package var mayHoldBytes: Bool {
    if case .secure = self { return true }
    return false
  }

  /// The length of the TLS handshake; −1 where there was none.
  package var handshake: Nanoseconds {
    if case .secure(let stream) = self { return stream.handshake }
    return Nanoseconds(-1)
  }

  package func receive(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> StreamSocket.Outcome {
    switch self {
    case .closed: .ended
    case .plain(let descriptor): StreamSocket.receive(descriptor, buffer)
    case .secure(let stream): stream.receive(buffer)
    }
  }

  /// After `.wouldBlock` the next call must begin with the same bytes.
  package func transmit(_ bytes: UnsafeBufferPointer<UInt8>) -> StreamSocket.Outcome {
    switch self {
    case .closed: .ended
    case .plain(let descriptor): StreamSocket.transmit(descriptor, bytes)
    case .secure(let stream): stream.transmit(bytes)
    }
  }

  /// Closes the connection, or gives up its dial; nothing of it is reported any more.
  package mutating func end(on queue: EventQueue) {
    switch self {
    case .closed: return
    case .plain(let descriptor):
      queue.remove(descriptor)
      StreamSocket.end(descriptor)
    case .secure(let stream): stream.end()
    }
    self = .closed
  }
}

/// Why a connection was not made.
package struct DialFailure: Error, Equatable, Sendable {
  package var kind: TransportFailure
  package var detail: String
  /// The next dial would fail for the same reason: a certificate that is not trusted, or not ours.
  package var isLasting = false

  package init(kind: TransportFailure, detail: String, isLasting: Bool = false) {
    self.kind = kind
    self.detail = detail
    self.isLasting = isLasting
  }

  /// nil for 0, which is success.
  init?(errno code: Int32) {
    if code == 0 { return nil }
    kind =
      switch code {
      case ECONNREFUSED: .refused
      case ETIMEDOUT: .connectTimeout
      default: .reset
      }
    detail = systemMessage(code)
  }
}
