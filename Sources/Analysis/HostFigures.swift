// The processes of a merged run become `hosts` of `summary.json`: where each ran, how its clock stood, what it used.

package import Primitives
package import Recording

package enum HostFigures {
  package static func tree(_ hosts: [HostRecord], duration: Double) -> JSONValue {
    let clock = MergeClock(hosts, duration: duration)
    return .array(hosts.map { tree($0, lag: clock.lag($0)) })
  }

  private static func tree(_ host: HostRecord, lag: Double?) -> JSONValue {
    var errors: [String: Int64] = [:]
    for variant in host.variants { errors.merge(variant.errors) { $0 + $1 } }
    return .object([
      "shard": Figure.whole(host.shard), "host": .string(host.name), "cores": Figure.whole(host.cores),
      "started_at_ms": .integer(host.startedAtMilliseconds), "duration_s": Figure.real(host.durationSeconds),
      "clock": self.clock(host.clock), "lag_s": Figure.real(lag),
      "cpu_s": Figure.real(host.variants.reduce(0) { $0 + $1.instrument.cpuSeconds }),
      "peak_rss_bytes": Figure.whole(host.variants.compactMap { $0.memory?.peakRSSBytes }.max()),
      "started": .integer(host.variants.reduce(0) { $0 + $1.started }),
      "completed": .integer(host.variants.reduce(0) { $0 + $1.completed }),
      "failed": .integer(host.variants.reduce(0) { $0 + $1.failed }),
      "errors": .object(JSONObject(errors.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) })),
      "partial_because": Figure.word(host.partialBecause),
    ])
  }

  /// `machine.clock`: this host's clock against the reference's; null where there was none to ask.
  static func clock(_ clock: HostClock?) -> JSONValue {
    guard let clock else { return .null }
    return .object([
      "reference": .string(clock.reference), "source": .string(clock.isFine ? "ssebench" : "date"),
      "offset_ms": Figure.real(Double(clock.offset) / 1e6), "uncertainty_ms": Figure.real(Double(clock.uncertainty) / 1e6),
      "samples": Figure.whole(clock.samples),
    ])
  }
}
