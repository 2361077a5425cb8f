// The answers on one keep-alive HTTP/1.1 connection: bytes in, a status and a whole body out. Content-Length, chunked,
// or until the end. Bounded; knows no socket.

package struct HTTPAnswerReader: Sendable {
  package struct Answer: Equatable, Sendable {
    package var status: Int
    package var body: [UInt8]
    package var keepsAlive: Bool
  }

  package enum Problem: Error, Equatable, Sendable {
    case badHead(String)
    case bodyTooBig(limit: Int)
    case badChunk
    case endedEarly
  }

  /// A history of 10,000 messages fits; what is larger is refused.
  package static let maximumBody = 64 << 20

  private enum Length { case known(Int), chunked, untilEnd }

  private var bytes: [UInt8] = []
  private var head: (status: Int, length: Length, keepsAlive: Bool)?
  private var body: [UInt8] = []
  /// While the body is chunked: bytes of the current chunk that are missing, its line end included.
  private var chunk: Int?
  private var lastChunkSeen = false

  package init() {}

  /// Takes bytes; an answer when one is whole. What follows it stays for the next call, also with no bytes.
  package mutating func feed(_ more: UnsafeBufferPointer<UInt8>) throws(Problem) -> Answer? {
    bytes.append(contentsOf: more)
    if head == nil { try readHead() }
    guard let head else { return nil }
    switch head.length {
    case .known(let length):
      if bytes.count < length { return nil }
      body = Array(bytes[..<length])
      bytes.removeFirst(length)
      return take()
    case .chunked: return try readChunks() ? take() : nil
    case .untilEnd:
      if bytes.count > Self.maximumBody { throw .bodyTooBig(limit: Self.maximumBody) }
      return nil
    }
  }

  /// The connection ended: the answer that ends with it, or nil where none was begun.
  package mutating func end() throws(Problem) -> Answer? {
    guard let head else {
      if bytes.isEmpty { return nil }
      throw .endedEarly
    }
    guard case .untilEnd = head.length else { throw .endedEarly }
    body = bytes
    bytes = []
    return take()
  }

  private mutating func take() -> Answer? {
    guard let head else { return nil }
    defer {
      self.head = nil
      body = []
      chunk = nil
      lastChunkSeen = false
    }
    return Answer(status: head.status, body: body, keepsAlive: head.keepsAlive)
  }

  private mutating func readHead() throws(Problem) {
    while true {
      let parsed: UpgradeHead
      do throws(WebSocketError) {
        guard let length = try UpgradeHead.length(in: bytes) else { return }
        parsed = try UpgradeHead(bytes[..<length])
        bytes.removeFirst(length)
      } catch { throw .badHead(error.message) }
      let words = parsed.words
      guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
        throw .badHead(String(parsed.startLine.prefix(60)))
      }
      // 100 Continue stands before the answer.
      if (100..<200).contains(status) { continue }
      let length: Length
      if status == 204 || status == 304 {
        length = .known(0)
      } else if parsed.has("chunked", in: "transfer-encoding") {
        length = .chunked
      } else if let text = parsed.value("content-length") {
        guard let number = Int(text), number >= 0 else {
          throw .badHead("Content-Length '\(text.prefix(20))'")
        }
        if number > Self.maximumBody { throw .bodyTooBig(limit: Self.maximumBody) }
        length = .known(number)
      } else {
        length = .untilEnd
      }
      let closes = parsed.has("close", in: "connection") || words[0] == "HTTP/1.0"
      var keeps = !closes
      if case .untilEnd = length { keeps = false }
      head = (status, length, keeps)
      return
    }
  }

  /// True when the last chunk and its trailer are read.
  private mutating func readChunks() throws(Problem) -> Bool {
    while true {
      if let missing = chunk {
        let take = min(missing, bytes.count)
        body.append(contentsOf: bytes[..<take])
        bytes.removeFirst(take)
        if take < missing {
          chunk = missing - take
          return false
        }
        guard bytes.count >= 2 else {
          chunk = 0
          return false
        }
        guard bytes[0] == 0x0D, bytes[1] == 0x0A else { throw .badChunk }
        bytes.removeFirst(2)
        chunk = nil
      }
      guard let end = bytes.firstIndex(of: 0x0A) else {
        if bytes.count > 4_096 { throw .badChunk }
        return false
      }
      let line = String(decoding: bytes[..<end], as: UTF8.self)
      bytes.removeFirst(end + 1)
      if lastChunkSeen {
        if line == "\r" || line.isEmpty { return true }
        continue
      }
      let digits = line.prefix { $0.isHexDigit }
      guard let size = Int(digits, radix: 16), !digits.isEmpty else { throw .badChunk }
      if size > Self.maximumBody - body.count { throw .bodyTooBig(limit: Self.maximumBody) }
      if size == 0 { lastChunkSeen = true } else { chunk = size }
    }
  }
}
