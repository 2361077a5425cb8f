// One message's text as it grows: deltas merged by UTF-8 byte offset, snapshots that replace, and the status that
// follows. Knows nothing of channels, ids of events or histories; StreamTimeline decides what reaches it.

package struct TimelineRow: Sendable {
  package enum Status: String, Sendable {
    case streaming, gap, done, cancelled, error
  }

  /// How a message ended.
  package enum Ending: Sendable {
    case done, cancelled, error
  }

  /// What a delta did to the text.
  package enum DeltaEffect: Sendable {
    case appended, covered, gap
  }

  package let clientMessageNumber: ByteText
  /// Nil while no event, base message or history has told it; such a row stands behind the others.
  package internal(set) var messageSequence: Int64?
  /// UTF-8, always whole scalars, at most `TimelineLimits.textUnits` UTF-16 units.
  package private(set) var text: [UInt8] = []
  /// N13: the text was cut at the bound. Always false in `demo`.
  package private(set) var isTruncated = false
  package internal(set) var ending: Ending?

  let rules: TimelineRules
  let maximumUnits: Int
  /// Breaks ties between rows without a sequence.
  let arrival: Int
  var seen: EventIDWindow

  /// UTF-16 units of `text`.
  private var units = 0
  /// Bytes received in order, also those that the bound cut off; where the next delta is expected.
  private var have = 0
  /// N5b: the furthest end of any delta since the last replacement.
  private var furthest = 0
  /// `demo`: a gap stays until a replacement.
  private var gapSeen = false

  init(
    clientMessageNumber: ByteText, sequence: Int64?, arrival: Int, rules: TimelineRules,
    limits: TimelineLimits
  ) {
    self.clientMessageNumber = clientMessageNumber
    self.messageSequence = sequence
    self.arrival = arrival
    self.rules = rules
    maximumUnits = limits.textUnits
    seen = EventIDWindow(capacity: limits.eventIDs)
  }

  package var isFinished: Bool { ending != nil }

  /// Bytes of the message's text that this row accounts for, cut off ones included.
  package var logicalByteCount: Int { have }

  package var status: Status {
    switch ending {
    case .done: .done
    case .cancelled: .cancelled
    case .error: .error
    case nil: hasGap ? .gap : .streaming
    }
  }

  package var string: String { String(decoding: text, as: UTF8.self) }

  private var hasGap: Bool { rules == .normative ? have < furthest : gapSeen }

  /// R5: merges a delta that begins at byte `offset` (the end of what is held, where nil).
  mutating func append(_ delta: [UInt8], at offset: Int?) -> DeltaEffect {
    let start = offset ?? have
    let (end, overflowed) = start.addingReportingOverflow(delta.count)
    if overflowed || start > have { return refuse(end: overflowed ? .max : end) }
    if end <= have { return .covered }
    let cut = have - start
    if rules == .normative {
      // N5a: what both hold must be the same, and the new part must not begin inside a scalar.
      if delta[cut] & 0xC0 == 0x80 || !matches(delta, from: start, count: cut) { return refuse(end: end) }
      extend(delta[cut...])
      have = end
      furthest = max(furthest, end)
    } else {
      extendAsDemo(delta[cut...])
    }
    return .appended
  }

  private mutating func refuse(end: Int) -> DeltaEffect {
    furthest = max(furthest, end)
    gapSeen = true
    return .gap
  }

  /// Whether the first `count` bytes of `delta` equal the text from byte `start`, as far as the text is kept.
  private func matches(_ delta: [UInt8], from start: Int, count: Int) -> Bool {
    let end = min(start + count, text.count)
    if start >= end { return true }
    return text[start..<end].elementsEqual(delta[..<(end - start)])
  }

  /// R7, R11: the text becomes `replacement`, shorter or not, and a gap is over.
  mutating func replace(with replacement: [UInt8]) {
    text = []
    units = 0
    isTruncated = false
    gapSeen = false
    if rules == .normative {
      extend(replacement[...])
      have = replacement.count
    } else {
      extendAsDemo(replacement[...])
    }
    furthest = have
  }

  /// R13 with N13: appends whole scalars up to the bound; behind a cut nothing more is kept.
  private mutating func extend(_ bytes: ArraySlice<UInt8>) {
    if isTruncated { return }
    let added = Self.utf16Units(bytes)
    if units + added <= maximumUnits {
      text.append(contentsOf: bytes)
      units += added
      return
    }
    let fitting = Self.prefix(of: bytes, units: maximumUnits - units)
    text.append(contentsOf: fitting)
    units += Self.utf16Units(fitting)
    isTruncated = true
  }

  /// What the demo does: decodes with repair, cuts at a UTF-16 unit (half a pair becomes U+FFFD), and counts the
  /// bytes that are left.
  private mutating func extendAsDemo(_ bytes: ArraySlice<UInt8>) {
    let repaired = Array(String(decoding: bytes, as: UTF8.self).utf8)
    let room = maximumUnits - units
    let added = Self.utf16Units(repaired[...])
    if added <= room {
      text.append(contentsOf: repaired)
      units += added
    } else {
      let fitting = Self.prefix(of: repaired[...], units: room)
      text.append(contentsOf: fitting)
      if Self.utf16Units(fitting) < room { text.append(contentsOf: UTF8.encodedReplacementCharacter) }
      units = maximumUnits
    }
    have = text.count
    furthest = max(furthest, have)
  }

  /// UTF-16 units of valid UTF-8: one for each scalar, two for those of four bytes.
  static func utf16Units(_ bytes: ArraySlice<UInt8>) -> Int {
    var units = 0
    for byte in bytes where byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
    return units
  }

  /// The longest prefix of whole scalars with at most `limit` UTF-16 units.
  static func prefix(of bytes: ArraySlice<UInt8>, units limit: Int) -> ArraySlice<UInt8> {
    var units = 0
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte & 0xC0 != 0x80 {
        units += byte >= 0xF0 ? 2 : 1
        if units > limit { break }
      }
      index += 1
    }
    return bytes[..<index]
  }
}
