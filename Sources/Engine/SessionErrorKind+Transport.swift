// What a transport calls a failure, in the words of a session's record.

package import Recording
package import Transports

extension SessionErrorKind {
  package init(_ failure: TransportFailure) {
    self =
      switch failure {
      case .nameLookup: .dns
      case .refused: .refused
      case .connectTimeout: .timeoutConnect
      case .tls: .tls
      case .reset: .reset
      case .protocolViolation, .unsupported: .protocolError
      case .redirectLoop: .redirectLoop
      case .unsupportedEncoding: .unsupportedEncoding
      case .idleTimeout: .timeoutIdle
      case .overflow: .tooLarge
      }
  }
}
