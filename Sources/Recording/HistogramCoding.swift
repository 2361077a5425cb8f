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
    var text = text
    var counts: [(index: Int, count: Int64)] = []
    let decoder = HistogramDecoder()
    let failure = text.withUTF8 { bytes -> HistogramCodingError? in
      do throws(HistogramCodingError) {
        try decoder.decode(bytes) { counts.append(($0, $1)) }
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
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

  private static func append(_ value: some FixedWidthInteger, to out: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { out.append(contentsOf: $0) }
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

  /// The value of each letter; 255 where it is none of the alphabet's.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
    return values
  }()

  /// Puts the bytes in place of what `out` holds; false where a letter is none of the alphabet's or the length is not
  /// whole.
  static func decode(_ text: UnsafeBufferPointer<UInt8>, into out: inout [UInt8]) -> Bool {
    out.removeAll(keepingCapacity: true)
    var end = text.count
    while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
    guard text.count % 4 == 0 else { return false }
    out.reserveCapacity(text.count / 4 * 3)
    return values.withUnsafeBufferPointer { values in
      var at = 0
      while at + 4 <= end {
        let a = values[Int(text[at])]
        let b = values[Int(text[at + 1])]
        let c = values[Int(text[at + 2])]
        let d = values[Int(text[at + 3])]
        if (a | b | c | d) > 63 { return false }
        out.append(a << 2 | b >> 4)
        out.append(b << 4 | c >> 2)
        out.append(c << 6 | d)
        at += 4
      }
      let left = end - at
      if left == 0 { return true }
      if left == 1 { return false }
      let a = values[Int(text[at])]
      let b = values[Int(text[at + 1])]
      let c = left == 3 ? values[Int(text[at + 2])] : 0
      if (a | b | c) > 63 || (left == 3 ? c & 3 : b & 15) != 0 { return false }
      out.append(a << 2 | b >> 4)
      if left == 3 { out.append(b << 4 | c >> 2) }
      return true
    }
  }
}
