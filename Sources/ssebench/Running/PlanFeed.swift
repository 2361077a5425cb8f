// A plan becomes the loads of worker threads: each takes every T-th session of the plan, in order.

import Arrivals
import Engine
import Primitives
import Scenarios
import Streams

enum PlanFeed {
  /// - Parameters:
  ///   - threads: worker threads of this process.
  ///   - only: run this one session of the plan and no other.
  ///   - shard: of the budget and of the most live sessions too this process has its share.
  static func loads(_ scenario: Scenario, plan: Plan, threads: Int, only: Int?, shard: Shard? = nil) -> [WorkerLoad] {
    let api = StreamAPI(rawValue: (scenario.endpoint.mock?.api ?? scenario.endpoint.api).rawValue) ?? .sse
    return (0..<threads).map { thread in
      let starts: () -> SessionStart?
      var kind = WorkerLoad.Kind.open
      var capacity: Int
      var concurrency: Int?
      if let only {
        var isGiven = thread != 0
        starts = {
          if isGiven { return nil }
          isGiven = true
          return SessionStart(index: Int64(only), at: 0)
        }
        capacity = 1
      } else {
        switch plan.kind {
        case .closed(let closed):
          let mine = share(closed.places, thread, threads)
          kind = .closed((0..<mine).map { closed.firstStart($0 * threads + thread).at.value })
          capacity = mine
          concurrency = mine
          let total = closed.sessions.map { share($0, thread, threads) }
          var ordinal = 0
          starts = {
            if let total, ordinal >= total { return nil }
            let session = closed.session(ordinal * threads + thread)
            ordinal += 1
            return SessionStart(index: Int64(session), at: 0)
          }
        case .open(let open):
          var iterator = open.makeIterator()
          var ordinal = -1
          starts = {
            while let start = iterator.next() {
              ordinal += 1
              if ordinal % threads == thread {
                return SessionStart(
                  index: Int64(start.session), at: start.at.value, maxTokens: start.maxTokens.map { Int32(clamping: $0) } ?? -1)
              }
            }
            return nil
          }
          capacity = share(openCapacity(scenario, plan, shard), thread, threads)
        }
      }
      return WorkerLoad(
        kind: kind, capacity: capacity, concurrency: concurrency, warmUp: scenario.measure.warmUp.value,
        rampUp: scenario.load.rampUp.value, startsEnd: only == nil ? plan.end?.value : nil,
        drain: plan.end == nil ? nil : scenario.load.drain.value, dropsBeyond: scenario.load.beyond == .drop,
        lateAfter: max(10_000_000, latenessAllowed(scenario)), budget: budget(scenario, threads, shard), starts: starts,
        think: think(plan),
        bodyFor: { count in
          Array((RequestBuilder.requestBody(scenario, api: api, maxTokens: count) ?? .null).text().utf8)
        })
    }
  }

  /// A start counts as late when it is off by more than a tenth of the mean gap between starts (at least 10 ms).
  private static func latenessAllowed(_ scenario: Scenario) -> Int64 {
    guard let rate = scenario.load.rate, rate > 0 else { return 0 }
    return Int64(min(1e9, 1e8 / rate))
  }

  /// The n-th pause is the one before the n-th session after those that the places began with.
  private static func think(_ plan: Plan) -> (inout SeededRandom) -> Int64 {
    guard case .closed(let closed) = plan.kind else { return { _ in 0 } }
    var ordinal = closed.places
    return { _ in
      ordinal += 1
      return closed.thinkTime(before: closed.session(ordinal - 1)).value
    }
  }

  /// Places of an open load: no more than may be live, than there are sessions, or than there are descriptors.
  static func openCapacity(_ scenario: Scenario, _ plan: Plan, _ shard: Shard?) -> Int {
    let descriptors = max(16, DescriptorLimit.current.soft - 128)
    let maxLive = scenario.load.maxLive.map { max(1, shard?.share(of: $0) ?? $0) }
    return [maxLive, plan.planned, descriptors].compactMap { $0 }.min() ?? descriptors
  }

  private static func budget(_ scenario: Scenario, _ threads: Int, _ shard: Shard?) -> BudgetShare {
    func share(_ limit: Int) -> Int { (shard?.share(of: limit) ?? limit) / threads }
    let mockTokens = scenario.endpoint.mock?.tokens.constantValue.map { Int($0) }
    return BudgetShare(
      requestLimit: scenario.budget.requests.map(share),
      tokenLimit: scenario.budget.outputTokens.map(share),
      tokensPerSession: scenario.request.maxTokens ?? mockTokens)
  }

  private static func share(_ total: Int, _ index: Int, _ count: Int) -> Int {
    total > index ? (total - index + count - 1) / count : 0
  }
}
