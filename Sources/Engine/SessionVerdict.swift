// The end of a connection becomes what the session does next: complete, fail, or try again after a delay. Pure rules;
// time and randomness are parameters.

import Primitives
package import Recording
import Scenarios
import Streams
package import Transports

/// What follows from the end of a connection.
package enum NextStep: Equatable, Sendable {
  case complete
  case fail(SessionErrorKind, String)
  /// After this many nanoseconds from the detection. `restarting`: from the first event anew.
  case retry(delay: Int64, restarting: Bool)
}

/// What is known when a connection has ended.
package struct ConnectionFacts {
  package var end: TransferEnd
  package var status = 0
  /// The response was a stream that was read (status and content type as wanted).
  package var isStream = false
  /// At least one byte of the body came, decoded.
  package var hasBody = false
  package var contentTypeIsWrong = false
  package var contentType = ""
  package var sawMarker = false
  package var sawError = false
  package var sawFinishReason = false
  /// The end that the scenario names with `until` was reached.
  package var reachedEnd = false
  /// A limit of ours ended the connection: idle, first event.
  package var timeout: SessionErrorKind?
  package var streamFailed: SessionErrorKind?
  package var retryAfter: String?
  /// The wall clock when the connection ended, in seconds since 1970: what a date in `Retry-After` is held against.
  package var wallSeconds: Int64 = 0
  /// Server-sent reconnection time in ms, −1 without.
  package var serverRetry: Int64 = -1
  /// Tries in a row without a stream that was open long enough.
  package var tries = 0
  /// The EventSource client closed without an error that its user could see.
  package var isSilent = false
  package var errorBody = ""
  /// Uniform in 0..<1.
  package var random = 0.0

  package init(end: TransferEnd) { self.end = end }
}

extension SessionSettings {
  package func nextStep(_ facts: ConnectionFacts) -> NextStep {
    if let kind = facts.streamFailed { return .fail(kind, "") }
    if facts.sawError { return restartOr(.fail(.streamError, "an error object inside the stream"), facts) }
    if isLLM {
      if facts.sawMarker { return .complete }
      // Gemini has no marker: a finish reason and then a clean end.
      if api == .gemini && facts.sawFinishReason && facts.end == .complete && facts.isStream { return .complete }
    } else if facts.reachedEnd || facts.sawMarker && until == nil {
      return .complete
    }
    if !isLLM && facts.status == 204 { return .complete }
    if let step = modelStep(facts) { return step }
    switch policy {
    case .none: return withoutPolicy(facts)
    case .restart: return restartOr(withoutPolicy(facts), facts)
    case .whatwg: return standard(facts)
    case .backoff: return backoff(facts)
    }
  }

  /// The failure that a connection's end is where nothing is tried again.
  func withoutPolicy(_ facts: ConnectionFacts) -> NextStep {
    if let timeout = facts.timeout {
      // A head that says what is wrong says more than the limit that ended its endless body.
      if let known = statusFailure(facts) { return .fail(known.kind, known.detail) }
      return .fail(timeout, "")
    }
    if let failure = failure(of: facts) { return .fail(failure.kind, failure.detail) }
    switch facts.end {
    case .complete:
      if !isLLM && until == nil { return .complete }
      return .fail(.truncated, isLLM ? "the stream ended without its end marker" : "the stream ended before `until`")
    case .cut: return .fail(.truncated, "the connection was closed inside the body")
    case .failed: return .fail(.reset, "")
    }
  }

  /// A status, content type or transport failure; nil where the response was a stream that ended.
  private func failure(of facts: ConnectionFacts) -> (kind: SessionErrorKind, detail: String)? {
    // What the library's user does not hear of, the strict client still reports.
    if facts.isSilent && client.opensAnyType { return nil }
    if case .failed(let kind, let detail) = facts.end, !(kind == .reset && facts.isStream) {
      if facts.status != 0 && kind == .reset && !facts.isStream {
        return statusFailure(facts) ?? (.reset, detail)
      }
      return (SessionErrorKind(kind), detail)
    }
    return statusFailure(facts)
  }

  private func statusFailure(_ facts: ConnectionFacts) -> (kind: SessionErrorKind, detail: String)? {
    let body = facts.errorBody.isEmpty ? "" : ": \(facts.errorBody)"
    switch facts.status {
    case 0: return nil
    case 200:
      if facts.contentTypeIsWrong {
        let type = facts.contentType.isEmpty ? "no content type" : "content type \(facts.contentType)"
        return (.contentType, type + body)
      }
      return nil
    case 201..<300 where client.opensAnyType: return nil
    case 429: return (.http429, "status 429\(body)")
    case 300..<400: return (.http3xx, "status \(facts.status)\(body)")
    case 400..<500: return (.http4xx, "status \(facts.status)\(body)")
    case 500..<600: return (.http5xx, "status \(facts.status)\(body)")
    default: return (.protocolError, "status \(facts.status)\(body)")
    }
  }

  /// HTML Standard, 9.2.3: anything but a 200 event stream fails the connection for good; a network error or the end
  /// of the body reestablishes it after the reconnection time.
  private func standard(_ facts: ConnectionFacts) -> NextStep {
    if let failure = statusFailure(facts) { return .fail(failure.kind, failure.detail) }
    if case .failed(let kind, let detail) = facts.end {
      // The standard lets a client give up where it knows that trying again is futile.
      switch kind {
      case .tls: return .fail(.tls, detail)
      case .redirectLoop: return .fail(.redirectLoop, detail)
      case .unsupported: return .fail(.protocolError, detail)
      case .unsupportedEncoding where !facts.hasBody: return .fail(.unsupportedEncoding, detail)
      default: break
      }
    }
    if let most = reconnect.tries, facts.tries >= most { return exhausted(facts) }
    let base = clamped(reconnectionTime(facts.serverRetry))
    return .retry(delay: jittered(base, facts, share: reconnect.jitter ?? 0, upwards: true), restarting: false)
  }

  private func backoff(_ facts: ConnectionFacts) -> NextStep {
    if client.triesAfterEveryError { return delayed(facts, restarting: false) }
    if facts.timeout == nil, let failure = failure(of: facts), isFinal(failure.kind, facts) {
      return .fail(failure.kind, failure.detail)
    }
    return delayed(facts, restarting: false)
  }

  /// What another try would not mend. A body that breaks off in bad framing or coding is a broken connection.
  private func isFinal(_ kind: SessionErrorKind, _ facts: ConnectionFacts) -> Bool {
    switch kind {
    case .http4xx: client.givesUpOnRefusal || facts.status != 408
    case .http429: client.givesUpOnRefusal
    case .http3xx, .redirectLoop, .contentType, .tls, .tooLarge, .parse: true
    case .protocolError: !facts.isStream
    case .unsupportedEncoding: !facts.hasBody
    default: false
    }
  }

  /// For APIs that cannot resume: once more from the start.
  private func restartOr(_ failure: NextStep, _ facts: ConnectionFacts) -> NextStep {
    guard policy == .restart, case .fail(let kind, _) = failure else { return failure }
    if client.triesAfterEveryError { return delayed(facts, restarting: true) }
    if kind == .dns || isFinal(kind, facts) { return failure }
    return delayed(facts, restarting: true)
  }

  /// base · factor^tries, at most cap; `retry` of the stream takes the place of base, `Retry-After` is the least.
  func delayed(_ facts: ConnectionFacts, restarting: Bool) -> NextStep {
    if facts.tries >= reconnect.tries ?? 5 { return exhausted(facts) }
    let base = facts.serverRetry >= 0 ? Double(reconnectionTime(facts.serverRetry)) : Double(reconnect.base.value)
    let grown = min(base * Maths.pow(reconnect.factor, Double(facts.tries)), Double(max(reconnect.cap.value, 0)))
    var delay = jittered(clamped(Int64(min(grown, 9e18))), facts, share: reconnect.jitter ?? 0.5, upwards: false)
    if facts.status >= 400, !client.ignoresRetryAfter,
      let asked = RetryAfter.nanoseconds(facts.retryAfter, now: facts.wallSeconds) {
      delay = max(delay, clamped(asked))
    }
    return .retry(delay: delay, restarting: restarting)
  }

  private func exhausted(_ facts: ConnectionFacts) -> NextStep {
    switch withoutPolicy(facts) {
    case .fail(let kind, let detail):
      return .fail(kind, detail + (detail.isEmpty ? "" : "; ") + "given up after \(facts.tries) tries")
    default: return .fail(.truncated, "given up after \(facts.tries) tries")
    }
  }

  /// The time that the stream asked for with `retry`, in ns, else the default. A huge `retry` stays huge.
  func reconnectionTime(_ serverRetry: Int64) -> Int64 {
    guard serverRetry >= 0 else { return reconnect.retry.value }
    let (nanoseconds, overflow) = serverRetry.multipliedReportingOverflow(by: 1_000_000)
    return overflow ? .max : nanoseconds
  }

  /// The count of tries in a row that an end adds to: a connection that was open for long, or one that brought events
  /// under the standard's policy, begins anew.
  ///
  /// - Parameter openFor: −1 where it was never open.
  package func triesBefore(_ tries: Int, openFor: Int64, events: Int64) -> Int {
    let isFresh = openFor >= reconnect.resetAfter.value || policy == .whatwg && events > 0
    return isFresh ? 0 : tries
  }

  /// Why a connection ended, in a stable word: an error kind, `end` for a finished body, `cut` for one that was not.
  func reason(_ facts: ConnectionFacts) -> String {
    if let timeout = facts.timeout { return timeout.word }
    if let failure = failure(of: facts) { return failure.kind.word }
    switch facts.end {
    case .complete: return "end"
    case .cut: return "cut"
    case .failed: return SessionErrorKind.reset.word
    }
  }

  private func clamped(_ delay: Int64) -> Int64 { min(max(delay, 0), reconnect.longest.value) }

  /// Adds up to `share` of the delay (whatwg: never earlier than asked), or takes it away (backoff).
  private func jittered(_ delay: Int64, _ facts: ConnectionFacts, share: Double, upwards: Bool) -> Int64 {
    let part = Int64(Double(delay) * share * facts.random)
    return upwards ? delay + part : delay - part
  }
}

/// The field `Retry-After`: seconds, or a date, which is only as good as the agreement of the two wall clocks.
enum RetryAfter {
  private static let longest: Int64 = 999_999_999

  /// - Parameter now: seconds since 1970. A date that has passed asks for no delay.
  static func nanoseconds(_ text: String?, now: Int64) -> Int64? {
    guard let text, !text.isEmpty else { return nil }
    if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return min(Int64(text) ?? longest, longest) * 1_000_000_000
    }
    return HTTPDate.seconds(text, now: now).map { min(max(0, $0 - now), longest) * 1_000_000_000 }
  }
}

/// The media type of a response, without parameters, in lower case; empty where there is none that can be read.
///
/// Source: Fetch Standard, "extract a MIME type": of several values in one field the last readable one counts, `*/*`
/// aside; MIME Sniffing Standard, "parse a MIME type": type and subtype are HTTP tokens.
enum MediaType {
  static func essence(_ value: String) -> String {
    var found = ""
    for part in value.split(separator: ",") {
      let essence = part.prefix { $0 != ";" }.trimming { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\n" }.lowercased()
      let halves = essence.split(separator: "/", omittingEmptySubsequences: false)
      guard halves.count == 2, halves.allSatisfy(isToken), essence != "*/*" else { continue }
      found = essence
    }
    return found
  }

  private static func isToken(_ text: Substring) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
  }
}

extension Substring {
  /// Without what `isBlank` says at either end.
  fileprivate func trimming(_ isBlank: (Character) -> Bool) -> Substring {
    var rest = drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return rest
  }
}
