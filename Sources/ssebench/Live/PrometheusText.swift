// The figures so far in Prometheus' text format, version 0.0.4: our own names with their units, and beside them the
// names of OpenTelemetry's semantic conventions for GenAI clients where they mean the same.

import Foundation
import Primitives
import Recording

struct PrometheusText {
  static let type = "text/plain; version=0.0.4"

  private struct Entry {
    var row: TimeSeriesRow
    var counters: Counters
    var errors: [Int64]
    var models: String
    var histograms: [Metric: Buckets]
  }

  /// Counts at or below each bound, as Prometheus wants them.
  struct Buckets {
    var counts: [Int64]
    var count: Int64
    var seconds: Double
  }

  /// Bounds in seconds. The conventions' advice for `time_to_first_chunk`, with its neighbours.
  static let bounds: [Double] = [
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  ]

  private struct Family {
    var metric: Metric
    var name: String
    /// The conventions' name, dots as underscores and the unit behind.
    var alias: String?
  }

  private static let families = [
    Family(metric: .ttfb, name: "ssebench_ttfb_seconds", alias: nil),
    Family(
      metric: .firstEvent, name: "ssebench_first_event_seconds",
      alias: "gen_ai_client_operation_time_to_first_chunk_seconds"),
    Family(metric: .ttft, name: "ssebench_ttft_seconds", alias: nil),
    Family(metric: .itl, name: "ssebench_itl_seconds", alias: nil),
    Family(
      metric: .eventGap, name: "ssebench_event_gap_seconds",
      alias: "gen_ai_client_operation_time_per_output_chunk_seconds"),
    Family(metric: .e2e, name: "ssebench_e2e_seconds", alias: "gen_ai_client_operation_duration_seconds"),
    Family(metric: .sendLag, name: "ssebench_send_lag_seconds", alias: nil),
  ]

  private static let counterFamilies: [(name: String, help: String, value: @Sendable (Counters) -> Int64)] = [
    ("ssebench_sessions_started_total", "Sessions started.", { $0.started }),
    ("ssebench_sessions_completed_total", "Sessions that completed.", { $0.completed }),
    ("ssebench_sessions_cancelled_total", "Sessions given up by the client.", { $0.cancelled }),
    ("ssebench_sessions_dropped_total", "Planned starts that the limit on live sessions dropped.", { $0.dropped }),
    ("ssebench_events_total", "Events received.", { $0.events }),
    ("ssebench_token_events_total", "Events that carried a token.", { $0.tokenEvents }),
    ("ssebench_received_bytes_total", "Body bytes received.", { $0.bytes }),
    ("ssebench_disconnects_total", "Connections lost by sessions that went on.", { $0.disconnects }),
    ("ssebench_reconnects_total", "Reconnect attempts.", { $0.reconnects }),
  ]

  private var entries: [(variant: String, entry: Entry)] = []

  mutating func take(_ row: TimeSeriesRow, _ variant: VariantRecord) {
    var histograms: [Metric: Buckets] = [:]
    for family in Self.families { histograms[family.metric] = Self.buckets(variant.total[family.metric]) }
    let entry = Entry(
      row: row, counters: variant.total.counters, errors: variant.total.errors, models: variant.modelAsked ?? "",
      histograms: histograms)
    // One variant is live at a time: the others' sessions are over.
    for index in entries.indices { entries[index].entry.row.live = 0 }
    if let index = entries.firstIndex(where: { $0.variant == variant.name }) {
      entries[index].entry = entry
    } else {
      entries.append((variant.name, entry))
    }
  }

  static func buckets(_ histogram: Histogram) -> Buckets {
    var counts = [Int64](repeating: 0, count: bounds.count)
    for index in histogram.usedIndices {
      let count = histogram.count(at: index)
      guard count > 0 else { continue }
      let (lowest, width) = Histogram.range(at: index)
      // A cell counts under the bound that its middle lies below.
      let seconds = (Double(lowest) + Double(width) / 2) / 1e9
      guard let bound = bounds.firstIndex(where: { seconds <= $0 }) else { continue }
      counts[bound] += count
    }
    var sum: Int64 = 0
    for index in counts.indices {
      sum += counts[index]
      counts[index] = sum
    }
    return Buckets(counts: counts, count: histogram.count, seconds: histogram.sum / 1e9)
  }

  func text(run: String, api: String) -> String {
    var out = ""
    func head(_ name: String, _ type: String, _ help: String) { out += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n" }
    func labels(_ variant: String, _ more: String = "") -> String {
      "{run=\"\(Self.escaped(run))\",variant=\"\(Self.escaped(variant))\"\(more)}"
    }
    head("ssebench_build_info", "gauge", "The version of ssebench, as a label.")
    out += "ssebench_build_info{version=\"\(Self.escaped(Version.number))\",build=\"\(Version.build)\"} 1\n"
    head("ssebench_sessions_live", "gauge", "Sessions live at the end of the last second.")
    for (variant, entry) in entries { out += "ssebench_sessions_live\(labels(variant)) \(entry.row.live)\n" }
    for family in Self.counterFamilies {
      head(family.name, "counter", family.help)
      for (variant, entry) in entries { out += "\(family.name)\(labels(variant)) \(family.value(entry.counters))\n" }
    }
    head("ssebench_sessions_failed_total", "counter", "Sessions that failed, by the kind of error.")
    for (variant, entry) in entries {
      for kind in SessionErrorKind.allCases {
        let count = entry.errors[Int(kind.rawValue)]
        out += "ssebench_sessions_failed_total\(labels(variant, ",kind=\"\(kind.word)\"")) \(count)\n"
      }
    }
    head("ssebench_client_cpu_ratio", "gauge", "CPU seconds of the client a second, in the last second; 2 is two cores.")
    for (variant, entry) in entries { out += "ssebench_client_cpu_ratio\(labels(variant)) \(entry.row.cpu)\n" }
    head("process_resident_memory_bytes", "gauge", "Resident memory of the client.")
    if let last = entries.last, last.entry.row.residentBytes >= 0 {
      out += "process_resident_memory_bytes \(last.entry.row.residentBytes)\n"
    }
    for family in Self.families {
      let definition = family.metric.definition
      histogram(family.metric, family.name, definition, { labels($0, $1) }, &out)
      guard let alias = family.alias, api != "sse" else { continue }
      histogram(family.metric, alias, "OpenTelemetry's name for \(family.name): \(definition)", { variant, more in
        let model = entries.first { $0.variant == variant }?.entry.models ?? ""
        return labels(variant, ",gen_ai_operation_name=\"chat\",gen_ai_request_model=\"\(Self.escaped(model))\"" + more)
      }, &out)
    }
    return out
  }

  private func histogram(
    _ metric: Metric, _ name: String, _ help: String, _ labels: (String, String) -> String, _ out: inout String
  ) {
    out += "# HELP \(name) \(Self.escapedHelp(help))\n# TYPE \(name) histogram\n"
    for (variant, entry) in entries {
      guard let buckets = entry.histograms[metric] else { continue }
      for (bound, count) in zip(Self.bounds, buckets.counts) {
        out += "\(name)_bucket\(labels(variant, ",le=\"\(bound)\"")) \(count)\n"
      }
      out += "\(name)_bucket\(labels(variant, ",le=\"+Inf\"")) \(buckets.count)\n"
      out += "\(name)_sum\(labels(variant, "")) \(buckets.seconds)\n"
      out += "\(name)_count\(labels(variant, "")) \(buckets.count)\n"
    }
  }

  /// A label's value.
  static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": out += "\\\\"
      case "\"": out += "\\\""
      case "\n": out += "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F: out += "\u{FFFD}"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }

  private static func escapedHelp(_ text: String) -> String { text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n") }
}
