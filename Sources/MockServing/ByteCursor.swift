// Bytes written one after another into memory that the caller has made room in. Knows no end: every caller reserves
// the most it can write before it writes.

struct ByteCursor {
  var at: UnsafeMutablePointer<UInt8>

  @inline(__always) mutating func put(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
    at.update(from: bytes, count: count)
    at += count
  }

  @inline(__always) mutating func put(_ byte: UInt8) {
    at.pointee = byte
    at += 1
  }

  @inline(__always) mutating func put(_ text: StaticString) {
    put(text.utf8Start, text.utf8CodeUnitCount)
  }

  mutating func put(_ text: some Sequence<UInt8>) {
    for byte in text { put(byte) }
  }

  /// At most 20 bytes.
  @inline(__always) mutating func putDecimal(_ value: UInt64) {
    var width = 1
    var limit: UInt64 = 10
    while width < 20, value >= limit {
      width += 1
      if width == 20 { break }
      limit &*= 10
    }
    putDecimal(value, width: width)
  }

  /// The last `width` digits, zeros before.
  @inline(__always) mutating func putDecimal(_ value: UInt64, width: Int) {
    var rest = value
    var index = width
    while index > 0 {
      index -= 1
      let quotient = rest / 10
      at[index] = 0x30 &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10)
      rest = quotient
    }
    at += width
  }

  /// `digits` lower-case hexadecimal digits, zeros before.
  @inline(__always) mutating func putHex(_ value: UInt64, digits: Int) {
    var shift = UInt64(digits &* 4)
    var index = 0
    while index < digits {
      shift &-= 4
      let nibble = UInt8(truncatingIfNeeded: (value &>> shift) & 15)
      at[index] = nibble < 10 ? 0x30 &+ nibble : 0x57 &+ nibble
      index &+= 1
    }
    at += digits
  }

  /// The text as the inside of a JSON string: at most six bytes for each of `count`.
  ///
  /// - Parameter separators: whether U+2028 and U+2029 are escaped, as Go's encoder does it; some readers of NDJSON
  ///   take them for line ends.
  mutating func putEscaped(_ bytes: UnsafePointer<UInt8>, _ count: Int, separators: Bool = false) {
    var next = 0
    while next < count {
      let index = next
      let byte = bytes[index]
      next += 1
      switch byte {
      case 0xE2
      where separators && index + 2 < count && bytes[index + 1] == 0x80 && bytes[index + 2] & 0xFE == 0xA8:
        put("\\u202")
        put(bytes[index + 2] == 0xA8 ? 0x38 : 0x39)
        next += 2
      case 0x22, 0x5C:
        put(0x5C)
        put(byte)
      case 0x0A: put("\\n")
      case 0x0D: put("\\r")
      case 0x09: put("\\t")
      case 0..<0x20:
        put("\\u00")
        putHex(UInt64(byte), digits: 2)
      default: put(byte)
      }
    }
  }
}

extension Array where Element == UInt8 {
  /// The text as the inside of a JSON string.
  func escapedForJSON(separators: Bool = false) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count * 6 + 1) { buffer, filled in
      guard let base = buffer.baseAddress else { return }
      var cursor = ByteCursor(at: base)
      withUnsafeBufferPointer {
        if let bytes = $0.baseAddress { cursor.putEscaped(bytes, count, separators: separators) }
      }
      filled = cursor.at - base
    }
  }
}
