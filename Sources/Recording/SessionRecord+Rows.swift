// A session becomes a row of `sessions.csv` and back. Instants are nanoseconds after the run's start.

extension SessionRecord {
  /// The first line of `sessions.csv`.
  package static let csvHeader = """
    variant,repetition,session,worker,outcome,error,counted,http_status,scheduled_start_ns,request_start_ns,\
    request_sent_ns,first_byte_ns,first_event_ns,first_token_ns,first_output_ns,last_token_ns,end_ns,connect_ns,tls_ns,\
    max_gap_ns,stalls,events,token_events,tokens,token_source,bytes,reads,largest_burst,reconnects,disconnects,expected,\
    delivered,lost,undelivered,duplicated,reordered,corrupted,restarted_tokens,tokens_after_cancel,cancel_to_close_ns,\
    met_slo,fake_streaming

    """

  package func csvLine(variantName: String) -> String {
    var line = CSV.text(variantName)
    func add(_ field: String) {
      line += ","
      line += field
    }
    add(String(repetition))
    add(String(session))
    add(String(worker))
    add(outcome.word)
    add(error?.word ?? "")
    add(isCounted ? "1" : "0")
    add(httpStatus > 0 ? String(httpStatus) : "")
    for instant in [
      scheduledStart, requestStart, requestSent, firstByte, firstEvent, firstToken, firstOutput, lastToken, end, connect,
      tls, maxGap,
    ] { add(CSV.known(instant)) }
    add(String(stalls))
    add(String(events))
    add(String(tokenEvents))
    add(String(tokens))
    add(tokenSource.word)
    for count in [bytes, reads, largestBurst] { add(String(count)) }
    add(String(reconnects))
    add(String(disconnects))
    add(CSV.known(expected))
    for count in [delivered, lost, undelivered, duplicated, reordered, corrupted, restartedTokens, tokensAfterCancel] {
      add(String(count))
    }
    add(CSV.known(cancelToClose))
    add(metSLO.map { $0 ? "1" : "0" } ?? "")
    add(isFakeStreaming ? "1" : "0")
    return line + "\n"
  }

  /// Reads a row back; nil where it is cut short or names no outcome we know. `variant` is left 0: the name is the key.
  package init?(fields: [String], columns: CSVColumns) {
    guard fields.count == columns.names.count, let word = columns.text("outcome", in: fields),
      let outcome = SessionOutcome.allCases.first(where: { $0.word == word })
    else { return nil }
    self.init()
    self.outcome = outcome
    func integer(_ name: String) -> Int64 { columns.integer(name, in: fields) }
    func count(_ name: String) -> Int64 { max(0, columns.integer(name, in: fields)) }
    func small(_ name: String) -> Int32 { Int32(clamping: count(name)) }
    if let kind = columns.text("error", in: fields), !kind.isEmpty {
      error = SessionErrorKind.allCases.first { $0.word == kind }
    }
    repetition = small("repetition")
    session = count("session")
    worker = small("worker")
    isCounted = columns.text("counted", in: fields) != "0"
    httpStatus = small("http_status")
    scheduledStart = integer("scheduled_start_ns")
    requestStart = integer("request_start_ns")
    requestSent = integer("request_sent_ns")
    firstByte = integer("first_byte_ns")
    firstEvent = integer("first_event_ns")
    firstToken = integer("first_token_ns")
    firstOutput = integer("first_output_ns")
    lastToken = integer("last_token_ns")
    end = integer("end_ns")
    connect = integer("connect_ns")
    tls = integer("tls_ns")
    maxGap = integer("max_gap_ns")
    stalls = small("stalls")
    events = count("events")
    tokenEvents = count("token_events")
    tokens = count("tokens")
    tokenSource = TokenSource.allCases.first { $0.word == columns.text("token_source", in: fields) } ?? .none
    bytes = count("bytes")
    reads = count("reads")
    largestBurst = count("largest_burst")
    reconnects = small("reconnects")
    disconnects = small("disconnects")
    expected = integer("expected")
    delivered = count("delivered")
    lost = count("lost")
    undelivered = count("undelivered")
    duplicated = count("duplicated")
    reordered = count("reordered")
    corrupted = count("corrupted")
    restartedTokens = count("restarted_tokens")
    tokensAfterCancel = count("tokens_after_cancel")
    cancelToClose = integer("cancel_to_close_ns")
    switch columns.text("met_slo", in: fields) {
    case "1": metSLO = true
    case "0": metSLO = false
    default: metSLO = nil
    }
    isFakeStreaming = columns.text("fake_streaming", in: fields) == "1"
  }
}

extension TokenSource: CaseIterable {
  package static let allCases: [TokenSource] = [.none, .usage, .events]

  package var word: String {
    switch self {
    case .none: ""
    case .usage: "usage"
    case .events: "events"
    }
  }
}
