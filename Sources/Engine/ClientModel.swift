// What a complete client model does otherwise than the engine: one property a rule, worked out from stack and fidelity.
// The parser, decoder and policy that belong to it are keys of the scenario (Scenarios/StackPreset).

import Primitives
package import Scenarios
import Streams

/// The rules of the client that a variant stands for.
package struct ClientModel: Sendable, Equatable {
  private let stack: Stack
  private let isFaithful: Bool

  package init(_ client: ClientSettings) {
    stack = client.stack
    isFaithful = client.fidelity == .faithful
  }

  /// Each connection is a task of the EventSource client.
  var isEventSource: Bool { stack == .eventsource || stack == .liveMonitor }

  /// URLSession calls nobody when a request goes out.
  package var seesRequestSent: Bool { !stack.isURLSession }

  /// Any status of 2xx but 204 opens a stream, of whatever type.
  var opensAnyType: Bool { isEventSource && isFaithful }

  /// A 200 is read whatever its type says.
  var ignoresContentType: Bool { opensAnyType || (stack == .bytesLines && isFaithful) }

  /// The consumer's loop ends, the producing tasks do not: the socket stays open and tokens are made that nobody reads.
  var leaksOnCancel: Bool { stack == .bytesLines && isFaithful }

  /// The end of the body is success, whether the end marker came or not.
  var needsNoMarker: Bool { stack == .bytesLines && isFaithful }

  /// The idle limit is URLSession's own, in whole seconds; the engine's stands behind it.
  var leavesIdleToFoundation: Bool { stack.isURLSession && stack != .urlsession && isFaithful }

  /// No status of 4xx is worth another try.
  var givesUpOnRefusal: Bool { stack == .eventsource }

  /// Whatever the error, the next try comes; and a clean end is the end (faithful) or not (strict).
  var triesAfterEveryError: Bool { stack == .liveMonitor }
  var endsAtCleanClose: Bool { stack == .liveMonitor && isFaithful }

  /// `Retry-After` is not looked at.
  var ignoresRetryAfter: Bool { isEventSource && isFaithful }
}
