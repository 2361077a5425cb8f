// A transport without a network: it hands over scripted reads as fast as they are taken. What is left of a run's cost is
// the instrument's own.

package import EventLoops
package import Primitives

package final class NullTransport: Transport {
  /// Reads that one place gets before the next one's turn.
  private static let readsPerTurn = 16

  private unowned(unsafe) let receiver: any TransferReceiver
  private let reads: [[UInt8]]
  /// The next read of each place; −1 where nothing goes on.
  private var positions: [Int]
  private var active: [Int] = []
  private var paused: Set<Int> = []

  /// - Parameter reads: the body of every response, one read each.
  package init(reads: [[UInt8]], places: Int, receiver: any TransferReceiver) {
    self.reads = reads
    self.receiver = receiver
    positions = Array(repeating: -1, count: places)
  }

  package func start(_ place: Int, _ request: TransferRequest, at now: Instant) {
    positions[place] = 0
    active.append(place)
  }

  package func cancel(_ place: Int) {
    guard positions[place] >= 0 else { return }
    positions[place] = -1
    active.removeAll { $0 == place }
    paused.remove(place)
  }

  package func setPaused(_ place: Int, _ isPaused: Bool) {
    if isPaused { paused.insert(place) } else { paused.remove(place) }
  }

  package func handle(_ readiness: Readiness) {}

  package func nextDeadline() -> Instant? { active.count > paused.count ? Instant(nanoseconds: 0) : nil }

  package func expire(_ now: Instant) {
    let turn = active
    for place in turn where positions[place] >= 0 && !paused.contains(place) { advance(place) }
  }

  private func advance(_ place: Int) {
    if positions[place] == 0 {
      receiver.requestSent(place, at: .now(), connection: ConnectionTimes())
      var head = ResponseHead()
      head.status = 200
      head.contentType = "text/event-stream"
      receiver.headReceived(place, head, at: .now())
    }
    let end = min(positions[place] + Self.readsPerTurn, reads.count)
    while positions[place] >= 0 && positions[place] < end {
      let read = positions[place]
      positions[place] += 1
      // A clock reading a read, as every transport makes.
      reads[read].withUnsafeBytes { receiver.bodyReceived(place, $0, at: .now()) }
    }
    guard positions[place] == reads.count else { return }
    positions[place] = -1
    active.removeAll { $0 == place }
    receiver.transferEnded(place, .complete, at: .now())
  }

  package func shutDown() {
    active = []
    for place in positions.indices { positions[place] = -1 }
  }
}
