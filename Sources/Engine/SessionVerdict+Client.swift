// What a complete client model does at a connection's end where it differs from the policy that its numbers belong to.
// Pure rules, asked before those of SessionVerdict.

import Primitives
import Recording
import Scenarios
import Transports

extension SessionSettings {
  /// The model's own step; nil where the general rules decide.
  func modelStep(_ facts: ConnectionFacts) -> NextStep? {
    let isCleanEnd = facts.isStream && facts.end == .complete && facts.timeout == nil
    // The loop over lines ends with the body, and nobody asks whether the marker came.
    if client.needsNoMarker && isCleanEnd { return .complete }
    guard client.isEventSource, policy == .backoff || policy == .restart else { return nil }
    // The monitor reconnects in its handler of errors, and in that alone.
    if client.endsAtCleanClose && isCleanEnd { return withoutPolicy(facts) }
    if client.triesAfterEveryError || facts.isSilent { return delayed(facts, restarting: policy == .restart) }
    if client.givesUpOnRefusal && (400..<500).contains(facts.status), case .fail(let kind, let detail) = withoutPolicy(facts) {
      return .fail(kind, detail)
    }
    return nil
  }
}
