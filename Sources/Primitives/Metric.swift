// The catalogue of latencies: key, definition and what rivals call the same thing. Scenarios (gates), the engine
// (recording), analysis and reports all read this one list.

/// One distribution that a run records. The raw value is its place in a recorder's array of histograms.
package enum Metric: Int, CaseIterable, Sendable {
  case sendLag, connect, tls
  case ttfb, firstEvent, ttft, firstOutput, eventGap, itl, tpot, e2e, maxGap, delivery
  case scheduledTTFB, scheduledFirstEvent, scheduledTTFT, scheduledFirstOutput, scheduledE2E
  case loopIteration, callbackDwell, ttftError, itlError, mockPace
  case recoveryTime, recoveryDelay, recoveryConnect, recoveryFirstByte, recoveryReplay
  case cancelToClose
  case append, fanOut

  /// Where a metric's figures stand within a variant of `summary.json`.
  package enum Section: Sendable { case top, fromScheduled, instrument, recovery, cancel, wukongim }

  /// The key in `summary.json`, with its unit.
  package var key: String { entry.key }
  package var section: Section { entry.section }
  /// From which instant to which, in one sentence.
  package var definition: String { entry.definition }

  private var entry: (key: String, section: Section, definition: String) {
    switch self {
    case .sendLag: ("send_lag_ms", .top, "scheduled start → request handed to the transport")
    case .connect: ("connect_ms", .top, "start of the connection → connected, name lookup and a proxy's answer to CONNECT included; new connections only")
    case .tls: ("tls_ms", .top, "connected → TLS handshake done; new connections only")
    case .ttfb: ("ttfb_ms", .top, "request sent → first byte of the body")
    case .firstEvent: ("first_event_ms", .top, "request sent → first event of any kind")
    case .ttft:
      ("ttft_ms", .top, "request sent → first event with content, reasoning or tool arguments that are not empty")
    case .firstOutput: ("first_output_ms", .top, "request sent → first event with visible content")
    case .eventGap: ("event_gap_ms", .top, "between any two events of a session")
    case .itl: ("itl_ms", .top, "between two token-carrying events of a session, raw")
    case .tpot:
      ("tpot_ms", .top, "(last token-carrying event − first) ÷ (output tokens − 1), one value a session")
    case .e2e: ("e2e_ms", .top, "request sent → end marker of the stream; complete sessions only")
    case .maxGap: ("max_gap_ms", .top, "longest gap between two token-carrying events, one value a session")
    case .delivery: ("delivery_ms", .top, "the mock's send stamp → receive time, on one host's monotonic clock")
    case .scheduledTTFB: ("ttfb_ms", .fromScheduled, "scheduled start → first byte of the body")
    case .scheduledFirstEvent: ("first_event_ms", .fromScheduled, "scheduled start → first event of any kind")
    case .scheduledTTFT: ("ttft_ms", .fromScheduled, "scheduled start → first token-carrying event")
    case .scheduledFirstOutput: ("first_output_ms", .fromScheduled, "scheduled start → first visible content")
    case .scheduledE2E: ("e2e_ms", .fromScheduled, "scheduled start → end marker of the stream")
    case .loopIteration:
      ("loop_iteration_ms", .instrument, "one turn of a worker's loop: from waking up to waiting again")
    case .callbackDwell: ("callback_dwell_ms", .instrument, "a read's arrival time → its events recorded")
    case .ttftError:
      ("ttft_error_ms", .instrument, "|measured TTFT − (mock's stamp of the first token − request sent)|")
    case .itlError: ("itl_error_ms", .instrument, "|measured gap − gap of the mock's stamps|")
    case .mockPace: ("mock_pace_ms", .instrument, "time an event was due at the mock → its stamp right before the write")
    case .recoveryTime: ("time_ms", .recovery, "loss of a connection detected → first new event")
    case .recoveryDelay: ("delay_ms", .recovery, "loss detected → reconnect attempt that succeeded begins")
    case .recoveryConnect: ("connect_ms", .recovery, "successful attempt begins → request sent")
    case .recoveryFirstByte: ("first_byte_ms", .recovery, "request sent again → first byte of the body")
    case .recoveryReplay: ("replay_ms", .recovery, "first byte after a reconnect → first new event")
    case .cancelToClose: ("cancel_to_close_ms", .cancel, "cancellation decided → socket closed")
    case .append: ("append_ms", .wukongim, "message event posted → accepted by the server")
    case .fanOut: ("fan_out_ms", .wukongim, "message event posted → seen by a reader")
    }
  }

  /// What other tools call the same figure, or one near to it; the note says what differs.
  package static let namesElsewhere: [(metric: Metric, tool: String, name: String, isSame: Bool, note: String)] = [
    (.itl, "vLLM bench serve", "ITL", true, "pooled raw gaps between chunks"),
    (.itl, "evalscope perf", "ITL", true, "pooled raw gaps between chunks"),
    (.itl, "AIPerf", "inter chunk latency (ICL)", true, "pooled raw gaps between chunks"),
    (.itl, "SGLang bench_serving", "ITL", false, "a chunk's gap is shared out over its tokens"),
    (.tpot, "GuideLLM", "ITL", true, "(tn − t1) ÷ (n − 1), one average a request"),
    (.tpot, "AIPerf", "inter token latency (ITL)", true, "one average a request, which hides stalls"),
    (.tpot, "vLLM bench serve", "TPOT", false, "(latency − TTFT) ÷ (n − 1): ends at the end of the stream, ours at the last token"),
    (.tpot, "MLPerf loadgen, inference-perf", "TPOT", false, "(latency − TTFT) ÷ (n − 1), likewise"),
    (.tpot, "GuideLLM", "TPOT", false, "(tn − t0) ÷ n: the first token's wait is in it, so it is higher"),
    (.tpot, "inference-perf", "NTPOT", false, "latency ÷ n: the first token's wait is in it"),
    (.ttft, "AIPerf", "TTFT", true, "first response with content"),
    (.ttft, "GuideLLM", "TTFT", true, "first content or reasoning delta; wall clock"),
    (.firstEvent, "vLLM bench serve, evalscope", "TTFT", true, "first chunk with choices, even role-only"),
    (.firstOutput, "AIPerf", "TTFO", true, "first token that is not reasoning"),
    (.e2e, "vLLM bench serve", "E2EL", false, "ends at the last chunk; ours at the end marker"),
    (.e2e, "AIPerf", "request latency", false, "ends at the last response with content; ours at the end marker"),
    (.scheduledE2E, "MLPerf loadgen", "latency", true, "from the scheduled time"),
    (.sendLag, "AIPerf", "schedule lag", true, "shown beside the latencies; ours is in from_scheduled too"),
  ]
}
