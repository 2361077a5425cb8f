// An open load: its starts one after the other, in constant memory however many there are. Each shard walks the whole
// plan and keeps its own sessions.

internal import Primitives
internal import Scenarios

package struct OpenPlan: Sendable, Sequence {
  let process: ArrivalProcess
  let seed: UInt64
  let shard: Shard?
  /// Of the whole plan.
  let sessions: Int?
  let end: Nanoseconds?

  package func makeIterator() -> Iterator { Iterator(self) }

  /// Starts in order of time.
  package struct Iterator: IteratorProtocol, Sendable {
    private let plan: OpenPlan
    private var arrivals: ArrivalIterator
    private var session = 0

    init(_ plan: OpenPlan) {
      self.plan = plan
      arrivals = ArrivalIterator(plan.process, seed: plan.seed)
    }

    package mutating func next() -> PlannedStart? {
      while session < plan.sessions ?? .max {
        guard let arrival = arrivals.next() else { return nil }
        if let end = plan.end, arrival.at >= end { return nil }
        let number = session
        session += 1
        if plan.owns(number) {
          return PlannedStart(
            session: number, at: arrival.at, maxTokens: arrival.outputTokens, inputTokens: arrival.inputTokens
          )
        }
      }
      return nil
    }
  }

  /// Starts of this shard.
  func count() -> Int {
    if let count = process.count(before: end, limit: sessions), shard == nil { return count }
    var iterator = makeIterator()
    var count = 0
    while iterator.next() != nil { count += 1 }
    return count
  }

  /// Whether a session is of this shard.
  ///
  /// Sessions at even or given times are dealt in turn, which divides every rate and ramp exactly. Of a random process
  /// each session is dealt by a draw of its own: so thinned, a Poisson process is a Poisson process; dealt in turn its
  /// gaps would be Erlang's, too regular by the square root of the number of shards.
  package func owns(_ session: Int) -> Bool {
    guard let shard, shard.count > 1 else { return true }
    if !process.isRandom { return session % shard.count == shard.index }
    var random = SeededRandom(seed: seed, purpose: "shard of session", index: UInt64(session))
    return Int(random.next().multipliedFullWidth(by: UInt64(shard.count)).high) == shard.index
  }
}
