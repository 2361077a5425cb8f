// A histogram becomes HdrHistogram's V2 compressed form in Base64, and back. Knows no file and no time.
// Format: HdrHistogram (Java) AbstractHistogram.encodeIntoByteBuffer, cookies 0x1c849303 and 0x1c849304 with 0x10.

internal import CZlib

/// Why a text is not a histogram of ours.
package enum HistogramCodingError: Error, Equatable {
  case notBase64, notCompressedV2, damaged
  /// Another resolution or unit than three digits of nanoseconds.
  case otherLayout
}

extension Histogram {
  private static let plainCookie: UInt32 = 0x1c84_9313
  private static let compressedCookie: UInt32 = 0x1c84_9314
  private static let headerSize = 40
  /// The most that a payload can take: nine bytes a count.
  private static let largestPayload = size * 9

  /// The V2 compressed form, in Base64: what stands in a line of a histogram log.
  package var base64: String {
    var payload: [UInt8] = []
    var zeros: Int64 = 0
    for index in 0..<usedIndices.upperBound {
      let times = count(at: index)
      if times == 0 {
        zeros += 1
        continue
      }
      if zeros > 0 {
        Self.appendZigZag(-zeros, to: &payload)
        zeros = 0
      }
      Self.appendZigZag(times, to: &payload)
    }
    var plain: [UInt8] = []
    plain.reserveCapacity(Self.headerSize + payload.count)
    Self.append(Self.plainCookie, to: &plain)
    Self.append(UInt32(payload.count), to: &plain)
    Self.append(UInt32(0), to: &plain)  // normalising index offset
    Self.append(UInt32(3), to: &plain)  // significant digits
    Self.append(UInt64(1), to: &plain)  // lowest value told apart
    Self.append(UInt64(Self.highest), to: &plain)
    Self.append((1.0).bitPattern, to: &plain)
    plain += payload

    var length = compressBound(UInt(plain.count))
    var packed = [UInt8](repeating: 0, count: Int(length))
    let result = compress2(&packed, &length, plain, UInt(plain.count), 6)
    precondition(result == Z_OK, "deflate of \(plain.count) bytes into its bound failed: \(result)")
    var whole: [UInt8] = []
    Self.append(Self.compressedCookie, to: &whole)
    Self.append(UInt32(length), to: &whole)
    whole += packed[..<Int(length)]
    return Base64.encode(whole)
  }

  /// Reads `base64` back. Bounded by the layout's size whatever the text says.
  package convenience init(base64 text: Substring, exact: ExactSums? = nil) throws(HistogramCodingError) {
    guard let whole = Base64.decode(text.utf8) else { throw .notBase64 }
    guard whole.count > 8, Self.number(whole, at: 0, bytes: 4) == UInt64(Self.compressedCookie) else {
      throw .notCompressedV2
    }
    let packed = Array(whole[8...])
    guard Int(Self.number(whole, at: 4, bytes: 4)) == packed.count else { throw .damaged }
    // Most histograms are small; the buffer grows up to what the layout can take and no further.
    var capacity = max(4_096, packed.count * 8)
    var plain: [UInt8] = []
    var length: UInt = 0
    var result = Z_BUF_ERROR
    while result == Z_BUF_ERROR {
      capacity = min(capacity, Self.headerSize + Self.largestPayload)
      plain = [UInt8](repeating: 0, count: capacity)
      length = UInt(capacity)
      result = uncompress(&plain, &length, packed, UInt(packed.count))
      if capacity == Self.headerSize + Self.largestPayload { break }
      capacity *= 4
    }
    guard result == Z_OK, length >= UInt(Self.headerSize) else { throw .damaged }
    guard Self.number(plain, at: 0, bytes: 4) == UInt64(Self.plainCookie) else { throw .notCompressedV2 }
    guard
      Self.number(plain, at: 8, bytes: 4) == 0, Self.number(plain, at: 12, bytes: 4) == 3,
      Self.number(plain, at: 16, bytes: 8) == 1
    else { throw .otherLayout }
    let end = Self.headerSize + Int(Self.number(plain, at: 4, bytes: 4))
    guard end <= Int(length) else { throw .damaged }

    var at = Self.headerSize
    var index = 0
    var counts: [(index: Int, count: Int64)] = []
    while at < end {
      guard let value = Self.zigZag(plain, at: &at, end: end) else { throw .damaged }
      if value < 0 {
        guard value > -Int64(Self.size) else { throw .damaged }
        index += Int(-value)
      } else {
        if value > 0 { counts.append((index, value)) }
        index += 1
      }
      guard index <= Self.size else { throw .otherLayout }
    }
    self.init(counts: counts, exact: exact)
  }

  /// LEB128 of the ZigZag form, at most nine bytes: the ninth holds eight bits.
  private static func appendZigZag(_ value: Int64, to out: inout [UInt8]) {
    var rest = UInt64(bitPattern: (value << 1) ^ (value >> 63))
    for _ in 0..<8 {
      if rest < 0x80 {
        out.append(UInt8(rest))
        return
      }
      out.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    out.append(UInt8(truncatingIfNeeded: rest))
  }

  private static func zigZag(_ bytes: [UInt8], at: inout Int, end: Int) -> Int64? {
    var value: UInt64 = 0
    for place in 0..<9 {
      guard at < end else { return nil }
      let byte = bytes[at]
      at += 1
      if place == 8 {
        value |= UInt64(byte) << 56
        break
      }
      value |= UInt64(byte & 0x7F) << UInt64(7 * place)
      if byte < 0x80 { break }
    }
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  private static func append(_ value: some FixedWidthInteger, to out: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { out.append(contentsOf: $0) }
  }

  private static func number(_ bytes: [UInt8], at offset: Int, bytes count: Int) -> UInt64 {
    bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Base64 of RFC 4648, section 4, with padding.
enum Base64 {
  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count + 2) / 3 * 4)
    var at = 0
    while at < bytes.count {
      let left = bytes.count - at
      let word =
        UInt32(bytes[at]) << 16 | (left > 1 ? UInt32(bytes[at + 1]) << 8 : 0) | (left > 2 ? UInt32(bytes[at + 2]) : 0)
      out.append(letters[Int(word >> 18)])
      out.append(letters[Int(word >> 12 & 63)])
      out.append(left > 1 ? letters[Int(word >> 6 & 63)] : UInt8(ascii: "="))
      out.append(left > 2 ? letters[Int(word & 63)] : UInt8(ascii: "="))
      at += 3
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// nil where a letter is none of the alphabet's or the length is not whole.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var out: [UInt8] = []
    out.reserveCapacity(text.count / 4 * 3)
    var word: UInt32 = 0
    var bits = 0
    var padding = 0
    for letter in text {
      if letter == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0 else { return nil }
      let value: UInt32
      switch letter {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(letter - 65)
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(letter - 97 + 26)
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(letter - 48 + 52)
      case UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "/"): value = 63
      default: return nil
      }
      word = word << 6 | value
      bits += 6
      if bits >= 8 {
        bits -= 8
        out.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
      }
    }
    return padding <= 2 && text.count % 4 == 0 ? out : nil
  }
}
