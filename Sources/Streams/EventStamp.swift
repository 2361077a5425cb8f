// The mock's mark on an event: `"ssebench":{"n":1,"crc":"9ae0daaf","t_ns":"123"}`, the last member of the JSON object. Read from the
// end, byte by byte, in exactly the spelling that the mock uses; anything else is no stamp.

/// Where a stamp begins and what it says.
struct EventStamp {
  /// Offset of `"ssebench"`; a comma or the object's bracket stands before it.
  var start: Int
  var number: Int64
  var crc: UInt32
  /// Nanoseconds, or -1.
  var time: Int64

  /// The stamp at the end of an object. Since the text ends in two brackets and the bytes are spelled out, it can be neither inside a string
  /// nor a member of an inner object.
  init?(_ data: UnsafeRawBufferPointer) {
    let end = data.count
    guard end >= 37, data[end - 1] == UInt8(ascii: "}"), data[end - 2] == UInt8(ascii: "}") else { return nil }
    // The stamp's own bracket is the last one that opens: nothing in it has brackets. It is at most 84 bytes long.
    var open = end - 3
    let lowest = max(0, end - 90)
    while open > lowest, data[open] != UInt8(ascii: "{") { open -= 1 }
    start = open - 11
    guard start >= 1, data[start - 1] == UInt8(ascii: ",") || data[start - 1] == UInt8(ascii: "{") else { return nil }
    var cursor = Cursor(data: data, at: start)
    guard cursor.takes("\"ssebench\":{\"n\":"), let number = cursor.number(), cursor.takes(",\"crc\":\""),
      let crc = cursor.hexadecimal(), cursor.takes("\"")
    else { return nil }
    self.number = number
    self.crc = crc
    time = -1
    if cursor.takes(",\"t_ns\":\"") {
      // The time is text, so it may begin with zeros.
      guard let value = cursor.digits(), cursor.takes("\"") else { return nil }
      time = value
    }
    guard cursor.takes("}}"), cursor.at == end else { return nil }
  }
}

private struct Cursor {
  let data: UnsafeRawBufferPointer
  var at: Int

  @inline(__always)
  mutating func takes(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard data.count - at >= count else { return false }
    for index in 0..<count where data[at + index] != text.utf8Start[index] { return false }
    at += count
    return true
  }

  /// A number without sign, written as JSON wants it.
  mutating func number() -> Int64? {
    let start = at
    guard let value = digits(), data[start] != 0x30 || at - start == 1 else { return nil }
    return value
  }

  /// One to eighteen digits.
  mutating func digits() -> Int64? {
    let start = at
    var value: Int64 = 0
    while at < data.count, data[at] >= 0x30, data[at] <= 0x39 {
      if at - start == 18 { return nil }
      value = value * 10 + Int64(data[at] - 0x30)
      at += 1
    }
    return at == start ? nil : value
  }

  mutating func hexadecimal() -> UInt32? {
    guard data.count - at >= 8 else { return nil }
    var value: UInt32 = 0
    for _ in 0..<8 {
      let byte = data[at]
      at += 1
      switch byte {
      case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
      case 0x61...0x66: value = value << 4 | UInt32(byte - 0x57)
      default: return nil
      }
    }
    return value
  }
}
