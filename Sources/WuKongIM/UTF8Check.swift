// Whether bytes are UTF-8, fed in pieces: a text message may be cut anywhere by fragments and reads. Fails at the first
// byte that no continuation can save (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).

struct UTF8Check: Sendable {
  private var missing: UInt8 = 0
  private var lower: UInt8 = 0x80
  private var upper: UInt8 = 0xBF

  /// Whether no scalar is open.
  var isComplete: Bool { missing == 0 }

  /// False once the bytes so far cannot be the beginning of a text.
  mutating func accept(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var index = 0
    guard let base = bytes.baseAddress else { return true }
    while index < bytes.count {
      // Eight bytes of ASCII at a time.
      while missing == 0, index + 8 <= bytes.count,
        UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        index += 8
      }
      if index == bytes.count { break }
      let byte = bytes[index]
      index += 1
      if missing == 0 {
        if byte < 0x80 { continue }
        switch byte {
        case 0xC2...0xDF: open(1, 0x80, 0xBF)
        case 0xE0: open(2, 0xA0, 0xBF)
        case 0xE1...0xEC, 0xEE, 0xEF: open(2, 0x80, 0xBF)
        case 0xED: open(2, 0x80, 0x9F)
        case 0xF0: open(3, 0x90, 0xBF)
        case 0xF1...0xF3: open(3, 0x80, 0xBF)
        case 0xF4: open(3, 0x80, 0x8F)
        default: return false
        }
      } else {
        if byte < lower || byte > upper { return false }
        open(missing - 1, 0x80, 0xBF)
      }
    }
    return true
  }

  private mutating func open(_ count: UInt8, _ low: UInt8, _ high: UInt8) {
    missing = count
    lower = low
    upper = high
  }

  static func isUTF8(_ bytes: [UInt8]) -> Bool {
    var check = UTF8Check()
    return bytes.withUnsafeBufferPointer { check.accept($0) } && check.isComplete
  }
}
