// When the sockets of sessions were seen closed by the client: the last 100,000 of them.

internal import Primitives

struct ClosedSessions {
  static let capacity = 100_000

  private var entries: [(key: UInt64, at: Int64)] = []
  private var oldest = 0

  mutating func note(key: UInt64, at: Int64) {
    if entries.count < Self.capacity {
      entries.append((key, at))
    } else {
      entries[oldest] = (key, at)
      oldest = (oldest + 1) % Self.capacity
    }
  }

  /// Key → nanoseconds of the monotonic clock; a session that closed twice has its last. Empties the list.
  mutating func take() -> JSONValue {
    var object = JSONObject()
    for index in entries.indices {
      let entry = entries[(oldest + index) % entries.count]
      if entry.key < 1 << 62 { object[String(entry.key)] = .integer(entry.at) }
    }
    entries = []
    oldest = 0
    return .object(object)
  }
}
