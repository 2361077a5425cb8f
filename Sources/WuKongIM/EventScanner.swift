// The fast way from a frame's bytes to a StreamEvent: reads what servers really send, `event` notifications in their
// usual shape, in one pass and without a JSON tree. Whatever is unusual in any way (another order of the outer keys,
// blanks, unknown or repeated keys, nested values, half surrogate pairs) is left to the strict reader: nil means "not
// me", never "wrong". Where it answers, it answers what ServerFrame would.

struct EventScanner {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var at = 0

  /// The event in a frame, or nil where the strict reader has to look.
  static func event(in frame: [UInt8]) -> StreamEvent? {
    guard UTF8Check.isUTF8(frame) else { return nil }
    return frame.withUnsafeBufferPointer { buffer -> StreamEvent? in
      var scanner = EventScanner(buffer)
      return scanner.notification()
    }
  }

  private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  private mutating func notification() -> StreamEvent? {
    guard skip(#"{"jsonrpc":"2.0","method":"event","params":{"id":"#), let id = key(), skip(#","type":"#),
      let type = key(),
      skip(#","timestamp":"#), integer() != nil, skip(#","data":"#), let data = unescaped(), skip("}}"),
      at == bytes.count
    else { return nil }
    let kind = StreamEvent.Kind(type)
    guard kind != .foreign, !id.isEmpty else { return nil }
    return data.withUnsafeBufferPointer { buffer -> StreamEvent? in
      var inner = EventScanner(buffer)
      return inner.data(id: id, kind: kind)
    }
  }

  private static let names: [StaticString] = [
    "channel_id", "channel_type", "from_uid", "message_id", "message_seq", "client_msg_no", "event_id",
    "event_key",
    "event_type", "timestamp", "text_offset", "payload",
  ]

  private mutating func data(id: String, kind: StreamEvent.Kind) -> StreamEvent? {
    var event = StreamEvent(id: ByteText(id), kind: kind, channel: nil, clientMessageNumber: "", lane: "")
    var channelID: String?
    var channelType: Int?
    var seen = 0
    guard skip("{") else { return nil }
    repeat {
      guard let name = name(among: Self.names), seen & 1 << name == 0, skip(":") else { return nil }
      seen |= 1 << name
      switch name {
      case 0:
        guard let text = key() else { return nil }
        channelID = text
      case 1:
        guard let number = integer() else { return nil }
        channelType = number
      case 4:
        guard let text = key() else { return nil }
        guard let number = Int64(text), number > 0 else { break }
        event.messageSequence = number
      case 5:
        guard let text = key() else { return nil }
        event.clientMessageNumber = ByteText(text)
      case 7:
        guard let text = key() else { return nil }
        event.lane = ByteText(text)
      case 9: guard integer() != nil else { return nil }
      case 10:
        guard let number = integer(), number >= 0 else { return nil }
        if kind == .delta { event.textOffset = number }
      case 11: guard payload(of: &event) else { return nil }
      default: guard key() != nil else { return nil }
      }
    } while skip(",")
    guard skip("}"), at == bytes.count else { return nil }
    if let channelID, let channelType {
      event.channel = ChannelKey(id: ByteText(channelID), type: channelType)
    }
    return event
  }

  /// `{}`, `{"kind":"text","delta":…}`, or `{"snapshot":{"kind":"text","text":…}}` with an end reason.
  private mutating func payload(of event: inout StreamEvent) -> Bool {
    if skip("{}") { return true }
    switch event.kind {
    case .delta:
      guard skip(#"{"kind":"text","delta":"#), let text = unescaped(), skip("}") else { return false }
      event.delta = text
    case .snapshot, .close, .cancel, .error, .finish:
      let isNested = skip(#"{"snapshot":"#)
      guard skip(#"{"kind":"text","text":"#), let text = unescaped(), skip("}") else { return false }
      if isNested {
        if skip(#","end_reason":"#), integer() == nil { return false }
        guard skip("}") else { return false }
      }
      event.snapshot = text
    case .open, .unknownStream, .foreign: return false
    }
    return true
  }

  // MARK: Pieces

  private mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard at + count <= bytes.count, let base = bytes.baseAddress else { return false }
    let start = text.utf8Start
    for index in 0..<count where base[at + index] != start[index] { return false }
    at += count
    return true
  }

  /// The place of the key that stands here in `names`.
  private mutating func name(among names: [StaticString]) -> Int? {
    guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return nil }
    let start = at + 1
    var end = start
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") { end += 1 }
    guard end < bytes.count else { return nil }
    let word = UnsafeBufferPointer(rebasing: bytes[start..<end])
    guard
      let index = names.firstIndex(where: { name in
        name.utf8CodeUnitCount == word.count && (0..<word.count).allSatisfy { name.utf8Start[$0] == word[$0] }
      })
    else { return nil }
    at = end + 1
    return index
  }

  /// A string of a bounded length, as text.
  private mutating func key() -> String? {
    guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return nil }
    var end = at + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\") {
      if bytes[end] < 0x20 { return nil }
      end += 1
    }
    guard end < bytes.count else { return nil }
    if bytes[end] == UInt8(ascii: "\\") {
      guard let text = unescaped(), text.count <= StreamEvent.maximumKeyBytes else { return nil }
      return String(decoding: text, as: UTF8.self)
    }
    guard end - at - 1 <= StreamEvent.maximumKeyBytes else { return nil }
    let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[(at + 1)..<end]), as: UTF8.self)
    at = end + 1
    return text
  }

  /// A whole number of at most 18 digits.
  private mutating func integer() -> Int? {
    let start = at
    let isNegative = at < bytes.count && bytes[at] == UInt8(ascii: "-")
    if isNegative { at += 1 }
    let first = at
    var value = 0
    while at < bytes.count, (0x30...0x39).contains(bytes[at]), at - first < 19 {
      value = value &* 10 &+ Int(bytes[at] - 0x30)
      at += 1
    }
    let digits = at - first
    let next = at < bytes.count ? bytes[at] : 0
    guard digits > 0, digits <= 18, digits == 1 || bytes[first] != 0x30, next != UInt8(ascii: "."),
      next | 0x20 != UInt8(ascii: "e")
    else {
      at = start
      return nil
    }
    return isNegative ? -value : value
  }

  /// A string's bytes without its escapes; nil for half a surrogate pair, control characters and what is no string.
  private mutating func unescaped() -> [UInt8]? {
    guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return nil }
    at += 1
    var out: [UInt8] = []
    out.reserveCapacity(min(bytes.count - at, 512))
    while at < bytes.count {
      let start = at
      while at < bytes.count, bytes[at] != UInt8(ascii: "\""), bytes[at] != UInt8(ascii: "\\"),
        bytes[at] >= 0x20
      { at += 1 }
      out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<at]))
      guard at < bytes.count else { return nil }
      let byte = bytes[at]
      at += 1
      if byte == UInt8(ascii: "\"") { return out }
      guard byte == UInt8(ascii: "\\"), at < bytes.count else { return nil }
      let escape = bytes[at]
      at += 1
      switch escape {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(escape)
      case UInt8(ascii: "n"): out.append(0x0A)
      case UInt8(ascii: "r"): out.append(0x0D)
      case UInt8(ascii: "t"): out.append(0x09)
      case UInt8(ascii: "b"): out.append(0x08)
      case UInt8(ascii: "f"): out.append(0x0C)
      case UInt8(ascii: "u"):
        guard var code = unit() else { return nil }
        if (0xD800..<0xDC00).contains(code) {
          guard skip("\\u"), let low = unit(), (0xDC00..<0xE000).contains(low) else { return nil }
          code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = UnicodeScalar(code), let encoded = UTF8.encode(scalar) else { return nil }
        out.append(contentsOf: encoded)
      default: return nil
      }
    }
    return nil
  }

  private mutating func unit() -> UInt32? {
    guard at + 4 <= bytes.count else { return nil }
    var value: UInt32 = 0
    for byte in bytes[at..<at + 4] {
      switch byte {
      case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
      case 0x41...0x46: value = value << 4 | UInt32(byte - 0x41 + 10)
      case 0x61...0x66: value = value << 4 | UInt32(byte - 0x61 + 10)
      default: return nil
      }
    }
    at += 4
    return value
  }
}
