// Waits for a server that is still loading: the first answer below 500 means that it is ready. Asks with GET, so that
// nothing is generated and nothing is paid.

import Foundation
import Primitives
import Scenarios
import Transports

enum Readiness {
  /// False when the time is over or `seen` says to give up.
  static func wait(_ url: String, endpoint: Scenarios.Endpoint, limit: Nanoseconds, seen: () -> Bool) -> Bool {
    let deadline = Instant.now() + limit
    let address = address(url, endpoint)
    while Instant.now() < deadline && !seen() {
      if let status = SingleRequest.status(address, within: .seconds(5)), status < 500 { return true }
      usleep(200_000)
    }
    return false
  }

  /// Where to ask what a run wants to know of its endpoint before it begins.
  static func address(_ url: String, _ endpoint: Scenarios.Endpoint) -> EndpointAddress {
    var address = EndpointAddress(url: url)
    address.verifiesTLS = !endpoint.tls.insecure
    address.caFile = endpoint.tls.ca
    address.resolve = endpoint.resolve
    address.proxy = endpoint.proxy
    address.unixSocket = endpoint.unixSocket
    address.connectTimeout = .seconds(2)
    return address
  }
}
