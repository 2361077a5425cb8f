// A URL becomes scheme, host, port and target: as much as the raw stack, the checks and the guards need. libcurl reads its own.

/// An absolute http or https URL.
package struct WebAddress: Sendable, Equatable {
  package var isSecure: Bool
  /// Without brackets for IPv6.
  package var host: String
  package var port: Int
  /// Path and query, at least "/".
  package var target: String
  package var hasCredentials = false

  /// nil where it is not such a URL.
  package init?(_ text: String) {
    let rest: Substring
    if text.lowercased().hasPrefix("http://") {
      isSecure = false
      rest = text.dropFirst(7)
    } else if text.lowercased().hasPrefix("https://") {
      isSecure = true
      rest = text.dropFirst(8)
    } else {
      return nil
    }
    if text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) { return nil }
    let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    var authority = rest[..<end]
    var tail = String(rest[end...])
    if let hash = tail.firstIndex(of: "#") { tail = String(tail[..<hash]) }
    target = tail.hasPrefix("/") ? tail : "/" + tail
    if let at = authority.lastIndex(of: "@") {
      hasCredentials = true
      authority = authority[authority.index(after: at)...]
    }
    var portText: Substring?
    if authority.hasPrefix("[") {
      guard let close = authority.firstIndex(of: "]") else { return nil }
      host = String(authority[authority.index(after: authority.startIndex)..<close])
      let after = authority[authority.index(after: close)...]
      if after.hasPrefix(":") { portText = after.dropFirst() } else if !after.isEmpty { return nil }
    } else if let colon = authority.firstIndex(of: ":") {
      host = String(authority[..<colon])
      portText = authority[authority.index(after: colon)...]
    } else {
      host = String(authority)
    }
    if host.isEmpty { return nil }
    if let portText, !portText.isEmpty {
      guard let number = Int(portText), (1...65535).contains(number) else { return nil }
      port = number
    } else {
      port = isSecure ? 443 : 80
    }
  }

  /// The same of a URL of any scheme, or of none, read as if it were http: WebSockets and proxies have such. `https` and `wss` have
  /// the port 443 where they name none.
  package init?(anyScheme text: String) {
    var scheme = Substring()
    var rest = Substring(text)
    if let mark = text.firstIndex(of: ":"), text[mark...].hasPrefix("://") {
      scheme = text[..<mark]
      rest = text[text.index(mark, offsetBy: 3)...]
    }
    self.init((["https", "wss"].contains(scheme.lowercased()) ? "https://" : "http://") + String(rest))
  }

  /// Whether a host, with or without brackets, is this machine itself by its name or number: localhost, 127.0.0.0/8 in four numbers,
  /// ::1, and 127.0.0.0/8 mapped into IPv6.
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

  /// The value of the Host header.
  package var hostHeader: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }
}
