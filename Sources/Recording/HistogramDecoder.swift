// A histogram in HdrHistogram's V2 compressed form becomes its counts, one after the other, in buffers that are used again:
// a merge reads some hundred thousand of them.

internal import CZlib

package final class HistogramDecoder {
  private var packed: [UInt8] = []
  private var plain: [UInt8] = []
  private static let plainCookie: UInt64 = 0x1c84_9313
  private static let compressedCookie: UInt64 = 0x1c84_9314
  private static let headerSize = 40
  /// The most that a histogram can take: nine bytes a count.
  private static let largest = headerSize + Histogram.size * 9

  package init() {}

  /// Calls `take` with each index of the layout that holds counts, in rising order. Where it throws, what was taken
  /// before is part of a damaged histogram.
  package func decode(
    _ base64: UnsafeBufferPointer<UInt8>, _ take: (_ index: Int, _ count: Int64) -> Void
  ) throws(HistogramCodingError) {
    guard Base64.decode(base64, into: &packed) else { throw .notBase64 }
    guard packed.count > 8, Self.number(packed, at: 0, bytes: 4) == Self.compressedCookie else { throw .notCompressedV2 }
    guard Int(Self.number(packed, at: 4, bytes: 4)) == packed.count - 8 else { throw .damaged }
    let length = try inflate()
    guard length >= Self.headerSize else { throw .damaged }
    guard Self.number(plain, at: 0, bytes: 4) == Self.plainCookie else { throw .notCompressedV2 }
    guard
      Self.number(plain, at: 8, bytes: 4) == 0, Self.number(plain, at: 12, bytes: 4) == 3,
      Self.number(plain, at: 16, bytes: 8) == 1
    else { throw .otherLayout }
    let end = Self.headerSize + Int(Self.number(plain, at: 4, bytes: 4))
    guard end <= length else { throw .damaged }
    try plain.withUnsafeBufferPointer { plain throws(HistogramCodingError) in
      var at = Self.headerSize
      var index = 0
      while at < end {
        guard let value = Self.zigZag(plain, at: &at, end: end) else { throw .damaged }
        if value < 0 {
          guard value > -Int64(Histogram.size) else { throw .damaged }
          index += Int(-value)
        } else {
          guard index < Histogram.size else { throw .otherLayout }
          if value > 0 { take(index, value) }
          index += 1
        }
        guard index <= Histogram.size else { throw .otherLayout }
      }
    }
  }

  /// Most histograms are small; the buffer grows up to what the layout can take and no further.
  private func inflate() throws(HistogramCodingError) -> Int {
    if plain.isEmpty { plain = [UInt8](repeating: 0, count: 32 << 10) }
    while true {
      var length = UInt(plain.count)
      let capacity = plain.count
      let result = packed.withUnsafeBufferPointer { packed in
        plain.withUnsafeMutableBufferPointer { plain in
          uncompress(plain.baseAddress, &length, packed.baseAddress.map { $0 + 8 }, UInt(packed.count - 8))
        }
      }
      if result == Z_OK { return Int(length) }
      guard result == Z_BUF_ERROR, capacity < Self.largest else { throw .damaged }
      plain = [UInt8](repeating: 0, count: min(capacity * 4, Self.largest))
    }
  }

  private static func zigZag(_ bytes: UnsafeBufferPointer<UInt8>, at: inout Int, end: Int) -> Int64? {
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

  private static func number(_ bytes: [UInt8], at offset: Int, bytes count: Int) -> UInt64 {
    bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
  }
}
