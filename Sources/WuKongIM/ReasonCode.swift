// The server's reason codes, as far as we meet them.

/// `reasonCode` in answers and in `disconnect`: 1 is success and 0 is not, whatever older documents say.
package struct ReasonCode: RawRepresentable, Hashable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  package static let unknown = ReasonCode(rawValue: 0)
  package static let success = ReasonCode(rawValue: 1)
  package static let authenticationFailed = ReasonCode(rawValue: 2)
  package static let kicked = ReasonCode(rawValue: 12)
  package static let rateLimit = ReasonCode(rawValue: 22)
}

/// What a client says it is.
package enum DeviceFlag: Int, Sendable { case app = 0, web = 1, pc = 2 }
