import Primitives
import Testing

@Suite struct CRC32CTests {
  /// RFC 3720, appendix B.4; the RFC prints the bytes in the order of the wire.
  static let vectors: [(name: String, bytes: [UInt8], crc: UInt32)] = [
    ("32 zeros", [UInt8](repeating: 0, count: 32), 0x8A91_36AA),
    ("32 ones", [UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
    ("32 incrementing", Array(0..<32), 0x46DD_794E),
    ("32 decrementing", Array((0..<32).reversed()), 0x113F_DB5C),
    (
      "an iSCSI SCSI read (10) command",
      [
        0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
        0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0,
      ], 0xD996_3A56
    ),
  ]

  @Test(arguments: vectors.indices) func rfc3720Vector_Holds(_ index: Int) {
    let vector = Self.vectors[index]

    #expect(CRC32C.checksum(vector.bytes) == vector.crc, "\(vector.name)")
  }

  @Test func digitsOneToNine_HaveTheCatalogueValue() {
    #expect(CRC32C.checksum("123456789".utf8) == 0xE306_9283)
  }

  @Test func emptyText_IsZero() {
    #expect(CRC32C.checksum([UInt8]()) == 0)
  }

  @Test func anySplit_ContinuesToTheSameChecksum() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let bytes = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
    let whole = CRC32C.checksum(bytes)

    for cut in 0...bytes.count {
      let first = bytes[..<cut].withUnsafeBytes { CRC32C.checksum($0) }
      let both = bytes[cut...].withUnsafeBytes { CRC32C.checksum($0, continuing: first) }
      #expect(both == whole, "cut at \(cut), seed \(seed)")
    }
  }

  /// Instructions work on eight bytes at a time: every length and alignment must go through the same remainder.
  @Test func everyLengthAndAlignment_EqualsTheBitwiseDefinition() {
    func bitwise(_ bytes: ArraySlice<UInt8>) -> UInt32 {
      var crc = ~UInt32(0)
      for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
      }
      return ~crc
    }
    let bytes = (0..<80).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 7) }

    for start in 0..<16 {
      for end in start...bytes.count {
        let slice = bytes[start..<end]
        #expect(slice.withUnsafeBytes { CRC32C.checksum($0) } == bitwise(slice))
      }
    }
  }
}
