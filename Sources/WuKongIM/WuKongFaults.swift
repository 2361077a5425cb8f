// The faults that the WuKongIM mock injects (C8), each with a probability at every chance it gets, drawn from a seed.

package import Primitives

package enum WuKongFaultKind: String, Sendable, CaseIterable {
  /// A live event does not reach a receiver, or reaches it twice, after the next one, or late (`for`).
  case dropEvent = "drop_event"
  case duplicateEvent = "duplicate_event"
  case reorderEvent = "reorder_event"
  case delayEvent = "delay_event"
  /// An event is sent again with the same id and offset and another text.
  case otherPayload = "other_payload"
  /// The connection ends after a base message and before the first delta.
  case closeAfterBase = "close_after_base"
  /// The connection ends inside a frame, or inside a scalar of the doubly encoded text.
  case cutFrame = "cut_frame"
  case cutScalar = "cut_scalar"
  /// A scalar of four bytes arrives as half a surrogate pair.
  case halfPair = "half_pair"
  /// A history is refused, never answered, older than what was sent since (`for`), or taken late (`for`).
  case historyError = "history_error"
  case historyTimeout = "history_timeout"
  case historyOlder = "history_older"
  case historyNewer = "history_newer"
  /// The cache is lost before an event.
  case leaderChange = "leader_change"
  /// An event is refused as busy.
  case busy
  /// A private event is written into `main` before an event.
  case privateInMain = "private_in_main"
  /// A frame is sent in fragments, with pings between them.
  case fragment
  /// The base message reaches a receiver after the first event.
  case lateBase = "late_base"
  /// A receiver is told `disconnect` 12.
  case kick
}

package struct WuKongFaults: Sendable {
  package struct Setting: Sendable, Equatable {
    package var probability: Double
    /// Of delays; default 100 ms.
    package var length: Nanoseconds

    package init(probability: Double = 1, length: Nanoseconds = .milliseconds(100)) {
      self.probability = probability
      self.length = length
    }
  }

  private var settings: [WuKongFaultKind: Setting]
  private var random: SeededRandom
  /// How often each fault struck.
  package private(set) var struck: [WuKongFaultKind: Int] = [:]

  package init(_ settings: [WuKongFaultKind: Setting] = [:], seed: UInt64 = 0) {
    self.settings = settings.filter { $0.value.probability > 0 }
    random = SeededRandom(seed: seed, purpose: "wukongim faults")
  }

  package var isEmpty: Bool { settings.isEmpty }

  /// Whether a fault strikes now, and with which length. A kind without a setting draws nothing.
  package mutating func strikes(_ kind: WuKongFaultKind) -> Setting? {
    guard let setting = settings[kind], random.uniform() < setting.probability else { return nil }
    struck[kind, default: 0] += 1
    return setting
  }

  package mutating func below(_ limit: Int) -> Int { limit <= 1 ? 0 : Int(random.next() % UInt64(limit)) }
}
