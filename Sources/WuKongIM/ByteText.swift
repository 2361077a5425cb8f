// A text that equals another one byte by byte. `String` compares by canonical equivalence ("é" == "e\u{301}"), which
// would make one id out of two and one message out of two.

/// A key from the wire: event id, message number, channel id, lane.
package struct ByteText: Hashable, Sendable, CustomStringConvertible {
  /// Never compare these with `==`.
  package var string: String

  package init(_ string: String) { self.string = string }

  package var isEmpty: Bool { string.isEmpty }
  package var byteCount: Int { string.utf8.count }
  package var description: String { string }

  package static func == (a: ByteText, b: ByteText) -> Bool {
    a.string.utf8.count == b.string.utf8.count && a.string.utf8.elementsEqual(b.string.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    var text = string
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension ByteText: ExpressibleByStringLiteral {
  package init(stringLiteral value: String) { self.init(value) }
}

/// A channel as one client sees it: of a person channel (type 1) the id is the peer's uid.
package struct ChannelKey: Hashable, Sendable {
  package static let person = 1
  package static let group = 2

  package var id: ByteText
  package var type: Int

  package init(id: ByteText, type: Int) {
    self.id = id
    self.type = type
  }
}
