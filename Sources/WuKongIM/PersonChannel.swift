// How a channel between two people is named: each sees the other's uid, the store has one name for both.

enum PersonChannel {
  /// `uidA@uidB`, the uid with the larger CRC-32 first.
  static func storedID(_ a: ByteText, _ b: ByteText) -> ByteText {
    let (x, y) = (crc32(a.string.utf8), crc32(b.string.utf8))
    // Equal checksums of different uids: by bytes, so that both orders give one name.
    let aFirst = x != y ? x > y : !a.string.utf8.lexicographicallyPrecedes(b.string.utf8)
    return ByteText(aFirst ? "\(a.string)@\(b.string)" : "\(b.string)@\(a.string)")
  }

  /// CRC-32 of IEEE 802.3 (reflected, 0xEDB88320), bit by bit: names are short.
  static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    return ~crc
  }
}
