// A request's head and body as ranges of the bytes that came in; nothing is copied. RFC 9112, as strict as a server may
// be: what is ambiguous is refused. Knows no path and no API.

internal import Primitives

/// What the bytes so far amount to.
enum RequestParse {
  /// More bytes are needed; `expectsContinue` when the client waits for `100 Continue` to send its body.
  case incomplete(expectsContinue: Bool)
  /// A request, and how many bytes it took.
  case complete(HTTPRequest, length: Int)
  case refused(RequestRefusal)
}

struct RequestRefusal: Error, Equatable {
  var status: Int
  var message: String
}

struct HTTPRequest {
  static let maximumHead = 32 << 10
  static let maximumBody = 1 << 20

  let method: [UInt8]
  let path: [UInt8]
  let query: [UInt8]
  /// HTTP/1.1; false is HTTP/1.0.
  let isHTTP11: Bool
  var keepsAlive: Bool
  var session: [UInt8]?
  var lastEventID: [UInt8]?
  var host: [UInt8]?
  let body: [UInt8]

  static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> RequestParse {
    // RFC 9112, 2.2: empty lines before a request line are skipped.
    var start = 0
    while start < bytes.count, bytes[start] == 0x0D || bytes[start] == 0x0A { start += 1 }
    guard let headEnd = endOfHead(bytes, from: start) else {
      if bytes.count - start > maximumHead {
        return .refused(RequestRefusal(status: 431, message: "the request's head is over 32 KiB"))
      }
      return hopeless(bytes, from: start) ?? .incomplete(expectsContinue: false)
    }
    if headEnd - start > maximumHead {
      return .refused(RequestRefusal(status: 431, message: "the request's head is over 32 KiB"))
    }
    do throws(RequestRefusal) {
      return try parse(bytes, start: start, headEnd: headEnd)
    } catch {
      return .refused(error)
    }
  }

  /// A first line that cannot become a request is refused before the head is complete.
  private static func hopeless(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> RequestParse? {
    guard start < bytes.count else { return nil }
    if !isToken(bytes[start]) { return .refused(RequestRefusal(status: 400, message: "not an HTTP request")) }
    let line = bytes[start...].prefix { $0 != 0x0A }
    guard start + line.count < bytes.count else { return nil }
    do throws(RequestRefusal) {
      _ = try requestLine(Array(line.last == 0x0D ? line.dropLast() : line))
      return nil
    } catch {
      return .refused(error)
    }
  }

  private static func endOfHead(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var index = start
    while index < bytes.count {
      if bytes[index] == 0x0A {
        if index + 1 < bytes.count, bytes[index + 1] == 0x0A { return index + 2 }
        if index + 2 < bytes.count, bytes[index + 1] == 0x0D, bytes[index + 2] == 0x0A { return index + 3 }
      }
      index += 1
    }
    return nil
  }

  private static func requestLine(_ line: [UInt8]) throws(RequestRefusal) -> (
    method: [UInt8], target: [UInt8], isHTTP11: Bool
  ) {
    let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(isToken), !words[1].isEmpty else {
      throw RequestRefusal(status: 400, message: "not an HTTP request line")
    }
    guard words[2].starts(with: "HTTP/".utf8) else {
      throw RequestRefusal(status: 400, message: "not an HTTP request line")
    }
    let version = words[2].dropFirst(5)
    guard version.elementsEqual("1.1".utf8) || version.elementsEqual("1.0".utf8) else {
      throw RequestRefusal(status: 505, message: "only HTTP/1.1 and HTTP/1.0 are spoken here")
    }
    guard words[1].allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw RequestRefusal(status: 400, message: "a control character in the request's target")
    }
    return (Array(words[0]), Array(words[1]), version.elementsEqual("1.1".utf8))
  }

  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>, start: Int, headEnd: Int)
    throws(RequestRefusal)
    -> RequestParse
  {
    var lineStart = start
    func nextLine() -> UnsafeBufferPointer<UInt8> {
      var end = lineStart
      while bytes[end] != 0x0A { end += 1 }
      let stop = end > lineStart && bytes[end - 1] == 0x0D ? end - 1 : end
      let line = UnsafeBufferPointer(rebasing: bytes[lineStart..<stop])
      lineStart = end + 1
      return line
    }
    let first = try requestLine(Array(nextLine()))
    var contentLength: Int?
    var isChunked = false
    var keepsAlive = first.isHTTP11
    var expectsContinue = false
    var session: [UInt8]?
    var lastEventID: [UInt8]?
    var host: [UInt8]?
    while true {
      let line = nextLine()
      if line.isEmpty { break }
      guard let colon = line.firstIndex(of: 0x3A), colon > 0, line[..<colon].allSatisfy(isToken) else {
        throw RequestRefusal(status: 400, message: "a header line without a name")
      }
      let name = UnsafeBufferPointer(rebasing: line[..<colon])
      let value = trimmed(UnsafeBufferPointer(rebasing: line[(colon + 1)...]))
      if value.contains(where: { $0 == 0 || $0 == 0x0D }) {
        throw RequestRefusal(status: 400, message: "a control character in a header")
      }
      switch colon {
      case 4 where matches(name, "host"): host = Array(value)
      case 6 where matches(name, "expect"): expectsContinue = matches(value, "100-continue")
      case 10 where matches(name, "connection"):
        if contains(value, "close") {
          keepsAlive = false
        } else if contains(value, "keep-alive") {
          keepsAlive = true
        }
      case 13 where matches(name, "last-event-id"): lastEventID = Array(value)
      case 14 where matches(name, "content-length"):
        guard let length = decimal(value), contentLength == nil || contentLength == length else {
          throw RequestRefusal(status: 400, message: "a Content-Length that is no number, or two that differ")
        }
        contentLength = length
      case 17 where matches(name, "transfer-encoding"):
        guard matches(value, "chunked"), !isChunked else {
          throw RequestRefusal(status: 501, message: "a transfer coding other than chunked")
        }
        isChunked = true
      case 18 where matches(name, "x-ssebench-session"): session = Array(value)
      default: break
      }
    }
    if isChunked && contentLength != nil {
      throw RequestRefusal(status: 400, message: "both Content-Length and Transfer-Encoding")
    }
    var body: [UInt8] = []
    var length = headEnd
    if isChunked {
      guard let (content, end) = try chunkedBody(bytes, from: headEnd) else {
        return .incomplete(expectsContinue: expectsContinue && bytes.count == headEnd)
      }
      (body, length) = (content, end)
    } else if let contentLength, contentLength > 0 {
      if contentLength > maximumBody {
        throw RequestRefusal(status: 413, message: "the request's body is over 1 MiB")
      }
      guard bytes.count - headEnd >= contentLength else {
        return .incomplete(expectsContinue: expectsContinue && bytes.count == headEnd)
      }
      length = headEnd + contentLength
      body = Array(bytes[headEnd..<length])
    }
    let question = first.target.firstIndex(of: 0x3F)
    let fragmentless = first.target.firstIndex(of: 0x23) ?? first.target.count
    let request = HTTPRequest(
      method: first.method, path: Array(first.target[..<min(question ?? fragmentless, fragmentless)]),
      query: question.map { Array(first.target[min($0 + 1, fragmentless)..<fragmentless]) } ?? [],
      isHTTP11: first.isHTTP11, keepsAlive: keepsAlive, session: session, lastEventID: lastEventID,
      host: host,
      body: body)
    return .complete(request, length: length)
  }

  /// The content of a chunked body and where it ends; nil while it is not all there.
  private static func chunkedBody(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) throws(RequestRefusal)
    -> (
      [UInt8], Int
    )?
  {
    var content: [UInt8] = []
    var at = start
    while true {
      guard let lineEnd = bytes[at...].firstIndex(of: 0x0A) else {
        if bytes.count - at > 1024 {
          throw RequestRefusal(status: 400, message: "a chunk's size is no number")
        }
        return nil
      }
      let size = bytes[at..<lineEnd].prefix { $0 != 0x3B && $0 != 0x0D && $0 != 0x20 }
      guard !size.isEmpty, size.count <= 8, let count = Int(String(decoding: size, as: UTF8.self), radix: 16),
        count >= 0
      else { throw RequestRefusal(status: 400, message: "a chunk's size is no number") }
      at = lineEnd + 1
      if count == 0 {
        // Trailers are read over, up to the empty line.
        while true {
          guard let end = bytes[at...].firstIndex(of: 0x0A) else {
            if bytes.count - at > maximumHead {
              throw RequestRefusal(status: 431, message: "trailers over 32 KiB")
            }
            return nil
          }
          let isEmpty = end == at || (end == at + 1 && bytes[at] == 0x0D)
          at = end + 1
          if isEmpty { return (content, at) }
        }
      }
      if content.count + count > maximumBody {
        throw RequestRefusal(status: 413, message: "the request's body is over 1 MiB")
      }
      guard bytes.count >= at + count + 2 else { return nil }
      content.append(contentsOf: bytes[at..<at + count])
      at += count
      if bytes[at] == 0x0D { at += 1 }
      guard bytes[at] == 0x0A else {
        throw RequestRefusal(status: 400, message: "a chunk longer than its size")
      }
      at += 1
    }
  }

  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
    default: false
    }
  }

  private static func trimmed(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    var low = 0
    var high = bytes.count
    while low < high, bytes[low] == 0x20 || bytes[low] == 0x09 { low += 1 }
    while high > low, bytes[high - 1] == 0x20 || bytes[high - 1] == 0x09 { high -= 1 }
    return UnsafeBufferPointer(rebasing: bytes[low..<high])
  }

  /// Equal but for the case of ASCII letters; `text` is in lower case.
  static func matches(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    guard bytes.count == text.utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count where lower(bytes[index]) != text.utf8Start[index] { return false }
    return true
  }

  private static func contains(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count >= count else { return false }
    for start in 0...(bytes.count - count)
    where matches(UnsafeBufferPointer(rebasing: bytes[start..<start + count]), text) { return true }
    return false
  }

  private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  /// Digits only; nil for anything else and for more than 15 of them.
  static func decimal(_ bytes: some Collection<UInt8>) -> Int? {
    guard !bytes.isEmpty, bytes.count <= 15 else { return nil }
    var value = 0
    for byte in bytes {
      guard (0x30...0x39).contains(byte) else { return nil }
      value = value * 10 + Int(byte - 0x30)
    }
    return value
  }

  /// The value of a query's parameter, percent-decoded.
  func parameter(_ name: String) -> String? {
    for pair in query.split(separator: 0x26) {
      let parts = pair.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
      if parts[0].elementsEqual(name.utf8) {
        return String(decoding: Self.percentDecoded(parts.count > 1 ? parts[1] : []), as: UTF8.self)
      }
    }
    return nil
  }

  static func percentDecoded(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var out: [UInt8] = []
    var pending = Array(bytes)[...]
    while let byte = pending.popFirst() {
      if byte == 0x25, pending.count >= 2,
        let value = UInt8(String(decoding: pending.prefix(2), as: UTF8.self), radix: 16)
      {
        out.append(value)
        pending = pending.dropFirst(2)
      } else {
        out.append(byte == 0x2B ? 0x20 : byte)
      }
    }
    return out
  }
}
