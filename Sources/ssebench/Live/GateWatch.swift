// Gates with `abort_on_fail`, judged once a second on the figures so far: a run that can no longer pass is to end.

import Analysis
import Primitives
import Recording
import Scenarios

final class GateWatch: RunObserver {
  /// Seconds of figures before the first judgement, and judgements in a row that must agree: a slow start is no verdict.
  static let patience = (seconds: 2, inARow: 3)
  /// Ended sessions before a ratio of them says anything.
  static let leastSessions: Int64 = 20

  private let gates: GateList
  private var seconds: [String: Int] = [:]
  private var failures: [String: Int] = [:]
  /// The sentence about the gate that ended the run.
  private(set) var reason: String?

  var wantsEnd: Bool { reason != nil }

  /// nil where no gate ends the run.
  init?(_ gates: [Gate]) {
    let texts = gates.filter(\.abortOnFail).map(\.expression)
    if texts.isEmpty { return nil }
    self.gates = GateList(texts: texts)
  }

  func second(_ row: TimeSeriesRow, variant: VariantRecord, record: IntervalRecord) {
    guard reason == nil else { return }
    seconds[variant.name, default: 0] += 1
    guard seconds[variant.name, default: 0] >= Self.patience.seconds else { return }
    let tree = JSONValue.object(["variants": .array([VariantFigures.tree(variant)])])
    let counters = variant.total.counters
    for result in GateJudge(tree: tree).judge(gates) {
      let key = "\(variant.name)\u{0}\(result.expression)"
      let isBeyond =
        result.held == false && result.reason == "beyond_limit"
        && Self.isTelling(result.expression, ended: counters.completed + counters.failed)
      failures[key] = isBeyond ? failures[key, default: 0] + 1 : 0
      if failures[key, default: 0] >= Self.patience.inARow { reason = result.sentence }
    }
  }

  func session(_ record: SessionRecord) {}
  func disconnected(_ record: DisconnectRecord) {}

  /// Whether a gate that does not hold now cannot be saved by the rest of the run: limits from above on latencies and on
  /// counts that only grow, and ratios of enough sessions. A count that is still to be reached is no failure yet, and
  /// neither is one of another variant's.
  static func isTelling(_ expression: String, ended: Int64) -> Bool {
    guard let gate = try? GateExpression.parse(expression, knownKeys: KnownKeys(variantNames: [])) else { return false }
    let isUpper = gate.relation == .atMost || gate.relation == .below
    return gate.keys.allSatisfy { key in
      guard case .eachVariant = key.scope, let last = key.path.last else { return false }
      if last.hasSuffix("ratio") { return ended >= leastSessions }
      if last.hasSuffix("per_s") || key.path.first == "load" { return false }
      return isUpper
    }
  }
}
