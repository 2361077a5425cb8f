// One event as slices of somebody else's memory, and what receives it. Knows neither sessions nor what an event means.

/// One event as the parser hands it out: bytes as they stood in the stream, not yet repaired as UTF-8.
///
/// - Every slice is valid only during the call that receives it.
/// - To make text of a slice, decode it with replacement (`String(decoding:as:)`): each maximal invalid part becomes one U+FFFD, as the
///   standard asks.
@usableFromInline
package struct EventSlices {
  /// Which of the fields there are. The standard's modes always set `data`, `type` and `lastEventID`; the modes that stand for a
  /// library leave out what the library leaves nil.
  @usableFromInline
  package struct Fields: OptionSet, Sendable {
    @usableFromInline package let rawValue: UInt8
    @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }
    @inlinable package static var data: Fields { Fields(rawValue: 1) }
    @inlinable package static var type: Fields { Fields(rawValue: 2) }
    @inlinable package static var lastEventID: Fields { Fields(rawValue: 4) }
    @inlinable package static var time: Fields { Fields(rawValue: 8) }
    @inlinable package static var other: Fields { Fields(rawValue: 16) }
    /// The event itself names its id; without it `lastEventID` is one that an earlier event left.
    @inlinable package static var ownID: Fields { Fields(rawValue: 32) }
  }

  /// The data lines, joined by LF, without the last LF.
  @usableFromInline package var data: UnsafeRawBufferPointer
  /// The event's type: `message` where the stream names none.
  @usableFromInline package var type: UnsafeRawBufferPointer
  /// The last event id at dispatch. In the `eventsource` modes the id of this event alone.
  @usableFromInline package var lastEventID: UnsafeRawBufferPointer
  /// The `time` field, which only recouse/EventSource knows.
  @usableFromInline package var time = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Lines without a colon and with an unknown name, with a byte FF between two, which no text has; only recouse/EventSource keeps them.
  @usableFromInline package var other = UnsafeRawBufferPointer(start: nil, count: 0)
  @usableFromInline package var fields: Fields

  @inlinable
  package init(
    data: UnsafeRawBufferPointer, type: UnsafeRawBufferPointer, lastEventID: UnsafeRawBufferPointer,
    fields: Fields = [.data, .type, .lastEventID]
  ) {
    self.data = data
    self.type = type
    self.lastEventID = lastEventID
    self.fields = fields
  }
}

/// What events go to. Generic at every use, so that the call is inlined into the parser's loop.
@usableFromInline
package protocol EventSink: ~Copyable {
  mutating func receive(_ event: EventSlices)
}
