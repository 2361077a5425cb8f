// What the mock did, in counts, and how late it was against its own schedule. One owner, no lock.

internal import Primitives
internal import Recording
internal import Scenarios

struct MockCounters: ~Copyable {
  var events: Int64 = 0
  var writes: Int64 = 0
  /// Connections accepted.
  var connections: Int64 = 0
  var active: Int64 = 0
  var maximumActive: Int64 = 0
  var requests: Int64 = 0
  /// Requests answered with a 4xx of the mock's own.
  var refused: Int64 = 0
  var streams: Int64 = 0
  var bytes: Int64 = 0
  /// Events that waited for a reader that was slower than the schedule.
  var blockedEvents: Int64 = 0
  var faults = [Int64](repeating: 0, count: FaultKind.allCases.count)
  var lost: Int64 = 0
  var duplicated: Int64 = 0
  var swapped: Int64 = 0
  var corrupted: Int64 = 0
  var foreign: Int64 = 0
  /// Due → stamp, of events whose reader kept up.
  let pace = Histogram()

  mutating func count(_ kind: FaultKind) {
    if let index = FaultKind.allCases.firstIndex(of: kind) { faults[index] += 1 }
  }

  /// The object of the `stats` answer.
  func json() -> JSONValue {
    var kinds = JSONObject()
    for (kind, count) in zip(FaultKind.allCases, faults) where count > 0 {
      kinds[kind.rawValue] = .integer(count)
    }
    var sparse: [JSONValue] = []
    if pace.count > 0 {
      for index in 0..<Histogram.size where pace.count(at: index) > 0 {
        sparse.append(.array([.integer(Int64(index)), .integer(pace.count(at: index))]))
      }
    }
    return .object([
      "cpu_s": .number(SocketCalls.processorSeconds()),
      "run_queue_wait_s": SocketCalls.runQueueWaitSeconds().map { .number($0) } ?? .null,
      "events": .integer(events), "writes": .integer(writes), "connections": .integer(connections),
      "active": .integer(active), "max_active": .integer(maximumActive), "requests": .integer(requests),
      "refused": .integer(refused), "streams": .integer(streams), "bytes": .integer(bytes),
      "blocked_events": .integer(blockedEvents), "faults": .object(kinds), "lost_injected": .integer(lost),
      "duplicated_injected": .integer(duplicated), "swapped_injected": .integer(swapped),
      "corrupted_injected": .integer(corrupted), "foreign_injected": .integer(foreign),
      "pace": .object([
        "count": .integer(pace.count), "sum_ns": .number(pace.sum), "max_ns": .integer(pace.largest),
        "counts": .array(sparse),
      ]),
    ])
  }

  /// The same as Prometheus text, version 0.0.4.
  func prometheus() -> String {
    var text = ""
    func line(_ name: String, _ kind: String, _ help: String, _ value: some CustomStringConvertible) {
      text +=
        "# HELP ssebench_mock_\(name) \(help)\n# TYPE ssebench_mock_\(name) \(kind)\nssebench_mock_\(name) \(value)\n"
    }
    line("events_total", "counter", "Events written.", events)
    line("writes_total", "counter", "Calls that wrote to a socket.", writes)
    line("bytes_total", "counter", "Bytes written to sockets.", bytes)
    line("connections_total", "counter", "Connections accepted.", connections)
    line("connections_active", "gauge", "Connections open now.", active)
    line("requests_total", "counter", "Requests read.", requests)
    line("requests_refused_total", "counter", "Requests answered with an error of the mock's own.", refused)
    line("streams_total", "counter", "Streams begun.", streams)
    line("events_blocked_total", "counter", "Events that waited for a slow reader.", blockedEvents)
    line("cpu_seconds_total", "counter", "CPU time of the process.", SocketCalls.processorSeconds())
    text += "# HELP ssebench_mock_faults_total Faults injected.\n# TYPE ssebench_mock_faults_total counter\n"
    for (kind, count) in zip(FaultKind.allCases, faults) {
      text += "ssebench_mock_faults_total{kind=\"\(kind.rawValue)\"} \(count)\n"
    }
    text +=
      "# HELP ssebench_mock_pace_seconds Due time to send time of an event.\n# TYPE ssebench_mock_pace_seconds summary\n"
    for quantile in [0.5, 0.9, 0.99, 0.999] {
      text +=
        "ssebench_mock_pace_seconds{quantile=\"\(quantile)\"} \(Double(pace.value(atQuantile: quantile)) / 1e9)\n"
    }
    return text
      + "ssebench_mock_pace_seconds_sum \(pace.sum / 1e9)\nssebench_mock_pace_seconds_count \(pace.count)\n"
  }
}
