// The bytes of an HTTP/1.1 connection become a response head and body bytes (RFC 9112). Works in place: the transfer
// coding is squeezed out of the caller's buffer. Knows no socket; bounded whatever comes.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Reads one response after another from a connection. 40 bytes, and a buffer only while a head is incomplete.
package struct HTTPResponseReader: ~Copyable {
  /// A head larger than this, or more trailer bytes, is a protocol violation.
  package static let maximumHead = 64 << 10

  private enum State: UInt8 {
    case head, length, untilClose
    case chunkSize, chunkExtension, chunkData, chunkDataCR, chunkDataLF, trailer
    case broken
    case done
  }

  /// What is wrong with a chunked body; said after the bytes before it have been handed out.
  private enum Violation: UInt8 {
    case none, chunkEnd, sizeTooLarge, noSize, sizeNotHexadecimal, sizeEnd, longExtension, longTrailers

    var sentence: String {
      switch self {
      case .none: ""
      case .chunkEnd: "no line end after a chunk"
      case .sizeTooLarge: "a chunk size that is too large"
      case .noSize: "a chunk without a size"
      case .sizeNotHexadecimal: "a chunk size that is not hexadecimal"
      case .sizeEnd: "no LF after the CR of a chunk size"
      case .longExtension: "a chunk extension over 4096 bytes"
      case .longTrailers: "trailers over \(HTTPResponseReader.maximumHead) bytes"
      }
    }
  }

  private var state = State.head
  private var violation = Violation.none
  private var keepsAlive = true
  /// Bytes left of the body or chunk; while a size line is read, its value so far.
  private var left: UInt64 = 0
  /// Digits of the size line, or bytes of trailers, so far.
  private var seen: UInt32 = 0
  private var lineIsEmpty = true
  private var head: [UInt8] = []

  /// What one call found. A range lies in the caller's buffer.
  package enum Step {
    case needsMore
    case head(ResponseHead)
    case body(Range<Int>)
    case complete
    case failed(String)
  }

  package init() {}

  /// Whether the connection can carry another request after `complete`.
  package var canBeReused: Bool { keepsAlive && state == .done }
  /// Whether a close by the peer at this point is the regular end of the body.
  package var endsAtClose: Bool { state == .untilClose }
  /// Whether nothing of a response has come yet.
  package var isUntouched: Bool { state == .head && head.isEmpty }

  /// Makes ready for the next response on the same connection.
  package mutating func startResponse() {
    state = .head
    keepsAlive = true
    left = 0
    seen = 0
    if head.capacity > 0 { head = [] }
  }

  /// Advances over `buffer[position...]`; moves `position` past what was used. To be called until it says
  /// `needsMore`, `complete` or `failed`.
  package mutating func next(_ buffer: UnsafeMutableRawBufferPointer, _ position: inout Int) -> Step {
    switch state {
    case .head: return readHead(buffer, &position)
    case .done: return .complete
    case .broken: return .failed(violation.sentence)
    case .untilClose:
      if position == buffer.count { return .needsMore }
      let range = position..<buffer.count
      position = buffer.count
      return .body(range)
    case .length:
      if left == 0 {
        state = .done
        return .complete
      }
      let count = Int(min(left, UInt64(buffer.count - position)))
      if count == 0 { return .needsMore }
      left -= UInt64(count)
      position += count
      return .body(position - count..<position)
    default: return readChunks(buffer, &position)
    }
  }

  // MARK: Head

  private mutating func readHead(_ buffer: UnsafeMutableRawBufferPointer, _ position: inout Int) -> Step {
    if position == buffer.count { return .needsMore }
    let fresh = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[position...])
    if head.isEmpty, let end = Self.endOfHead(fresh, from: 0) {
      position += end
      return begin(UnsafeRawBufferPointer(rebasing: fresh[..<end]))
    }
    let before = head.count
    let taken = min(fresh.count, Self.maximumHead + 1 - before)
    head.append(contentsOf: fresh[..<taken])
    let end = head.withUnsafeBytes { Self.endOfHead($0, from: max(0, before - 3)) }
    guard let end else {
      position += taken
      return head.count > Self.maximumHead ? .failed("a response head over \(Self.maximumHead) bytes") : .needsMore
    }
    position += end - before
    let whole = head
    head = []
    return whole.withUnsafeBytes { begin(UnsafeRawBufferPointer(rebasing: $0[..<end])) }
  }

  /// The position after the empty line that ends a head, LF alone tolerated as a line end (RFC 9112, 2.2).
  private static func endOfHead(_ bytes: UnsafeRawBufferPointer, from: Int) -> Int? {
    var at = from
    while at < bytes.count, let found = memchr(bytes.baseAddress! + at, 0x0A, bytes.count - at) {
      let lf = UnsafeRawPointer(found) - bytes.baseAddress!
      if lf + 1 < bytes.count && bytes[lf + 1] == 0x0A { return lf + 2 }
      if lf + 2 < bytes.count && bytes[lf + 1] == 0x0D && bytes[lf + 2] == 0x0A { return lf + 3 }
      at = lf + 1
    }
    return nil
  }

  private mutating func begin(_ bytes: UnsafeRawBufferPointer) -> Step {
    var response = ResponseHead()
    var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      line.last == 0x0D ? line.dropLast() : line
    }
    let status = lines.removeFirst()
    guard status.count >= 12, status.starts(with: "HTTP/1.".utf8), status[status.startIndex + 8] == 0x20,
      let minor = digit(status[status.startIndex + 7]),
      let a = digit(status[status.startIndex + 9]), let b = digit(status[status.startIndex + 10]),
      let c = digit(status[status.startIndex + 11]),
      status.count == 12 || status[status.startIndex + 12] == 0x20, a >= 1
    else { return .failed("the response does not begin with an HTTP/1 status line") }
    response.status = a * 100 + b * 10 + c
    response.version = minor == 0 ? 10 : 11
    var length: UInt64?
    var codings: String?
    var connection = ""
    for line in lines where !line.isEmpty {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
        return .failed("a header line without a name")
      }
      let name = line[..<colon]
      if name.last == 0x20 || name.last == 0x09 { return .failed("white space before the colon of a header") }
      let value = line[(colon + 1)...].trimmed()
      if Self.equal(name, "content-length") {
        // RFC 9112, 6.3: differing lengths are an error; one list of equal values is tolerated.
        for part in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
          guard let number = decimal(part.trimmed()) else { return .failed("a Content-Length that is not a number") }
          if let length, length != number { return .failed("two different values of Content-Length") }
          length = number
        }
      } else if Self.equal(name, "transfer-encoding") {
        codings = (codings.map { $0 + "," } ?? "") + String(decoding: value, as: UTF8.self).lowercased()
      } else if Self.equal(name, "connection") {
        connection += "," + String(decoding: value, as: UTF8.self).lowercased()
      } else if Self.equal(name, "content-type") {
        response.contentType = String(decoding: value, as: UTF8.self)
      } else if Self.equal(name, "content-encoding") {
        response.contentEncoding = String(decoding: value, as: UTF8.self)
      } else if Self.equal(name, "retry-after") {
        response.retryAfter = String(decoding: value, as: UTF8.self)
      } else if Self.equal(name, "location") {
        response.location = String(decoding: value, as: UTF8.self)
      }
    }
    if response.status == 101 { return .failed("the server switched protocols unasked") }
    if response.status < 200 {
      // Interim: the final head follows.
      state = .head
      return .head(response)
    }
    let options = connection.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
    keepsAlive = minor == 0 ? options.contains("keep-alive") : !options.contains("close")
    if response.status == 204 || response.status == 304 {
      state = .done
    } else if let codings {
      // RFC 9112, 6.3: Transfer-Encoding overrides Content-Length; such a connection is not used again.
      if length != nil { keepsAlive = false }
      let list = codings.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard list == ["chunked"] else { return .failed("a transfer coding other than chunked") }
      state = .chunkSize
      left = 0
      seen = 0
    } else if let length {
      left = length
      state = .length
    } else {
      keepsAlive = false
      state = .untilClose
    }
    return .head(response)
  }

  private static func equal(_ name: Slice<UnsafeRawBufferPointer>, _ word: StaticString) -> Bool {
    guard name.count == word.utf8CodeUnitCount else { return false }
    return word.withUTF8Buffer { letters in
      zip(name, letters).allSatisfy { ($0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0) == $1 }
    }
  }

  // MARK: Chunked

  /// Squeezes the chunk framing out of the buffer, so that one read gives one run of body bytes.
  private mutating func readChunks(_ buffer: UnsafeMutableRawBufferPointer, _ position: inout Int) -> Step {
    let base = buffer.baseAddress!
    let start = position
    var out = position
    var at = position
    let end = buffer.count
    loop: while at < end {
      switch state {
      case .chunkData:
        let count = Int(min(left, UInt64(end - at)))
        if out != at { memmove(base + out, base + at, count) }
        out += count
        at += count
        left -= UInt64(count)
        if left == 0 { state = .chunkDataCR }
      case .chunkDataCR:
        if buffer[at] == 0x0D {
          at += 1
          state = .chunkDataLF
        } else {
          violation = .chunkEnd
          state = .broken
          break loop
        }
      case .chunkDataLF:
        guard buffer[at] == 0x0A else {
          violation = .chunkEnd
          state = .broken
          break loop
        }
        at += 1
        state = .chunkSize
        left = 0
        seen = 0
      case .chunkSize:
        let byte = buffer[at]
        at += 1
        if let digit = hexadecimal(byte) {
          seen += 1
          if seen > 16 || left >> 60 != 0 {
            violation = .sizeTooLarge
            state = .broken
            break loop
          }
          left = left << 4 | digit
        } else if seen == 0 {
          violation = .noSize
          state = .broken
          break loop
        } else if byte == 0x0A {
          sizeIsRead()
        } else if byte == 0x0D || byte == UInt8(ascii: ";") || byte == 0x20 || byte == 0x09 {
          state = .chunkExtension
          seen = byte == 0x0D ? .max : 0
        } else {
          violation = .sizeNotHexadecimal
          state = .broken
          break loop
        }
      case .chunkExtension:
        let byte = buffer[at]
        at += 1
        if byte == 0x0A {
          sizeIsRead()
        } else if seen == .max {
          violation = .sizeEnd
          state = .broken
          break loop
        } else if byte == 0x0D {
          seen = .max
        } else {
          seen += 1
          if seen > 4096 {
            violation = .longExtension
            state = .broken
            break loop
          }
        }
      case .trailer:
        let byte = buffer[at]
        at += 1
        seen += 1
        if byte == 0x0A {
          if lineIsEmpty {
            state = .done
            break loop
          }
          lineIsEmpty = true
        } else if byte != 0x0D {
          lineIsEmpty = false
        }
        if seen > Self.maximumHead {
          violation = .longTrailers
          state = .broken
          break loop
        }
      default: break loop
      }
    }
    position = at
    if out > start { return .body(start..<out) }
    if state == .broken { return .failed(violation.sentence) }
    return state == .done ? .complete : .needsMore
  }

  private mutating func sizeIsRead() {
    seen = 0
    if left == 0 {
      state = .trailer
      lineIsEmpty = true
    } else {
      state = .chunkData
    }
  }
}

private func digit(_ byte: UInt8) -> Int? { (0x30...0x39).contains(byte) ? Int(byte) - 0x30 : nil }

private func hexadecimal(_ byte: UInt8) -> UInt64? {
  switch byte {
  case 0x30...0x39: UInt64(byte) - 0x30
  case 0x41...0x46: UInt64(byte) - 0x37
  case 0x61...0x66: UInt64(byte) - 0x57
  default: nil
  }
}

private func decimal(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt64? {
  if bytes.isEmpty || bytes.count > 18 { return nil }
  var value: UInt64 = 0
  for byte in bytes {
    guard let digit = digit(byte) else { return nil }
    value = value * 10 + UInt64(digit)
  }
  return value
}

extension Slice<UnsafeRawBufferPointer> {
  /// Without spaces and tabs at both ends.
  fileprivate func trimmed() -> Self {
    var slice = self
    while slice.first == 0x20 || slice.first == 0x09 { slice = slice.dropFirst() }
    while slice.last == 0x20 || slice.last == 0x09 { slice = slice.dropLast() }
    return slice
  }
}
