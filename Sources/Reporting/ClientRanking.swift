// Which of the clients compared costs least: the variants of a run in the order of what an event costs them, with what else tells clients
// apart. For both reports.

internal import Analysis
internal import Primitives

struct ClientRanking {
  static let columns = [
    "place", "variant", "CPU, µs an event", "bytes a session", "allocations an event", "TTFT added, ms p50",
    "events lost / doubled / damaged", "odd streams read otherwise",
  ]
  static let note = """
    By CPU time of the whole client process for each event. TTFT added is the error of TTFT against the mock's own send times. Odd streams: of 1,000 \
    small streams made of what parsers stumble over, the share of which the parser mode makes other events than the standard.
    """

  /// A cell for each column; empty where there is nothing to rank: fewer than two variants, or the same client in all.
  private(set) var rows: [[String]] = []

  init(_ summary: Summary) {
    let clients = summary.variants.map { $0["client"] ?? .null }
    guard clients.count > 1, clients.contains(where: { $0 != clients[0] }) else { return }
    let costs = summary.variants.map { MarkdownReport.value($0, "instrument.cpu_s_per_million_events")?.asDouble }
    guard costs.contains(where: { $0 != nil }) else { return }
    let order = costs.indices.sorted { (costs[$0] ?? .infinity, $0) < (costs[$1] ?? .infinity, $1) }
    rows = order.enumerated().map { place, index in
      let variant = summary.variants[index]
      func number(_ key: String) -> JSONValue? { MarkdownReport.value(variant, key) }
      let faults = ["lost", "duplicated", "corrupted"].map { Number.text(number("recovery.\($0)")) }
      return [
        String(place + 1), variant["name"]?.asString ?? "", Number.text(costs[index].map { .number($0) }),
        Number.text(number("memory.per_session_bytes")),
        Number.text(number("memory.allocations_per_event")), Number.text(number("instrument.ttft_error_ms.p50")),
        faults.joined(separator: " / "), Number.text(number("parser.odd_streams_ratio")),
      ]
    }
  }
}
