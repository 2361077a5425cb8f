// A record becomes its doubts: what in these figures not to believe, and what to do about it.

internal import Primitives
package import Recording

package enum Warnings {
  /// All warnings of a run, those that make it invalid first; the engine's own are among them.
  package static func of(_ record: RunRecord) -> [RunWarning] {
    var found = record.warnings
    for variant in record.variants where !variant.isProbe {
      func add(_ code: String, _ message: String, _ hint: String) {
        let place = record.variants.count > 1 ? "\(variant.name): " : ""
        found.append(RunWarning(code: code, message: place + message, hint: hint, variant: variant.name))
      }
      ownLoad(variant, add)
      load(record, variant, add)
      outcomes(variant, add)
      streams(variant, add)
      samples(variant, add)
    }
    if record.build == "debug" {
      found.append(
        RunWarning(
          code: "debug_build", message: "ssebench was built without optimisation, so its own cost is many times higher.",
          hint: "Build with `swift build -c release` and run again."))
    }
    if !record.missingShards.isEmpty {
      let names = record.missingShards.map(String.init).joined(separator: ", ")
      found.append(
        RunWarning(
          code: "shards_missing", message: "Shards \(names) of \(record.shard?.count ?? 0) are missing from this run.",
          hint: "Merge again with their folders, or run those shards again with --shard."))
    }
    var seen: [RunWarning] = []
    for warning in found where !seen.contains(warning) { seen.append(warning) }
    return seen.filter { Judgement.invalidating.contains($0.code) }
      + seen.filter { !Judgement.invalidating.contains($0.code) }
  }

  private typealias Add = (_ code: String, _ message: String, _ hint: String) -> Void

  /// `max(1 ms, 5 % of the smaller p50 of TTFT and ITL)`, in nanoseconds.
  package static func allowedLag(_ variant: VariantRecord) -> Double {
    let medians = [Metric.ttft, .itl].map { variant.total[$0] }.filter { $0.count > 0 }
      .map { Double($0.value(atQuantile: 0.5)) }
    return max(1e6, 0.05 * (medians.min() ?? 0))
  }

  /// Fewer readings of our own lag than this say nothing about its p99.
  private static let fewestLagReadings: Int64 = 100

  /// Why our client was the bottleneck, in a sentence; nil where it was not.
  package static func bottleneck(_ variant: VariantRecord) -> String? {
    let allowed = allowedLag(variant)
    let sources: [(Metric, String)] = [
      (.loopIteration, "turn of the event loop"), (.callbackDwell, "handling of a read"),
      (.itlError, "error of the gaps against the mock's send times"),
    ]
    var worst: (lag: Double, name: String)?
    for (metric, name) in sources where variant.total[metric].count >= fewestLagReadings {
      let lag = Double(variant.total[metric].value(atQuantile: 0.99))
      if lag > allowed, lag > worst?.lag ?? 0 { worst = (lag, name) }
    }
    if let worst {
      return "the client itself was late: the \(worst.name) took \(milliseconds(worst.lag)) ms at p99, and "
        + "\(milliseconds(allowed)) ms are allowed (the larger of 1 ms and 5 % of the p50 of TTFT or ITL)"
    }
    if variant.instrument.saturatedSeconds >= 3 {
      return "a worker of the client used over 90 % of its core for \(decimal(variant.instrument.saturatedSeconds)) s"
    }
    return nil
  }

  private static func ownLoad(_ variant: VariantRecord, _ add: Add) {
    if let sentence = bottleneck(variant) {
      add(
        "client_bottleneck", sentence.prefix(1).uppercased() + sentence.dropFirst() + ".",
        "Lower the load, add workers (`load.workers`), stop what else runs on this machine, or set "
          + "`measure.priority` to \"realtime\".")
    }
    if variant.countsFromRequestStart {
      add(
        "origin_request_start",
        "This client stack cannot see when the request is sent, so latencies count from the start of the request "
          + "and hold the connection's set-up.",
        "Compare these figures only with others from the same stack, or use the stack \"curl\".")
    }
  }

  private static func load(_ record: RunRecord, _ variant: VariantRecord, _ add: Add) {
    guard record.partialBecause == nil else { return }
    let counters = variant.total.counters
    if let planned = variant.planned, planned > 0, variant.requestedConcurrency == nil {
      let inTime = max(0, counters.started - counters.startedLate)
      if Double(inTime) < 0.99 * Double(planned) {
        add(
          "load_not_reached", "\(inTime) of \(planned) planned sessions started in time; 99 % are needed.",
          "Lower `load.rate`, raise `load.max_live`, or add workers: the load that you asked for was not applied.")
      }
    }
    if let wanted = variant.requestedConcurrency, let ratio = variant.steadyLiveRatio, ratio < 0.99 {
      add(
        "load_not_reached",
        "Only \(decimal(ratio)) of the \(wanted) places were taken in the steady state; 0.99 is needed.",
        "Lower `load.concurrency`, or raise the descriptor limit (`ulimit -n`): the load that you asked for was not applied.")
    }
    let pace = variant.total[.mockPace]
    let gap = Double(variant.total[.itl].count > 0 ? variant.total[.itl].value(atQuantile: 0.5) : 0)
    // Late by half a gap, events run into each other; an unpaced mock (gaps near 0) has no schedule to fall behind.
    if pace.count >= fewestLagReadings, gap > 0.1e6 {
      let late = Double(pace.value(atQuantile: 0.99))
      let allowed = max(1e6, 0.5 * gap)
      if late > allowed {
        add(
          "load_not_reached",
          "The mock fell behind its own schedule: \(milliseconds(late)) ms at p99, and \(milliseconds(allowed)) ms are allowed.",
          "Lower the load or add mock processes (`endpoint.mock.processes`).")
      }
    }
  }

  private static func outcomes(_ variant: VariantRecord, _ add: Add) {
    let total = variant.total
    if total.counters.failed > 0 {
      let kinds = SessionErrorKind.allCases.filter { total.errors[Int($0.rawValue)] > 0 }
        .map { "\($0.word) \(total.errors[Int($0.rawValue)])" }
      let kindText = kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"
      add(
        "errors_seen",
        "\(total.counters.failed) of \(total.counters.completed + total.counters.failed) sessions failed\(kindText).",
        "Look at `errors` and at the rows with outcome \"failed\" in sessions.csv; a gate such as `errors_ratio <= 0.001` would make such a run fail.")
    }
    let truncated = total.errors[Int(SessionErrorKind.truncated.rawValue)]
    if truncated > 0 {
      add(
        "truncated_streams", "\(truncated) streams ended without the end marker of their API.",
        "Users of these streams saw an answer cut short: look at proxies' time limits and at the server's log.")
    }
    if total.counters.undecodable > 0 {
      add(
        "undecodable", "\(total.counters.undecodable) events were not what their API sends, and count as no token.",
        "Look at one stream with `ssebench listen`, or record it and run `ssebench extract` over it.")
    }
    if let asked = variant.modelAsked {
      let others = variant.models.keys.filter { $0 != asked && !$0.hasPrefix(asked + "-") }.sorted()
      if !others.isEmpty {
        add(
          "model_mismatch", "The model asked for is \"\(asked)\"; \(others.map { "\"\($0)\"" }.joined(separator: ", ")) answered.",
          "Check `request.model` and the server's routing: the figures are those of the model that answered.")
      }
    }
  }

  private static func streams(_ variant: VariantRecord, _ add: Add) {
    if variant.readsTellOfThePath { buffering(variant, add) }
    if let spread = variant.stormSpread, variant.stormSize >= 10 {
      let delay = variant.total[.recoveryDelay]
      let allowed = max(0.25e9, 0.25 * Double(delay.count > 0 ? delay.value(atQuantile: 0.5) : 0))
      if Double(spread) < allowed {
        add(
          "herd",
          "\(variant.stormSize) clients lost their connection together and came back within \(milliseconds(Double(spread))) ms of each other.",
          "Spread them: reconnect with the policy \"backoff\" and jitter, or let the server send different `retry` values.")
      }
    }
    unnumbered(variant, add)
    if let low = variant.memory?.slopeLow, low > 0 {
      add(
        "memory_growth",
        "Memory grew with the tokens received: \(decimal(variant.memory?.slopeBytesPerToken ?? low)) bytes per token and "
          + "session, and at least \(decimal(low)).",
        "The client keeps something for each token; compare the consumers (`client.consumer`) and parsers.")
    }
  }

  /// Events that the ledger could not take.
  private static func unnumbered(_ variant: VariantRecord, _ add: Add) {
    let counters = variant.total.counters
    guard variant.numbering == .rule, !variant.knowsWhatWasLost || counters.unnumbered > 0 else { return }
    let which: String
    if counters.unnumbered == 0 {
      which = "No event carried a number where `verify` looks for it, so that it is not known what was lost or doubled."
    } else {
      which =
        "\(counters.unnumbered) of \(counters.events) events had something else than a usable number where `verify` looks for it"
        + (variant.knowsWhatWasLost ? "; they are in no count." : ", so that it is not known what was lost or doubled.")
    }
    add(
      "unnumbered", which,
      "Look at one event with `ssebench listen`, and say in `verify.sequence` where its number stands: a whole number that grows by 1.")
  }

  /// Tokens that come together: the path, or the server, holds them back.
  private static func buffering(_ variant: VariantRecord, _ add: Add) {
    let counters = variant.total.counters
    let bursts = Figure.ratio(counters.burstTokens, counters.tokenEvents) ?? 0
    if let fake = Figure.ratio(counters.fakeStreaming, counters.completed), fake > 0.1 {
      add(
        "buffered",
        "\(decimal(fake)) of the completed sessions came in one piece: over half of the tokens in one read, or TTFT "
          + "over 90 % of E2E; \(decimal(bursts)) of all tokens came with others in one read.",
        "Something between the model and here buffers. A proxy: switch its buffering off (nginx: `proxy_buffering off`, "
          + "or the header `X-Accel-Buffering: no`). gzip: leave `text/event-stream` out of what is compressed. "
          + "Or a server that sends all at the end: let it flush after each event.")
    } else if bursts > 0.5, pause(variant) >= fewestPause {
      add(
        "bursts",
        "\(decimal(bursts)) of the tokens came with others in one read, after pauses of \(milliseconds(pause(variant))) ms.",
        "Something sends tokens in bursts. Pauses of about 40 ms: Nagle's algorithm waits for a delayed ACK; set TCP_NODELAY "
          + "at the server and proxies (HAProxy: `option http-no-delay`). A proxy or gzip with a small buffer: switch it off "
          + "for `text/event-stream`. Or the server writes several tokens at a time.")
    }
  }

  /// Between bursts there is a pause, which a stream at full speed has not: the median of the sessions' longest gaps, in
  /// nanoseconds.
  private static func pause(_ variant: VariantRecord) -> Double {
    variant.total[.maxGap].count > 0 ? Double(variant.total[.maxGap].value(atQuantile: 0.5)) : 0
  }

  private static let fewestPause = 20e6

  /// One warning for each percentile that a sample cannot support, naming the figures concerned.
  private static func samples(_ variant: VariantRecord, _ add: Add) {
    for percentile in Percentile.allCases.reversed() {
      let short = Metric.allCases.filter { metric in
        guard [.top, .fromScheduled, .recovery].contains(metric.section), variant.hides(metric) == false else { return false }
        let count = variant.total[metric].count
        return count > 0 && !percentile.isSupported(by: count)
      }
      guard !short.isEmpty else { continue }
      let fewest = short.map { variant.total[$0].count }.min() ?? 0
      let most = short.map { variant.total[$0].count }.max() ?? 0
      // Keys of the same figure from both starts count once; three stand for all.
      var names: [String] = []
      for metric in short where !names.contains(metric.key) { names.append(metric.key) }
      names.sort { Self.prominence($0) < Self.prominence($1) }
      let listed = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " and \(names.count - 3) more" : "")
      let samples = fewest == most ? "\(fewest)" : "\(fewest) to \(most)"
      add(
        "sample_too_small",
        "\(percentile.name) needs \(percentile.minimumSamples) samples; \(listed) \(names.count == 1 ? "has" : "have") \(samples).",
        "Run at least \(percentile.minimumSamples) sessions, or leave \(percentile.name) out of your conclusions.")
    }
  }

  /// What people look at first stands first.
  private static func prominence(_ key: String) -> Int {
    ["ttft_ms", "itl_ms", "e2e_ms", "tpot_ms", "first_event_ms", "event_gap_ms"].firstIndex(of: key) ?? 99
  }

  private static func milliseconds(_ nanoseconds: Double) -> String { decimal(nanoseconds / 1e6) }

  private static func decimal(_ value: Double) -> String { Number.text(value) }
}
