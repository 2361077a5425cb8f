// A Scenario becomes a Plan: which session starts when, fixed before the run. A pure function of scenario, seed and
// shard; knows no clock and no server.

package import Primitives
package import Scenarios

/// One session of a plan.
package struct PlannedStart: Sendable, Equatable {
  /// Its number in the plan of all shards, from 0.
  package var session: Int
  /// After the run's start.
  package var at: Nanoseconds
  /// What the trace asks for; nil: what the scenario says.
  package var maxTokens: Int?
  package var inputTokens: Int?

  package init(session: Int, at: Nanoseconds, maxTokens: Int? = nil, inputTokens: Int? = nil) {
    self.session = session
    self.at = at
    self.maxTokens = maxTokens
    self.inputTokens = inputTokens
  }
}

/// The starts of one run, or of one shard of it. Never rescaled to fit a duration: what the process yields before the
/// time is over starts, and nothing else.
package struct Plan: Sendable {
  package enum Kind: Sendable {
    /// A start follows from the end of the session before it in the same place.
    case closed(ClosedPlan)
    /// Starts whatever the server does.
    case open(OpenPlan)
  }

  package let kind: Kind
  package let shard: Shard?
  /// Sessions of this shard; nil for a closed load that only time ends.
  package let planned: Int?
  /// When the plan is over: no session starts at or after it; nil: when its sessions are used up.
  package let end: Nanoseconds?

  /// The plan of one variant or point. `load.model` is neither sweep nor search: their points have a plan each.
  ///
  /// - Parameter seed: of this repeat; the scenario's own where nil.
  package static func make(_ scenario: Scenario, seed: UInt64? = nil, shard: Shard? = nil) -> Plan {
    let seed = seed ?? scenario.seed
    let load = scenario.load
    let end = load.duration.map { $0 + scenario.measure.warmUp }
    let process: ArrivalProcess
    if let wukongim = scenario.wukongim {
      return Plan(
        closed: ClosedPlan(readers: wukongim.readers, seed: seed, shard: shard), shard: shard, end: nil)
    }
    switch load.model {
    case .closed:
      return Plan(closed: ClosedPlan(load, seed: seed, shard: shard), shard: shard, end: end)
    case .constant: process = .constant(rate: load.rate ?? 1)
    case .poisson: process = .gamma(rate: load.rate ?? 1, cv: 1)
    case .gamma: process = .gamma(rate: load.rate ?? 1, cv: load.cv)
    case .stages: process = .stages(load.stages)
    case .burst: process = .burst(sessions: load.burst?.sessions ?? 0, at: load.burst?.at ?? .zero)
    case .trace: process = .trace(load.trace?.arrivals ?? [], speed: load.trace?.speed ?? 1)
    case .sweep, .search: preconditionFailure("each point of a sweep or a search has a plan of its own")
    }
    let open = OpenPlan(process: process, seed: seed, shard: shard, sessions: load.sessions, end: end)
    return Plan(kind: .open(open), shard: shard, planned: open.count(), end: end)
  }

  private init(kind: Kind, shard: Shard?, planned: Int?, end: Nanoseconds?) {
    self.kind = kind
    self.shard = shard
    self.planned = planned
    self.end = end
  }

  private init(closed: ClosedPlan, shard: Shard?, end: Nanoseconds?) {
    self.init(kind: .closed(closed), shard: shard, planned: closed.sessions, end: end)
  }
}
