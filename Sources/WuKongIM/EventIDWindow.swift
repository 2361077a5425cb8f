// The last event ids of one message, first in, first out (R3).

struct EventIDWindow: Sendable {
  let capacity: Int
  private var members: Set<ByteText> = []
  /// In order of arrival; a ring once it is full.
  private var order: [ByteText] = []
  private var oldest = 0

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { order.count }

  /// False where the id is among those remembered; else it is remembered now, and the oldest forgotten if need be.
  mutating func insert(_ id: ByteText) -> Bool {
    guard members.insert(id).inserted else { return false }
    if order.count < capacity {
      order.append(id)
    } else {
      members.remove(order[oldest])
      order[oldest] = id
      oldest = (oldest + 1) % capacity
    }
    return true
  }
}
