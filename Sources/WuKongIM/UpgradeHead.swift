// The head of an HTTP/1.1 request or response, and the WebSocket upgrade in it (RFC 6455, section 4). Reads a head
// that is complete; finding its end and reading bodies is the business of whoever owns the connection.

package struct UpgradeHead: Equatable, Sendable {
  /// `GET /path HTTP/1.1`, or `HTTP/1.1 101 Switching Protocols`.
  package var startLine: String
  /// Names in lower case, in order.
  package var fields: [(name: String, value: String)]

  /// A head longer than this is refused.
  package static let maximumBytes = 16_384

  package static func == (a: UpgradeHead, b: UpgradeHead) -> Bool {
    a.startLine == b.startLine
      && a.fields.elementsEqual(b.fields) { $0.name == $1.name && $0.value == $1.value }
  }

  /// The length of the head in `bytes`, its blank line included; nil while that is not there. An error when it is too
  /// long.
  package static func length(in bytes: some Collection<UInt8>) throws(WebSocketError) -> Int? {
    var matched = 0
    let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
    for (index, byte) in bytes.enumerated() {
      if index >= maximumBytes { throw WebSocketError(.handshake("a head over \(maximumBytes) bytes")) }
      matched = byte == end[matched] ? matched + 1 : byte == 0x0D ? 1 : 0
      if matched == 4 { return index + 1 }
    }
    return nil
  }

  /// Reads a head, with or without its blank line.
  package init(_ bytes: some Collection<UInt8>) throws(WebSocketError) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw WebSocketError(.handshake("a head that is not UTF-8"))
    }
    // By scalars: a CR LF is one Character.
    var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      String(line.last == "\r" ? line.dropLast() : line)
    }[...]
    while lines.last?.isEmpty == true { lines.removeLast() }
    guard let first = lines.popFirst() else { throw WebSocketError(.handshake("an empty head")) }
    startLine = first
    fields = []
    for line in lines {
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
        throw WebSocketError(.handshake("a header line without a name"))
      }
      let name = line[..<colon]
      if name.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
        throw WebSocketError(.handshake("a header name with a blank"))
      }
      fields.append((name.lowercased(), Self.trimmed(line[line.utf8.index(after: colon)...])))
    }
  }

  package func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// Whether a comma-separated field holds a token, whatever its case.
  package func has(_ token: String, in name: String) -> Bool {
    fields.contains { field in
      field.name == name
        && field.value.split(separator: ",").contains { Self.trimmed($0).lowercased() == token }
    }
  }

  static func trimmed(_ text: Substring) -> String {
    var text = text
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }

  /// The words of the start line.
  package var words: [String] { startLine.split(separator: " ", maxSplits: 2).map(String.init) }
}

package enum WebSocketHandshake {
  /// Section 1.3: SHA-1 of the key and the RFC's GUID, in Base64.
  package static func acceptKey(for key: String) -> String {
    Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// A client's upgrade request. `key` is 16 random bytes in Base64: `newKey()`.
  package static func request(host: String, path: String, key: String, headers: [(String, String)] = [])
    -> [UInt8]
  {
    var text =
      "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: 13\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    return Array((text + "\r\n").utf8)
  }

  package static func newKey() -> String {
    var generator = SystemRandomNumberGenerator()
    return Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
  }

  /// Whether a request asks for an upgrade at all; others are plain HTTP.
  package static func wantsUpgrade(_ head: UpgradeHead) -> Bool { head.has("websocket", in: "upgrade") }

  /// The server's answer to an upgrade request (section 4.2).
  package static func response(to head: UpgradeHead) throws(WebSocketError) -> [UInt8] {
    let words = head.words
    guard words.count == 3, words[0] == "GET", words[2] == "HTTP/1.1" else {
      throw WebSocketError(.handshake("expected GET and HTTP/1.1; found '\(head.startLine.prefix(60))'"))
    }
    guard head.value("host") != nil else { throw WebSocketError(.handshake("no Host")) }
    guard wantsUpgrade(head), head.has("upgrade", in: "connection") else {
      throw WebSocketError(.handshake("no 'Upgrade: websocket' with 'Connection: Upgrade'"))
    }
    guard head.value("sec-websocket-version") == "13" else {
      throw WebSocketError(.handshake("Sec-WebSocket-Version is not 13"))
    }
    guard let key = head.value("sec-websocket-key"), Base64.decode(key.utf8)?.count == 16 else {
      throw WebSocketError(.handshake("Sec-WebSocket-Key is not 16 bytes in Base64"))
    }
    return Array(
      ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(acceptKey(for: key))\r\n\r\n").utf8)
  }

  /// Checks the server's answer to a request with `key` (section 4.1). We offer no extension and no subprotocol, so
  /// neither may come back.
  package static func check(_ head: UpgradeHead, key: String) throws(WebSocketError) {
    let words = head.words
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1] == "101" else {
      throw WebSocketError(.handshake("expected 101; found '\(head.startLine.prefix(60))'"))
    }
    guard wantsUpgrade(head), head.has("upgrade", in: "connection") else {
      throw WebSocketError(.handshake("101 without 'Upgrade: websocket' and 'Connection: Upgrade'"))
    }
    guard head.value("sec-websocket-accept") == acceptKey(for: key) else {
      throw WebSocketError(.handshake("Sec-WebSocket-Accept does not belong to our key"))
    }
    if head.value("sec-websocket-extensions") != nil || head.value("sec-websocket-protocol") != nil {
      throw WebSocketError(.handshake("an extension or subprotocol that was not offered"))
    }
  }
}
