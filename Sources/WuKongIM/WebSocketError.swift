// How a WebSocket session fails: what the peer did wrong, and the close code that says so (RFC 6455, section 7.4).

package struct WebSocketError: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The bytes are not frames, or frames in an order that the RFC forbids.
    case notWebSocket(String)
    /// A text message or a close reason that is not UTF-8.
    case notUTF8
    /// A message above the limit, in bytes.
    case messageTooBig(limit: Int)
    /// More fragments in one message than the limit.
    case tooManyFragments(limit: Int)
    /// The upgrade was refused or malformed.
    case handshake(String)
    /// Something was sent after the close.
    case alreadyClosed
  }

  package var kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  /// The code to close with.
  package var closeCode: UInt16 {
    switch kind {
    case .notWebSocket, .handshake: 1002
    case .notUTF8: 1007
    case .messageTooBig, .tooManyFragments: 1009
    case .alreadyClosed: 1000
    }
  }

  package var message: String {
    switch kind {
    case .notWebSocket(let what): "not a WebSocket frame: \(what)"
    case .notUTF8: "a text that is not UTF-8"
    case .messageTooBig(let limit): "a message over \(limit) bytes"
    case .tooManyFragments(let limit): "a message in more than \(limit) fragments"
    case .handshake(let what): "no WebSocket handshake: \(what)"
    case .alreadyClosed: "the session is closed"
    }
  }
}
