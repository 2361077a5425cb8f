// Which rules a projection follows, and the bounds that both sets share.

/// `normative`: rules R1 to R16 with the tightenings N. `demo`: without them, as the public web demo behaves, so that
/// its faults can be shown.
package enum TimelineRules: String, Sendable, CaseIterable {
  case normative
  case demo
}

/// The bounds of one projection. All of them hold whatever a server sends.
package struct TimelineLimits: Sendable {
  /// R12: messages kept; the one with the lowest sequence goes first.
  package var messages = 40
  /// R3: event ids remembered for each message, first in, first out.
  package var eventIDs = 2_048
  /// R10: events held while the history is outstanding; later ones are dropped and counted.
  package var bufferedEvents = 2_048
  /// The same in bytes of text: what 2,048 events may weigh together. Ours; the rules bound the number alone.
  package var bufferedBytes = 16 << 20
  /// R13: UTF-16 units of one message's text.
  package var textUnits = 16_384

  package init() {}
}

/// What a projection counted since it began.
package struct TimelineCounts: Equatable, Sendable {
  /// Events whose id was seen before.
  package var duplicates = 0
  /// Deltas that brought nothing new.
  package var covered = 0
  /// Deltas that did not fit: bytes before them are missing or differ.
  package var gaps = 0
  /// Events dropped because the recovery buffer was full.
  package var overflow = 0
  /// Notifications, history rows and whole histories that could not be read.
  package var undecodable = 0
  /// What a rule says to leave alone: other channels and lanes, deltas and snapshots after the end, evicted messages.
  package var ignored = 0
  /// Histories that belong to another connection than the current one.
  package var staleHistories = 0

  package init() {}
}
