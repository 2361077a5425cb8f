// A fault of the WuKongIM mock as a scenario writes it: each strikes with its probability at every chance it gets.

package import Primitives

package struct WuKongFault: Sendable, Equatable {
  /// One of `kinds`.
  package var kind: String
  /// 0 to 1. Default 1.
  package var probability: Double
  /// Of delays and stale histories; nil: as the mock has it.
  package var length: Nanoseconds?

  /// The words of the mock, in its order; a test holds the two lists against each other.
  package static let kinds = [
    "drop_event", "duplicate_event", "reorder_event", "delay_event", "other_payload", "close_after_base", "cut_frame",
    "cut_scalar", "half_pair", "history_error", "history_timeout", "history_older", "history_newer", "leader_change",
    "busy", "private_in_main", "fragment", "late_base", "kick",
  ]
}
