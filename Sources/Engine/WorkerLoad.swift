// A worker's share of the load: where its starts come from, how many places it has, and when it must stop starting.

package import Primitives
import Streams

/// The share of one worker. Owned by its thread once it runs.
package final class WorkerLoad {
  package enum Kind {
    /// First starts of the places, in ns after the run's start.
    case closed([Int64])
    case open
  }

  let kind: Kind
  /// Sessions that can be live at a time.
  package let capacity: Int
  let concurrency: Int?
  let warmUp: Int64
  let rampUp: Int64
  /// ns after the run's start at which no session is started any more; nil: when the plan is used up.
  let startsEnd: Int64?
  /// How long live sessions have after that; nil: as long as their own limits give.
  let drain: Int64?
  let dropsBeyond: Bool
  /// A start later than this against its schedule counts as late.
  let lateAfter: Int64
  let budget: BudgetShare
  private let starts: () -> SessionStart?
  private let think: (inout SeededRandom) -> Int64
  private let bodyFor: (Int) -> [UInt8]

  package init(
    kind: Kind, capacity: Int, concurrency: Int?, warmUp: Int64, rampUp: Int64, startsEnd: Int64?, drain: Int64?,
    dropsBeyond: Bool, lateAfter: Int64, budget: BudgetShare, starts: @escaping () -> SessionStart?,
    think: @escaping (inout SeededRandom) -> Int64, bodyFor: @escaping (Int) -> [UInt8]
  ) {
    self.kind = kind
    self.capacity = max(1, capacity)
    self.concurrency = concurrency
    self.warmUp = warmUp
    self.rampUp = rampUp
    self.startsEnd = startsEnd
    self.drain = drain
    self.dropsBeyond = dropsBeyond
    self.lateAfter = lateAfter
    self.budget = budget
    self.starts = starts
    self.think = think
    self.bodyFor = bodyFor
  }

  /// The next session of an open load; nil when there is none any more.
  func nextOpen() -> SessionStart? { starts() }
  /// The next session of a closed load, whose start is the caller's.
  func nextClosed() -> SessionStart? { starts() }
  func thinkTime(_ random: inout SeededRandom) -> Int64 { max(0, think(&random)) }
  func body(maxTokens: Int) -> [UInt8] { bodyFor(maxTokens) }
}

/// One worker's part of the scenario's budget.
package struct BudgetShare {
  var requestLimit: Int?
  var tokenLimit: Int?
  var requests = 0
  /// Tokens paid, and tokens that live sessions may still cost.
  private var tokens = 0
  private var reserved = 0
  var isSpent = false
  /// What one session may cost at most, where the request bounds it.
  var tokensPerSession: Int?

  package init(requestLimit: Int? = nil, tokenLimit: Int? = nil, tokensPerSession: Int? = nil) {
    self.requestLimit = requestLimit
    self.tokenLimit = tokenLimit
    self.tokensPerSession = tokensPerSession
  }

  /// Whether one more session stays within the budget whatever it costs.
  mutating func admits(_ settings: SessionSettings, _ start: SessionStart) -> Bool {
    if let requestLimit, requests + 1 > requestLimit { return false }
    if let tokenLimit {
      let cost = start.maxTokens >= 0 ? Int(start.maxTokens) : tokensPerSession ?? 0
      if tokens + reserved + cost > tokenLimit { return false }
      reserved += cost
    }
    return true
  }

  mutating func sessionEnded(_ settings: SessionSettings, _ maxTokens: Int32, tokens used: Int64) {
    guard tokenLimit != nil else { return }
    reserved -= maxTokens >= 0 ? Int(maxTokens) : tokensPerSession ?? 0
    tokens += Int(used)
  }
}
