// Sessions through the engine itself, all at once and each once, and what came of them.

package import Engine
import Primitives
package import Recording

package struct EngineOutcome {
  /// By the sessions' numbers.
  package var records: [SessionRecord] = []
  package var disconnects: [DisconnectRecord] = []
  package var errors: [String] = []
  package let total = IntervalRecord()

  /// Runs them to their end, on one worker.
  package init(_ settings: SessionSettings, sessions: Int) throws {
    var next: Int64 = 0
    let load = WorkerLoad(
      kind: .closed([Int64](repeating: 0, count: sessions)), capacity: sessions, concurrency: sessions, warmUp: 0,
      rampUp: 0, startsEnd: nil, drain: nil, dropsBeyond: false, lateAfter: .max, budget: BudgetShare(),
      starts: {
        if next == Int64(sessions) { return nil }
        next += 1
        return SessionStart(index: next - 1, at: 0)
      }, think: { _ in 0 }, bodyFor: { _ in [] })
    let engine = try EngineRun(settings: settings, loads: [load], origin: .now())
    engine.start()
    engine.join()
    for report in engine.take() {
      records += report.sessions
      disconnects += report.disconnects
      errors += report.errorSamples.map { "\($0.kind.word): \($0.message)" }
      for interval in report.intervals { total.add(interval.record) }
    }
    records.sort { $0.session < $1.session }
  }
}
