// The unit of a figure, read from its key: keys end in theirs.

package enum FigureUnit {
  /// `ttft_ms.p99` → "ms"; empty for a count, a share or what names none.
  package static func of(key: String) -> String {
    for part in key.split(separator: ".").reversed() {
      if let unit = ends.first(where: { part.hasSuffix($0.end) || part == $0.end.dropFirst() })?.unit { return unit }
    }
    return ""
  }

  private static let ends: [(end: String, unit: String)] = [
    ("_gb_per_s", "GB/s"), ("_sessions_per_s", "sessions/s"), ("_per_s", "per s"), ("_bytes_per_cpu_s", "B a CPU second"),
    ("_cpu_s_per_million_events", "CPU s a million events"), ("_cpu_ns_per_event", "CPU ns an event"),
    ("_bytes_per_token", "B a token"), ("_bytes_per_event", "B an event"), ("_per_event", "an event"), ("_ms", "ms"),
    ("_ns", "ns"), ("_bytes", "B"), ("_ratio", ""), ("_s", "s"),
  ]
}
