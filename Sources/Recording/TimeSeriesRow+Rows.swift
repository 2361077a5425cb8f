// A second, a reading of memory and a disconnection become rows of `timeseries.csv`, `memory.csv` and `recovery.csv`,
// and back.

internal import Primitives

extension TimeSeriesRow {
  package static let csvHeader = """
    variant,repetition,time_s,wall_ms,started,live,completed,failed,events,tokens,bytes,cpu_ratio,resident_bytes,\
    allocated_bytes,ttft_p50_ms,ttft_p99_ms

    """

  package func csvLine(variantName: String) -> String {
    func milliseconds(_ value: Int64) -> String { value < 0 ? "" : JSONValue.numberText(Double(value) / 1e6) }
    let fields = [
      CSV.text(variantName), String(repetition), JSONValue.numberText((time * 1e3).rounded() / 1e3),
      String(wallMilliseconds), String(started), String(live), String(completed), String(failed), String(events),
      String(tokens), String(bytes), JSONValue.numberText((cpu * 1e4).rounded() / 1e4), CSV.known(residentBytes),
      CSV.known(allocatedBytes), milliseconds(ttftP50), milliseconds(ttftP99),
    ]
    return fields.joined(separator: ",") + "\n"
  }

  package init?(fields: [String], columns: CSVColumns) {
    guard fields.count == columns.names.count,
      let time = columns.text("time_s", in: fields).flatMap({ Double($0) })
    else { return nil }
    self.init()
    func count(_ name: String) -> Int64 { max(0, columns.integer(name, in: fields)) }
    func nanoseconds(_ name: String) -> Int64 {
      guard let value = columns.text(name, in: fields).flatMap({ Double($0) }), value >= 0, value < 1e12 else { return -1 }
      return Int64((value * 1e6).rounded())
    }
    self.time = time
    repetition = Int32(clamping: count("repetition"))
    wallMilliseconds = columns.integer("wall_ms", in: fields)
    started = count("started")
    live = count("live")
    completed = count("completed")
    failed = count("failed")
    events = count("events")
    tokens = count("tokens")
    bytes = count("bytes")
    cpu = columns.text("cpu_ratio", in: fields).flatMap { Double($0) } ?? 0
    residentBytes = columns.integer("resident_bytes", in: fields)
    allocatedBytes = columns.integer("allocated_bytes", in: fields)
    ttftP50 = nanoseconds("ttft_p50_ms")
    ttftP99 = nanoseconds("ttft_p99_ms")
  }
}

extension MemorySample {
  package static let csvHeader = """
    variant,repetition,time_ns,live,streaming,tokens,events,allocated_bytes,session_bytes,active_bytes,resident_bytes,retained_bytes,rss_bytes,\
    requests

    """

  package func csvLine(variantName: String) -> String {
    let fields = [
      CSV.text(variantName), String(repetition), String(time), String(live), CSV.known(streaming), String(tokens), String(events),
      CSV.known(allocated), CSV.known(sessionBytes), CSV.known(active), CSV.known(resident), CSV.known(retained), CSV.known(rss),
      CSV.known(requests),
    ]
    return fields.joined(separator: ",") + "\n"
  }

  package init?(fields: [String], columns: CSVColumns) {
    guard fields.count == columns.names.count, columns.integer("time_ns", in: fields) >= 0 else { return nil }
    self.init()
    func integer(_ name: String) -> Int64 { columns.integer(name, in: fields) }
    repetition = Int32(clamping: max(0, integer("repetition")))
    time = integer("time_ns")
    live = max(0, integer("live"))
    streaming = integer("streaming")
    tokens = max(0, integer("tokens"))
    events = max(0, integer("events"))
    allocated = integer("allocated_bytes")
    sessionBytes = integer("session_bytes")
    active = integer("active_bytes")
    resident = integer("resident_bytes")
    retained = integer("retained_bytes")
    rss = integer("rss_bytes")
    requests = integer("requests")
  }
}

extension DisconnectRecord {
  package static let csvHeader = """
    variant,repetition,session,number,cause,detected_ns,highest,last_event_id,delay_asked_ns,delay_taken_ns,attempts,\
    request_sent_ns,first_byte_ns,first_new_event_ns,replayed,first_attempt_ns

    """

  package func csvLine(variantName: String) -> String {
    let fields = [
      CSV.text(variantName), String(repetition), String(session), String(number), CSV.text(cause), CSV.known(detected),
      String(highest), CSV.text(lastEventID), CSV.known(delayAsked), CSV.known(delayTaken), String(attempts),
      CSV.known(requestSent), CSV.known(firstByte), CSV.known(firstNewEvent), String(replayed),
      CSV.known(firstAttempt),
    ]
    return fields.joined(separator: ",") + "\n"
  }

  package init?(fields: [String], columns: CSVColumns) {
    guard fields.count == columns.names.count else { return nil }
    self.init()
    func integer(_ name: String) -> Int64 { columns.integer(name, in: fields) }
    repetition = Int32(clamping: max(0, integer("repetition")))
    session = max(0, integer("session"))
    number = Int32(clamping: max(0, integer("number")))
    cause = CSV.original(columns.text("cause", in: fields) ?? "")
    detected = integer("detected_ns")
    highest = max(0, integer("highest"))
    lastEventID = CSV.original(columns.text("last_event_id", in: fields) ?? "")
    delayAsked = integer("delay_asked_ns")
    delayTaken = integer("delay_taken_ns")
    attempts = Int32(clamping: max(0, integer("attempts")))
    requestSent = integer("request_sent_ns")
    firstByte = integer("first_byte_ns")
    firstNewEvent = integer("first_new_event_ns")
    replayed = max(0, integer("replayed"))
    firstAttempt = integer("first_attempt_ns")
  }
}
