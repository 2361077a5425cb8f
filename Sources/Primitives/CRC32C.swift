// CRC-32C (Castagnoli), the checksum of an event's text: RFC 3720, appendix B.4 has test values.

internal import CPlatform

package enum CRC32C {
  /// Checksum of `bytes`, continuing from `previous` (0 to begin).
  package static func checksum(_ bytes: UnsafeRawBufferPointer, continuing previous: UInt32 = 0) -> UInt32 {
    guard let base = bytes.baseAddress, bytes.count > 0 else { return previous }
    return CPlatform_crc32c(previous, base, bytes.count)
  }

  package static func checksum(_ text: some Sequence<UInt8>) -> UInt32 {
    let bytes = Array(text)
    return bytes.withUnsafeBytes { checksum($0) }
  }
}
