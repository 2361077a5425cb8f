// A closed load: so many places, each with a session after the other. Sessions and places are dealt to the shards in
// turn, so that the shards together are the plan of one process.

package import Primitives
internal import Scenarios

package struct ClosedPlan: Sendable {
  /// Places of this shard: its live sessions at a time.
  package let places: Int
  /// Sessions of this shard in all; nil: until the time is over.
  package let sessions: Int?

  private let allPlaces: Int
  private let rampUp: Nanoseconds
  private let thinking: Distribution
  private let seed: UInt64
  private let index: Int
  private let count: Int

  init(_ load: Load, seed: UInt64, shard: Shard?) {
    self.init(
      places: min(load.concurrency ?? load.sessions ?? 1, load.sessions ?? .max), sessions: load.sessions,
      rampUp: load.rampUp, thinking: load.thinkTime, seed: seed, shard: shard)
  }

  /// A WuKongIM run: every reader at once, each once.
  init(readers: Int, seed: UInt64, shard: Shard?) {
    self.init(
      places: readers, sessions: readers, rampUp: .zero, thinking: .constant(0), seed: seed, shard: shard)
  }

  private init(
    places: Int, sessions: Int?, rampUp: Nanoseconds, thinking: Distribution, seed: UInt64, shard: Shard?
  ) {
    index = shard?.index ?? 0
    count = shard?.count ?? 1
    allPlaces = places
    self.places = Self.share(of: places, index, count)
    self.sessions = sessions.map { [index, count] in Self.share(of: $0, index, count) }
    self.rampUp = rampUp
    self.thinking = thinking
    self.seed = seed
  }

  /// How many of 0, 1, … total − 1 are `index` modulo `count`.
  private static func share(of total: Int, _ index: Int, _ count: Int) -> Int {
    total > index ? (total - index + count - 1) / count : 0
  }

  /// The number in the whole plan of this shard's `ordinal`-th session, from 0; a place that comes free takes the next.
  package func session(_ ordinal: Int) -> Int { index + ordinal * count }

  /// When this shard's `place`-th place, from 0, starts its first session, which is the `place`-th: the ramp-up is
  /// divided evenly over the places of all shards.
  package func firstStart(_ place: Int) -> PlannedStart {
    let global = session(place)
    let at =
      rampUp.value == 0 ? 0 : Int64((Double(rampUp.value) * Double(global) / Double(allPlaces)).rounded())
    return PlannedStart(session: global, at: Nanoseconds(at))
  }

  /// Time from the end of the session before to the start of this one (its number in the whole plan).
  package func thinkTime(before session: Int) -> Nanoseconds {
    var random = SeededRandom(seed: seed, purpose: "think time", index: UInt64(session))
    return thinking.time(&random, index: session)
  }
}
