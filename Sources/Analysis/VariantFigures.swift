// One variant's record becomes its figures: the objects under `variants` in `summary.json`. What was not measured is
// null, never 0.

package import Primitives
package import Recording

extension VariantRecord {
  /// Whether a latency has no meaning in this variant and stands as null: no tokens without a decoder, no ground truth
  /// without the mock.
  func hides(_ metric: Metric) -> Bool {
    switch metric {
    case .ttft, .firstOutput, .itl, .tpot, .maxGap, .scheduledTTFT, .scheduledFirstOutput: !tokensKnown
    case .delivery, .ttftError, .itlError, .mockPace: total[metric].count == 0
    default: false
    }
  }

  /// Whether what lay in one read tells of the path: a slow consumer lets tokens gather by itself.
  var readsTellOfThePath: Bool { client["consumer"]?["slow"] == nil }
}

package enum VariantFigures {
  /// The key path of a latency within a variant: `from_scheduled.ttft_ms`.
  package static func path(_ metric: Metric) -> String {
    switch metric.section {
    case .top: metric.key
    case .fromScheduled: "from_scheduled.\(metric.key)"
    case .instrument: "instrument.\(metric.key)"
    case .recovery: "recovery.\(metric.key)"
    case .cancel: "cancel.\(metric.key)"
    case .wukongim: "wukongim.\(metric.key)"
    }
  }

  package static func tree(_ variant: VariantRecord) -> JSONValue {
    let total = variant.total
    let counters = total.counters
    let seconds = variant.measuredSeconds

    var object = JSONObject([
      ("name", .string(variant.name)), ("client", variant.client), ("measured_s", Figure.real(seconds)),
      ("counts_from", .string(variant.countsFromRequestStart ? "request_start" : "request_sent")),
      (
        "sessions",
        .object([
          "planned": Figure.whole(variant.planned), "started": .integer(counters.started),
          "completed": .integer(counters.completed), "failed": .integer(counters.failed),
          "cancelled": .integer(counters.cancelled), "dropped": .integer(counters.dropped),
          "peak_live": .integer(variant.peakLive),
        ])
      ),
      ("errors", errors(total)),
      ("errors_ratio", Figure.real(Figure.ratio(counters.failed, counters.completed + counters.failed))),
      ("error_samples", samples(variant)),
    ])
    func rate(_ count: Int64) -> JSONValue { Figure.real(Figure.ratio(Double(count), seconds)) }
    object["events"] = .object([
      "count": .integer(counters.events), "per_s": rate(counters.events), "undecodable": .integer(counters.undecodable),
    ])
    object["tokens"] =
      variant.tokensKnown
      ? .object(["count": .integer(counters.tokens), "per_s": rate(counters.tokens), "source": source(counters)]) : .null
    object["bytes"] = .object(["count": .integer(counters.bytes), "per_s": rate(counters.bytes)])
    object["reads"] = .object([
      "count": .integer(counters.reads), "per_s": rate(counters.reads),
      "bytes_p50": total.readBytes.count > 0 ? .integer(total.readBytes.value(atQuantile: 0.5)) : .null,
      "events_per_read": Figure.real(Figure.ratio(counters.events, counters.reads)),
    ])
    object["connections"] = .object([
      "new": .integer(counters.newConnections), "reused": .integer(counters.reusedConnections),
      // Handshakes that took up an earlier TLS session; null where there was none of which it can be told.
      "tls_resumed": counters.resumedTLS + counters.fullTLS > 0 ? .integer(counters.resumedTLS) : .null,
    ])
    object["load"] = .object([
      "requested_rate_per_s": Figure.real(variant.requestedRate), "achieved_rate_per_s": Figure.real(variant.achievedRate),
      "requested_concurrency": Figure.whole(variant.requestedConcurrency),
      "steady_live_ratio": Figure.real(variant.steadyLiveRatio), "started_late": .integer(counters.startedLate),
    ])
    object["steady_state"] = variant.steadyState.map { steady in
      .object([
        "from_s": Figure.real(steady.from), "to_s": Figure.real(steady.to), "mean_live": Figure.real(steady.meanLive),
        "events_per_s": Figure.real(steady.eventsPerSecond),
      ])
    } ?? .null
    for metric in Metric.allCases where metric.section == .top { object[metric.key] = latency(metric, of: variant) }
    var scheduled = JSONObject()
    for metric in Metric.allCases where metric.section == .fromScheduled {
      scheduled[metric.key] = latency(metric, of: variant)
    }
    object["from_scheduled"] = .object(scheduled)
    object["goodput"] = goodput(variant)
    object["streaming"] = .object([
      "fake_ratio": variant.tokensKnown ? Figure.real(Figure.ratio(counters.fakeStreaming, counters.completed)) : .null,
      // Of the token-carrying events: those that came with others in one read.
      "burst_ratio": variant.tokensKnown && variant.readsTellOfThePath
        ? Figure.real(Figure.ratio(counters.burstTokens, counters.tokenEvents)) : .null,
      "stalls": .integer(counters.stalls),
      "tokens_per_event": variant.tokensKnown ? Figure.real(Figure.ratio(counters.tokens, counters.tokenEvents)) : .null,
    ])
    object["models"] = .object(
      JSONObject(variant.models.sorted { $0.key < $1.key }.map { ($0.key, .integer(Int64($0.value))) }))
    object["memory"] = memory(variant)
    object["recovery"] = recovery(variant)
    if counters.cancelled > 0 || total[.cancelToClose].count > 0 {
      object["cancel"] = .object([
        "tokens_after_cancel": .integer(counters.tokensAfterCancel),
        Metric.cancelToClose.key: latency(.cancelToClose, of: variant),
      ])
    }
    if let counts = variant.wukongim {
      var figures = counts.json
      figures[Metric.append.key] = latency(.append, of: variant)
      figures[Metric.fanOut.key] = latency(.fanOut, of: variant)
      object["wukongim"] = .object(figures)
    }
    object["parser"] = parser(variant)
    object["instrument"] = instrument(variant)
    return .object(object)
  }

  private static func latency(_ metric: Metric, of variant: VariantRecord) -> JSONValue {
    variant.hides(metric) ? .null : Figure.latency(variant.total[metric])
  }

  private static func errors(_ total: IntervalRecord) -> JSONValue {
    .object(JSONObject(SessionErrorKind.allCases.map { ($0.word, .integer(total.errors[Int($0.rawValue)])) }))
  }

  private static func samples(_ variant: VariantRecord) -> JSONValue {
    var object = JSONObject()
    for kind in SessionErrorKind.allCases {
      if let texts = variant.errorSamples[kind], !texts.isEmpty {
        object[kind.word] = .array(texts.prefix(3).map { .string($0) })
      }
    }
    return .object(object)
  }

  private static func source(_ counters: Counters) -> JSONValue {
    switch (counters.tokensFromUsage > 0, counters.tokensFromEvents > 0) {
    case (true, true): .string("mixed")
    case (true, false): .string("usage")
    case (false, true): .string("events")
    case (false, false): .null
    }
  }

  private static func goodput(_ variant: VariantRecord) -> JSONValue {
    let counters = variant.total.counters
    guard variant.hasSLO else { return .object(["sessions_per_s": .null, "ratio": .null]) }
    return .object([
      "sessions_per_s": Figure.real(Figure.ratio(Double(counters.good), variant.measuredSeconds)),
      "ratio": Figure.real(Figure.ratio(counters.good, counters.started - counters.cancelledAtEnd)),
    ])
  }

  private static func memory(_ variant: VariantRecord) -> JSONValue {
    guard let memory = variant.memory else {
      return variant.memoryAbsentBecause.map { .object(["absent_because": .string($0)]) } ?? .null
    }
    var flat: Bool?
    var growth: Bool?
    var interval = JSONValue.null
    if let low = memory.slopeLow, let high = memory.slopeHigh {
      flat = low <= 0 && high >= 0 && low >= -1 && high <= 1
      growth = low > 0
      interval = .array([Figure.real(low), Figure.real(high)])
    }
    return .object([
      "per_session_bytes": Figure.real(memory.perSessionBytes),
      "per_session_absent_because": Figure.word(memory.perSessionAbsentBecause),
      "slope_bytes_per_token": Figure.real(memory.slopeBytesPerToken), "ci95": interval, "flat": Figure.yes(flat),
      "growth": Figure.yes(growth), "allocations_per_event": Figure.real(memory.allocationsPerEvent),
      "slope_absent_because": Figure.word(memory.slopeBytesPerToken == nil ? memory.slopeAbsentBecause : nil),
      "allocated_bytes_per_event": Figure.real(memory.allocatedBytesPerEvent),
      // Whose allocations the two figures above are.
      "allocations_of": Figure.word(memory.countsWholeProcess.map { $0 ? "process" : "workers" }),
      "peak_allocated_bytes": Figure.whole(memory.peakAllocatedBytes),
      "peak_rss_bytes": Figure.whole(memory.peakRSSBytes),
      "after_teardown_bytes": Figure.whole(memory.afterTeardownBytes), "idle_bytes": Figure.whole(memory.idleBytes),
      "samples": .integer(memory.samples), "sampling_cpu_ratio": Figure.real(samplingShare(variant)),
      "absent_because": Figure.word(variant.memoryAbsentBecause),
    ])
  }

  /// The share of the client's CPU time that went into reading its memory.
  private static func samplingShare(_ variant: VariantRecord) -> Double? {
    guard let seconds = variant.memory?.samplingCPUSeconds, variant.instrument.cpuSeconds > 0 else { return nil }
    return seconds / variant.instrument.cpuSeconds
  }

  private static func recovery(_ variant: VariantRecord) -> JSONValue {
    guard variant.hasLedger else { return .null }
    let counters = variant.total.counters
    // What nobody could count is not 0.
    func counted(_ count: Int64) -> JSONValue { variant.knowsWhatWasLost ? .integer(count) : .null }
    var object = JSONObject([
      ("disconnects", .integer(counters.disconnects)), ("reconnects", .integer(counters.reconnects)),
      ("recovered", .integer(counters.recovered)), ("never_recovered", .integer(counters.neverRecovered)),
      ("expected", counted(counters.expected)),
      ("delivered", counted(counters.delivered)), ("lost", counted(counters.lost)),
      ("undelivered", counted(counters.undelivered)), ("duplicated", counted(counters.duplicated)),
      ("reordered", counted(counters.reordered)), ("corrupted", counted(counters.corrupted)),
      ("unnumbered", .integer(counters.unnumbered)),
      ("restarted_tokens", .integer(counters.restartedTokens)),
    ])
    for metric in Metric.allCases where metric.section == .recovery { object[metric.key] = latency(metric, of: variant) }
    object["worst_sessions"] = .array(
      variant.worst.all.map { session in
        guard case .object(var row) = session.json else { return session.json }
        row["why"] = .string(session.why)
        return .object(row)
      })
    object["storm_size"] = variant.stormSpread == nil ? .null : .integer(variant.stormSize)
    object["storm_spread_ms"] = Figure.milliseconds(variant.stormSpread.map(Double.init))
    return .object(object)
  }

  private static func parser(_ variant: VariantRecord) -> JSONValue {
    let counters = variant.total.counters
    // CPU time of the worker's thread, not wall time: a busy machine does not make a parser dearer.
    let cost = Double(counters.sampledParseNanoseconds)
    return .object([
      "cpu_ns_per_event": Figure.real(Figure.ratio(cost, Double(counters.sampledEvents))),
      "bytes_per_cpu_s": Figure.real(Figure.ratio(Double(counters.sampledBytes), cost / 1e9)),
      "allocations_per_event": Figure.real(variant.parserAllocationsPerEvent),
      "odd_streams_ratio": Figure.real(variant.oddStreamsRatio),
    ])
  }

  private static func instrument(_ variant: VariantRecord) -> JSONValue {
    let instrument = variant.instrument
    var object = JSONObject()
    for metric in [Metric.loopIteration, .callbackDwell] { object[metric.key] = latency(metric, of: variant) }
    object["run_queue_wait_ratio"] = Figure.real(instrument.runQueueWaitRatio)
    object["cpu_ratio"] = Figure.real(Figure.ratio(instrument.cpuSeconds, variant.measuredSeconds))
    object["cpu_s_per_million_events"] = Figure.real(
      Figure.ratio(instrument.cpuSeconds * 1e6, Double(variant.total.counters.events)))
    object["busiest_worker_ratio"] = Figure.real(instrument.busiestWorkerRatio)
    object["workers"] = Figure.whole(instrument.workers)
    object["realtime"] = .bool(instrument.realtime)
    object["receive_queue_bytes"] = Figure.whole(instrument.receiveQueueBytes)
    object["bottleneck"] = Figure.word(Warnings.bottleneck(variant))
    for metric in [Metric.ttftError, .itlError, .mockPace] { object[metric.key] = latency(metric, of: variant) }
    object["mock"] =
      instrument.mockCPUSeconds == nil && instrument.mockEvents == nil
      ? .null
      : .object([
        "cpu_s": Figure.real(instrument.mockCPUSeconds), "events": Figure.whole(instrument.mockEvents),
        "run_queue_wait_ratio": Figure.real(instrument.mockRunQueueWaitRatio),
      ])
    return .object(object)
  }
}

extension VariantRecord {
  /// Whether events had numbers to count by.
  var knowsWhatWasLost: Bool {
    let counters = total.counters
    switch numbering {
    case .none: return false
    case .known: return true
    case .rule:
      let counted = counters.delivered + counters.duplicated
      return counted > 0 ? counters.unnumbered * 20 <= counted : counters.events == 0
    }
  }
}
