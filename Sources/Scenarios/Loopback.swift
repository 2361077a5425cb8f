// Whether an endpoint is on this machine: what needs no confirmation. Knows no DNS: a name is remote unless it is
// localhost, and an address in an unusual spelling is remote too.

import Primitives

extension Endpoint {
  /// The host that sessions go to, when it is not this one; nil for the mock, a Unix socket and loopback addresses.
  package var remoteHost: String? {
    if let proxy, !Self.isLoopback(Self.authority(of: proxy).host) { return Self.authority(of: proxy).host }
    if mock != nil || unixSocket != nil { return nil }
    guard let url else { return nil }
    let (host, port) = Self.authority(of: url)
    let pinned = resolve.compactMap { entry -> [Substring]? in
      let parts = entry.trimmingPrefix("+").split(
        separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      let matches =
        parts.count == 3 && (parts[0] == "*" || parts[0].lowercased() == host) && Int(parts[1]) == port
      return matches ? parts[2].split(separator: ",") : nil
    }
    if !pinned.isEmpty { return pinned.joined().allSatisfy { Self.isLoopback(String($0)) } ? nil : host }
    return Self.isLoopback(host) ? nil : host
  }

  /// Host, in lower case and without brackets, and port of a URL; the scheme may be missing.
  package static func authority(of url: String) -> (host: String, port: Int) {
    var rest = Substring(url)
    var port = 80
    if let colon = rest.range(of: "://") {
      if ["https", "wss"].contains(rest[..<colon.lowerBound].lowercased()) { port = 443 }
      rest = rest[colon.upperBound...]
    }
    rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
    if rest.hasPrefix("["), let close = rest.firstIndex(of: "]") {
      let after = rest[rest.index(after: close)...]
      return (rest[rest.index(after: rest.startIndex)..<close].lowercased(), Int(after.dropFirst()) ?? port)
    }
    if let colon = rest.lastIndex(of: ":") {
      return (rest[..<colon].lowercased(), Int(rest[rest.index(after: colon)...]) ?? port)
    }
    return (rest.lowercased(), port)
  }

  /// localhost, 127.0.0.0/8 in four numbers, ::1, and 127.0.0.0/8 mapped into IPv6.
  package static func isLoopback(_ host: String) -> Bool {
    var host = Substring(host.lowercased())
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    if host.hasSuffix(".") { host = host.dropLast() }
    if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "0:0:0:0:0:0:0:1" {
      return true
    }
    if host.hasPrefix("::ffff:") { host = host.dropFirst(7) }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127"
      && parts.allSatisfy { part in
        (1...3).contains(part.count) && part.allSatisfy { $0.isASCII && $0.isNumber }
          && (Int(part) ?? 256) < 256
          && (part.count == 1 || part.first != "0")
      }
  }
}

extension Substring {
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}
