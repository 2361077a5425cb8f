// Whether an endpoint is on this machine: what needs no confirmation. Knows no DNS: a name is remote unless it is
// localhost, and an address in an unusual spelling is remote too.

import Primitives

extension Endpoint {
  /// The host that sessions go to, when it is not this one; nil for the mock, a Unix socket and loopback addresses.
  package var remoteHost: String? {
    if let proxy {
      let host = WebAddress(anyScheme: proxy)?.host ?? proxy
      if !WebAddress.isLoopback(host) { return host.lowercased() }
    }
    if mock != nil || unixSocket != nil { return nil }
    guard let url else { return nil }
    // What cannot be read is not known to be here.
    guard let address = WebAddress(anyScheme: url) else { return url }
    let host = address.host.lowercased()
    let pinned = resolve.compactMap { entry -> [Substring]? in
      let parts = entry.trimmingPrefix("+").split(
        separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      let matches =
        parts.count == 3 && (parts[0] == "*" || parts[0].lowercased() == host) && Int(parts[1]) == address.port
      return matches ? parts[2].split(separator: ",") : nil
    }
    if !pinned.isEmpty { return pinned.joined().allSatisfy { WebAddress.isLoopback(String($0)) } ? nil : host }
    return WebAddress.isLoopback(host) ? nil : host
  }
}
