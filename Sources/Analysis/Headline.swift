// A variant's figures become the five that matter most for what it measured. Reports of every form show these first.

package import Primitives

/// One figure for the first screen.
package struct Headline: Sendable, Equatable {
  package var label: String
  /// The value's text and its unit; "–" where it was not measured.
  package var value: String
  package var unit: String
  /// A second figure beneath it, with its name.
  package var detail: String
  /// The key path of `value` in the variant.
  package var key: String

  /// The five of one variant's tree.
  package static func five(_ variant: JSONValue) -> [Headline] {
    let hasRecovery = (variant["recovery"]?["disconnects"]?.asDouble ?? 0) > 0
    let hasSlope = variant["memory"]?["slope_bytes_per_token"]?.asDouble != nil
    let hasTokens = variant["ttft_ms"]?["count"]?.asDouble ?? 0 > 0
    var five = [sessions(variant)]
    if hasTokens {
      five.append(latency(variant, "ttft_ms", "Time to first token"))
    } else {
      five.append(latency(variant, "first_event_ms", "Time to first event"))
    }
    if hasRecovery {
      five.append(
        figure(
          variant, "Events lost", "recovery.lost", "",
          "duplicated \(Number.text(variant["recovery"]?["duplicated"])) of \(Number.text(variant["recovery"]?["expected"]))"))
      five.append(latency(variant, "recovery.time_ms", "Time to recover"))
    } else if hasTokens {
      five.append(latency(variant, "itl_ms", "Between tokens"))
      if !hasSlope { five.append(latency(variant, "e2e_ms", "Whole answer")) }
    } else {
      five.append(latency(variant, "event_gap_ms", "Between events"))
      if !hasSlope { five.append(latency(variant, "e2e_ms", "Whole stream")) }
    }
    if hasSlope {
      let interval = variant["memory"]?["ci95"]
      five.append(
        figure(
          variant, "Memory slope", "memory.slope_bytes_per_token", "B/token",
          "95 %: \(Number.text(interval?[0])) to \(Number.text(interval?[1]))"))
    }
    if hasTokens {
      five.append(
        figure(variant, "Tokens", "tokens.per_s", "per s", "\(Number.text(variant["tokens"]?["count"])) in all"))
    } else {
      five.append(
        figure(variant, "Events", "events.per_s", "per s", "\(Number.text(variant["events"]?["count"])) in all"))
    }
    return five
  }

  private static func sessions(_ variant: JSONValue) -> Headline {
    let sessions = variant["sessions"]
    let failed = sessions?["failed"]?.asInt ?? 0
    return Headline(
      label: "Sessions completed", value: Number.text(sessions?["completed"]), unit: "of \(Number.text(sessions?["started"]))",
      detail: failed == 0 ? "none failed" : "\(failed) failed", key: "sessions.completed")
  }

  private static func latency(_ variant: JSONValue, _ key: String, _ label: String) -> Headline {
    let path = key.split(separator: ".").map(String.init)
    let figures = path.reduce(Optional(variant)) { $0?[$1] }
    // The highest percentile that the sample supports stands beneath the median.
    let tail = ["p99", "p95", "p90"].first { figures?[$0]?.asDouble != nil }
    let detail = tail.map { "\($0) \(Number.text(figures?[$0])) ms" } ?? "max \(Number.text(figures?["max"])) ms"
    let median = figures?["p50"]?.asDouble != nil
    return Headline(
      label: label, value: Number.text(figures?[median ? "p50" : "mean"]), unit: median ? "ms p50" : "ms mean",
      detail: detail, key: median ? "\(key).p50" : "\(key).mean")
  }

  private static func figure(_ variant: JSONValue, _ label: String, _ key: String, _ unit: String, _ detail: String)
    -> Headline
  {
    let value = key.split(separator: ".").map(String.init).reduce(Optional(variant)) { $0?[$1] }
    return Headline(label: label, value: Number.text(value), unit: unit, detail: detail, key: key)
  }
}

/// A number of a summary as people read it: rounded, and never another number than the summary's.
package enum Number {
  /// Whole numbers as they are; others to four significant digits, at most six decimals; "–" for what is not known.
  package static func text(_ value: JSONValue?) -> String {
    switch value {
    case .integer(let whole)?: String(whole)
    case .number(let real)?: text(real)
    case .bool(let yes)?: yes ? "yes" : "no"
    default: "–"
    }
  }

  package static func text(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let size = abs(value)
    if size == 0 { return "0" }
    if size >= 1_000 { return decimal(value, places: 0) }
    var places = 3
    var limit = 1.0
    while size < limit && places < 6 {
      places += 1
      limit /= 10
    }
    if size >= 10 { places = size >= 100 ? 1 : 2 }
    return trimmed(decimal(value, places: places))
  }

  /// Exactly `places` decimals, half away from zero.
  package static func decimal(_ value: Double, places: Int) -> String {
    guard value.isFinite, abs(value) < 9e15 else { return "–" }
    let scale = (0..<places).reduce(1.0) { product, _ in product * 10 }
    let scaled = (abs(value) * scale).rounded()
    guard scaled < 9e18 else { return String(Int64(value)) }
    let digits = Int64(scaled)
    let sign = value < 0 && digits > 0 ? "-" : ""
    if places == 0 { return sign + String(digits) }
    let whole = digits / Int64(scale)
    let fraction = String(digits % Int64(scale))
    return "\(sign)\(whole).\(String(repeating: "0", count: places - fraction.utf8.count))\(fraction)"
  }

  private static func trimmed(_ text: String) -> String {
    guard text.contains(".") else { return text }
    var text = text
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text
  }
}
