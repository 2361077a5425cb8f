// The end of a connection becomes what the session does next: complete, fail, or try again after a delay. Pure rules;
// time and randomness are parameters.

import Primitives
import Recording
import Scenarios
import Streams
import Transports

/// What follows from the end of a connection.
enum NextStep: Equatable {
  case complete
  case fail(SessionErrorKind, String)
  /// After this many nanoseconds from the detection. `restarting`: from the first event anew.
  case retry(delay: Int64, restarting: Bool)
}

/// What is known when a connection has ended.
struct ConnectionFacts {
  var end: TransferEnd
  var status = 0
  /// The response was a stream that was read (status and content type as wanted).
  var isStream = false
  var contentTypeIsWrong = false
  var contentType = ""
  var sawMarker = false
  var sawError = false
  var sawFinishReason = false
  /// The end that the scenario names with `until` was reached.
  var reachedEnd = false
  /// A limit of ours ended the connection: idle, first event.
  var timeout: SessionErrorKind?
  var streamFailed: SessionErrorKind?
  var retryAfter: String?
  /// Server-sent reconnection time in ms, −1 without.
  var serverRetry: Int64 = -1
  /// Tries in a row without a stream that was open long enough.
  var tries = 0
  /// The EventSource client closed without an error that its user could see.
  var isSilent = false
  var errorBody = ""
  /// Uniform in 0..<1.
  var random = 0.0
}

extension SessionSettings {
  func nextStep(_ facts: ConnectionFacts) -> NextStep {
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
    if client.needsNoMarker && facts.isStream && facts.end == .complete && facts.timeout == nil { return .complete }
    if client.endsAtCleanClose && facts.isStream && facts.end == .complete && facts.timeout == nil {
      return withoutPolicy(facts)
    }
    switch policy {
    case .none: return withoutPolicy(facts)
    case .restart: return restartOr(withoutPolicy(facts), facts)
    case .whatwg: return standard(facts)
    case .backoff: return backoff(facts)
    }
  }

  /// The failure that a connection's end is where nothing is tried again.
  private func withoutPolicy(_ facts: ConnectionFacts) -> NextStep {
    if let timeout = facts.timeout { return .fail(timeout, "") }
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
    if facts.isSilent { return nil }
    if case .failed(let kind, let detail) = facts.end, !(kind == .reset && facts.isStream) {
      if facts.status != 0 && kind == .reset && !facts.isStream {
        return statusFailure(facts) ?? (.reset, detail)
      }
      let word: SessionErrorKind =
        switch kind {
        case .nameLookup: .dns
        case .refused: .refused
        case .connectTimeout: .timeoutConnect
        case .tls: .tls
        case .reset: .reset
        case .protocolViolation, .unsupported: .protocolError
        case .redirectLoop: .redirectLoop
        case .unsupportedEncoding: .unsupportedEncoding
        case .idleTimeout: .timeoutIdle
        case .overflow: .tooLarge
        }
      return (word, detail)
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
    if facts.timeout != .timeoutFirstEvent || facts.isStream, let failure = failure(of: facts) {
      switch failure.kind {
      case .refused, .dns, .timeoutConnect, .reset, .tls: break
      default: return .fail(failure.kind, failure.detail)
      }
      // The standard lets a client give up where it knows that trying again is futile.
      if failure.kind == .tls { return .fail(failure.kind, failure.detail) }
    }
    if let most = reconnect.tries, facts.tries >= most { return exhausted(facts) }
    let base = facts.serverRetry >= 0 ? facts.serverRetry &* 1_000_000 : reconnect.retry.value
    return .retry(delay: jittered(clamped(base), facts, share: reconnect.jitter ?? 0, upwards: true), restarting: false)
  }

  private func backoff(_ facts: ConnectionFacts) -> NextStep {
    if client.triesAfterEveryError { return delayed(facts, restarting: false) }
    if facts.timeout == nil, let failure = failure(of: facts) {
      switch failure.kind {
      case .http4xx where client.givesUpOnRefusal, .http429 where client.givesUpOnRefusal:
        return .fail(failure.kind, failure.detail)
      case .http4xx where facts.status != 408, .http3xx, .redirectLoop, .contentType, .unsupportedEncoding, .tls,
        .protocolError, .tooLarge, .parse:
        return .fail(failure.kind, failure.detail)
      default: break
      }
    }
    return delayed(facts, restarting: false)
  }

  /// For APIs that cannot resume: once more from the start.
  private func restartOr(_ failure: NextStep, _ facts: ConnectionFacts) -> NextStep {
    guard policy == .restart, case .fail(let kind, _) = failure else { return failure }
    if client.triesAfterEveryError { return delayed(facts, restarting: true) }
    switch kind {
    case .http4xx where client.givesUpOnRefusal, .http429 where client.givesUpOnRefusal: return failure
    case .http4xx where facts.status != 408, .http3xx, .redirectLoop, .contentType, .unsupportedEncoding, .tls,
      .protocolError, .tooLarge, .parse, .dns:
      return failure
    default: return delayed(facts, restarting: true)
    }
  }

  /// base · factor^tries, at most cap; `retry` of the stream takes the place of base, `Retry-After` is the least.
  private func delayed(_ facts: ConnectionFacts, restarting: Bool) -> NextStep {
    if facts.tries >= reconnect.tries ?? 5 { return exhausted(facts) }
    let base = facts.serverRetry >= 0 ? Double(facts.serverRetry) * 1e6 : Double(reconnect.base.value)
    let grown = min(base * Maths.pow(reconnect.factor, Double(facts.tries)), Double(max(reconnect.cap.value, 0)))
    var delay = jittered(clamped(Int64(min(grown, 9e18))), facts, share: reconnect.jitter ?? 0.5, upwards: false)
    if facts.status == 429 || facts.status == 503, !client.ignoresRetryAfter, let asked = RetryAfter.nanoseconds(facts.retryAfter) {
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

  private func clamped(_ delay: Int64) -> Int64 { min(max(delay, 0), reconnect.longest.value) }

  /// Adds up to `share` of the delay (whatwg: never earlier than asked), or takes it away (backoff).
  private func jittered(_ delay: Int64, _ facts: ConnectionFacts, share: Double, upwards: Bool) -> Int64 {
    let part = Int64(Double(delay) * share * facts.random)
    return upwards ? delay + part : delay - part
  }
}

/// The field `Retry-After`: seconds; a date is not understood, since it needs a wall clock that agrees.
enum RetryAfter {
  static func nanoseconds(_ text: String?) -> Int64? {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.utf8.count < 10,
      let seconds = Int64(text)
    else { return nil }
    return seconds * 1_000_000_000
  }
}

/// The media type of a response, without parameters, in lower case (Fetch Standard, "extract a MIME type").
enum MediaType {
  static func essence(_ value: String) -> String {
    let essence = value.prefix { $0 != ";" }
    return essence.filter { $0 != " " && $0 != "\t" }.lowercased()
  }
}
