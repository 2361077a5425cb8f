// What a run comes to, in one word, and the exit code that says it to scripts.

package import Recording

/// In the order in which they are decided: partial before invalid before failed before passed.
package enum Verdict: String, Sendable {
  case passed, failed, invalid, partial

  /// In words, for the first line of a report.
  package var title: String {
    switch self {
    case .passed: "Passed"
    case .failed: "Failed"
    case .invalid: "Not to be trusted"
    case .partial: "Partial"
    }
  }
}

/// Why a run has its verdict.
package struct Judgement: Sendable, Equatable {
  package var verdict: Verdict
  /// 0, 1, 3, 69, 74 or 130: CONTRACT, section 1.
  package var exitStatus: Int32
  /// Sentences, the deciding one first.
  package var reasons: [String]

  /// Warnings that make a measurement not to be trusted.
  package static let invalidating: Set<String> = ["client_bottleneck", "load_not_reached", "started_late"]

  package init(_ record: RunRecord, warnings: [RunWarning], gates: [GateResult]) {
    let completed = record.variants.reduce(0) { $0 + $1.total.counters.completed }
    let failed = record.variants.reduce(0) { $0 + $1.total.counters.failed }
    let started = record.variants.reduce(0) { $0 + $1.total.counters.started }
    let doubts = warnings.filter { Self.invalidating.contains($0.code) }
    // A connection that was lost was one.
    let everConnected = record.variants.contains { $0.total.counters.bytes > 0 || $0.total.counters.disconnects > 0 }
    let notConnected = record.variants.reduce(Int64(0)) { sum, variant in
      sum + SessionErrorKind.allCases.reduce(0) {
        $0 + ($1.isConnectFailure ? variant.total.errors[Int($1.rawValue)] : 0)
      }
    }

    if let because = record.partialBecause {
      self.init(
        .partial, record.ioError ? 74 : 130, [because, "\(completed) of \(started) started sessions completed before that."])
    } else if record.ioError {
      self.init(.partial, 74, ["An output could not be written, so files of this run are incomplete."])
    } else if !doubts.isEmpty {
      self.init(.invalid, 3, doubts.map(\.message))
    } else if completed == 0 && failed > 0 && notConnected >= failed && !everConnected {
      self.init(.failed, 69, ["No session could connect."])
    } else if completed == 0 {
      self.init(.failed, 1, ["No session completed."])
    } else {
      self.init(completed: completed, started: started, gates: gates)
    }
  }

  private init(_ verdict: Verdict, _ exitStatus: Int32, _ reasons: [String]) {
    self.verdict = verdict
    self.exitStatus = exitStatus
    self.reasons = reasons
  }

  /// The verdict of a run that can be trusted and of which at least one session completed.
  init(completed: Int64, started: Int64, gates: [GateResult]) {
    let lost = gates.filter { $0.held == false }
    if !lost.isEmpty {
      verdict = .failed
      exitStatus = 1
      reasons = lost.map(\.sentence)
      return
    }
    verdict = .passed
    exitStatus = 0
    let judged = gates.filter { $0.held == true }.count
    let whole = "\(completed) of \(started) started sessions completed"
    reasons = [judged == 0 ? whole + "." : "\(whole), and \(judged == 1 ? "the gate" : "each of \(judged) gates") held."]
    let waiting = gates.filter { $0.held == nil }.count
    if waiting > 0 {
      reasons.append("\(waiting) \(waiting == 1 ? "gate waits" : "gates wait") for a baseline: `ssebench gate RUN --baseline RUN`.")
    }
  }
}
