// A URL becomes scheme, host, port and target: as much as the raw stack and the guards need. libcurl reads its own.

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

  /// Whether the host is this machine itself by its name or number.
  package var isLoopback: Bool {
    let name = host.lowercased()
    if name == "localhost" || name.hasSuffix(".localhost") || name == "::1" { return true }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// The value of the Host header.
  package var hostHeader: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }
}
