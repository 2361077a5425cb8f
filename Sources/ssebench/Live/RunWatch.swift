// The figures of a run while it goes on, once a second: a snapshot for the dashboard, a text for Prometheus.

import Foundation
import Primitives
import Recording

final class RunWatch: RunObserver {
  private let name: String
  private let api: String
  private let dashboard: LiveServer?
  private let metrics: LiveServer?
  private var text = PrometheusText()
  let wantsEnd = false

  init(name: String, api: String, dashboard: LiveServer?, metrics: LiveServer?) {
    self.name = name
    self.api = api
    self.dashboard = dashboard
    self.metrics = metrics
    dashboard?.set("/", .init(type: "text/html", text: DashboardPage.html))
    dashboard?.enableStream()
    metrics?.set("/metrics", .init(type: PrometheusText.type, text: text.text(run: name, api: api)))
    dashboard?.publish(JSONValue.object(["name": .string(name)]).text(), event: "run")
  }

  func second(_ row: TimeSeriesRow, variant: VariantRecord, record: IntervalRecord) {
    dashboard?.publish(snapshot(row, variant, record).text())
    if let metrics {
      text.take(row, variant)
      metrics.set("/metrics", .init(type: PrometheusText.type, text: text.text(run: name, api: api)))
    }
  }

  func session(_ record: SessionRecord) {}
  func disconnected(_ record: DisconnectRecord) {}

  /// The last words of the run; servers are closed by their owner.
  func ended(verdict: String) {
    dashboard?.publish(JSONValue.object(["verdict": .string(verdict)]).text(), event: "end")
  }

  private func snapshot(_ row: TimeSeriesRow, _ variant: VariantRecord, _ record: IntervalRecord) -> JSONValue {
    let counters = variant.total.counters
    func milliseconds(_ histogram: Histogram, _ quantile: Double) -> JSONValue {
      histogram.count > 0 ? .number((Double(histogram.value(atQuantile: quantile)) / 1e3).rounded() / 1e3) : .null
    }
    func known(_ value: Int64) -> JSONValue { value >= 0 ? .integer(value) : .null }
    var errors = JSONObject()
    for kind in SessionErrorKind.allCases where variant.total.errors[Int(kind.rawValue)] > 0 {
      errors[kind.word] = .integer(variant.total.errors[Int(kind.rawValue)])
    }
    let total = variant.total[.ttft]
    return .object([
      "t_s": .number((row.time * 1e3).rounded() / 1e3), "variant": .string(variant.name),
      "repetition": .integer(Int64(row.repetition)), "live": .integer(row.live),
      "planned": variant.planned.map { .integer(Int64($0)) } ?? .null, "started": .integer(counters.started),
      "completed": .integer(counters.completed), "failed": .integer(counters.failed),
      "cancelled": .integer(counters.cancelled), "events": .integer(counters.events),
      "events_per_s": .integer(row.events), "tokens_per_s": .integer(row.tokens), "bytes_per_s": .integer(row.bytes),
      "ttft_ms": .object([
        "p50": milliseconds(record[.ttft], 0.5), "p99": milliseconds(record[.ttft], 0.99),
        "total_p50": milliseconds(total, 0.5), "total_p90": milliseconds(total, 0.9),
        "total_p99": milliseconds(total, 0.99),
      ]),
      "itl_ms": .object(["p50": milliseconds(record[.itl], 0.5), "p99": milliseconds(record[.itl], 0.99)]),
      "errors": .object(errors), "reconnects": .integer(counters.reconnects),
      "cpu_ratio": .number((row.cpu * 1e4).rounded() / 1e4), "resident_bytes": known(row.residentBytes),
      "allocated_bytes": known(row.allocatedBytes),
    ])
  }
}
