// Base64 (RFC 4648, section 4, with padding): accept keys, message payloads, stream_data.

package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static let values: [UInt8] = {
    var table = [UInt8](repeating: 0xFF, count: 256)
    for (value, letter) in alphabet.enumerated() { table[Int(letter)] = UInt8(value) }
    return table
  }()

  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count + 2) / 3 * 4)
    var group: UInt32 = 0
    var held = 0
    for byte in bytes {
      group = group << 8 | UInt32(byte)
      held += 1
      if held == 3 {
        for shift: UInt32 in [18, 12, 6, 0] { out.append(alphabet[Int(group >> shift & 63)]) }
        group = 0
        held = 0
      }
    }
    if held == 1 {
      out += [alphabet[Int(group >> 2)], alphabet[Int(group << 4 & 63)], 0x3D, 0x3D]
    } else if held == 2 {
      out += [
        alphabet[Int(group >> 10)], alphabet[Int(group >> 4 & 63)], alphabet[Int(group << 2 & 63)], 0x3D,
      ]
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Nil where the text is not Base64, its padding is missing, or its last letter carries bits that no byte holds.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    if text.count % 4 != 0 { return nil }
    var out: [UInt8] = []
    out.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var held = 0
    var padding = 0
    for letter in text {
      if letter == 0x3D {
        padding += 1
        continue
      }
      let value = values[Int(letter)]
      if value == 0xFF || padding > 0 { return nil }
      group = group << 6 | UInt32(value)
      held += 1
      if held == 4 {
        for shift: UInt32 in [16, 8, 0] { out.append(UInt8(truncatingIfNeeded: group >> shift)) }
        group = 0
        held = 0
      }
    }
    switch (held, padding) {
    case (0, 0): return out
    case (3, 1) where group & 3 == 0:
      out += [UInt8(truncatingIfNeeded: group >> 10), UInt8(truncatingIfNeeded: group >> 2)]
      return out
    case (2, 2) where group & 15 == 0:
      out.append(UInt8(truncatingIfNeeded: group >> 4))
      return out
    default: return nil
    }
  }
}
