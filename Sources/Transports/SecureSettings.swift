// How secure connections are opened and whom they trust, and libcurl's options for it.

internal import CCurl
package import Primitives

package struct SecureSettings: Sendable, Equatable {
  /// Paths of PEM files; without `caFile` the system's authorities are trusted.
  package var caFile: String?
  package var certificateFile: String?
  package var keyFile: String?
  package var verifies = true
  /// In curl's form, "host:port:address".
  package var resolve: [String] = []
  /// From the dial to the end of the TLS handshake.
  package var connectTimeout = Nanoseconds.seconds(10)

  package init() {}

  package init(_ endpoint: EndpointAddress) {
    caFile = endpoint.caFile
    certificateFile = endpoint.certificateFile
    keyFile = endpoint.keyFile
    verifies = endpoint.verifiesTLS
    resolve = endpoint.resolve
    connectTimeout = endpoint.connectTimeout
  }

  /// The address that `resolve` names for a host and port.
  package func address(of host: String, _ port: Int) -> String? {
    for entry in resolve {
      let parts = entry.split(separator: ":", maxSplits: 2)
      guard parts.count == 3, parts[0].lowercased() == host.lowercased(), Int(parts[1]) == port else {
        continue
      }
      let first = parts[2].prefix { $0 != "," }
      return String(first.filter { $0 != "[" && $0 != "]" })
    }
    return nil
  }

  /// Whom to trust; names and times are the business of whoever dials.
  func apply(to easy: UnsafeMutableRawPointer) {
    if !verifies {
      _ = CCurl_setopt_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
      _ = CCurl_setopt_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let caFile { _ = CCurl_setopt_string(easy, CURLOPT_CAINFO, caFile) }
    if let certificateFile { _ = CCurl_setopt_string(easy, CURLOPT_SSLCERT, certificateFile) }
    if let keyFile { _ = CCurl_setopt_string(easy, CURLOPT_SSLKEY, keyFile) }
  }
}
