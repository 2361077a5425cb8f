// Between URLSession's threads and a worker's: what arrived, with its instant, in order. Bounded; the worker's queue is
// woken when the first arrival comes into an empty inbox.

import EventLoops
import Foundation
import Primitives
import Synchronization
import Transports

/// What a delegate was told, by the key of its transfer.
enum Arrival: Sendable {
  case head(key: Int, ResponseHead, at: Instant)
  /// The delegate's own `Data`: a reference, not a copy.
  case body(key: Int, Data, at: Instant)
  case end(key: Int, TransferEnd, at: Instant)
}

/// One a worker. `put` comes from any thread, all else from the worker's.
final class ArrivalInbox: Sendable {
  private struct State {
    var arrivals: [Arrival] = []
    /// Body bytes in `arrivals` and taken but not yet given back, and the most there ever were.
    var bytes = 0
    var peak = 0
  }

  private let state = Mutex(State())
  private let queue: EventQueue
  /// Body bytes beyond which a transfer is given up: a delegate cannot make the server wait.
  private let limit: Int

  init(queue: EventQueue, limit: Int) {
    self.queue = queue
    self.limit = limit
  }

  /// - Returns: false where the inbox is full and the bytes were not taken.
  @discardableResult
  func put(_ arrival: Arrival) -> Bool {
    var size = 0
    if case .body(_, let data, _) = arrival { size = data.count }
    let (isTaken, wasEmpty) = state.withLock { state in
      if size > 0 && state.bytes + size > limit { return (false, false) }
      state.arrivals.append(arrival)
      state.bytes += size
      state.peak = max(state.peak, state.bytes)
      return (true, state.arrivals.count == 1)
    }
    if wasEmpty { queue.wake() }
    return isTaken
  }

  var isEmpty: Bool { state.withLock { $0.arrivals.isEmpty } }
  var peakBytes: Int { state.withLock { $0.peak } }

  /// Everything that has come; `spare` (emptied) takes its place. Its bytes count until they are given back.
  func take(_ spare: inout [Arrival]) {
    spare.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.arrivals, &spare) }
  }

  /// So many of the bytes taken have been dealt with.
  func giveBack(_ bytes: Int) { state.withLock { $0.bytes -= bytes } }
}
