// Which parser, and its limits. Plain data; one value serves all sessions of a run.

/// How bytes become events.
package enum ParserMode: String, CaseIterable, Sendable {
  /// The HTML Standard, sections 9.2.5 and 9.2.6.
  case whatwg
  /// The standard's framing, but only `data` counts.
  case dataOnly = "data-only"
  /// recouse/EventSource 0.1.7, mode `.default`.
  case eventsource
  /// recouse/EventSource 0.1.7, mode `.dataOnly`.
  case eventsourceDataOnly = "eventsource-data-only"
  /// `URLSession.bytes`, `.lines`, `hasPrefix("data: ")`.
  case lines
  /// One JSON text a line, LF alone ends a line.
  case ndjson
  /// Records and fields with separators of the user's own.
  case custom
}

/// A format of records and fields for `ParserMode.custom`.
package struct CustomFormat: Equatable, Sendable {
  /// What ends a record; not empty.
  package var record: String
  /// What stands between two fields; not empty.
  package var field: String
  /// What each field is: `event`, `id`, `data`, `time`; other names are skipped. The last takes the rest of the record.
  package var fields: [String]

  package init(record: String = "\n", field: String = "|", fields: [String] = ["event", "id", "data"]) {
    self.record = record
    self.field = field
    self.fields = fields
  }
}

package struct ParserSettings: Equatable, Sendable {
  package var mode: ParserMode
  /// In the `eventsource` modes: the buffer fix of recouse/EventSource pull request 49.
  package var hasBufferFix: Bool
  package var custom: CustomFormat
  /// Longest line, in bytes without its end. At most 1 GiB.
  package var lineLimit: Int
  /// Most bytes of one event's data, and most that a mode holds while it waits for an event's end. At most 1 GiB.
  package var eventLimit: Int

  package static let defaultLimit = 16 << 20
  package static let highestLimit = 1 << 30

  package init(
    _ mode: ParserMode = .whatwg, hasBufferFix: Bool = false, custom: CustomFormat = CustomFormat(),
    lineLimit: Int = defaultLimit, eventLimit: Int = defaultLimit
  ) {
    self.mode = mode
    self.hasBufferFix = hasBufferFix
    self.custom = custom
    self.lineLimit = min(max(lineLimit, 1), Self.highestLimit)
    self.eventLimit = min(max(eventLimit, 1), Self.highestLimit)
  }
}
