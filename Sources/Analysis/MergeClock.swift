// When the shards of one run began, by one clock: how far apart they were, whether that matters, and how surely it is
// known.

package import Primitives
package import Recording

package struct MergeClock {
  private let hosts: [HostRecord]
  private let first: [Key: Int64]
  /// Seconds by which a shard may begin after the first: beyond it the load was not the one that was asked for.
  package let allowed: Double

  package init(_ hosts: [HostRecord], duration: Double) {
    self.hosts = hosts.sorted { $0.shard < $1.shard }
    allowed = max(1, 0.05 * duration)
    first = Dictionary(Self.firstStarts(hosts).map { (Key($0), $0.at) }) { $1 }
  }

  /// When the first shard began each load, by the reference's clock.
  package static func firstStarts(_ hosts: [HostRecord]) -> [LoadStart] {
    var first: [LoadStart] = []
    for host in hosts {
      for start in host.loadStarts {
        let at = host.corrected(start)
        if let known = first.firstIndex(where: { $0.variant == start.variant && $0.repetition == start.repetition }) {
          first[known].at = min(first[known].at, at)
        } else {
          first.append(LoadStart(variant: start.variant, repetition: start.repetition, at: at))
        }
      }
    }
    return first.sorted { ($0.at, $0.variant, $0.repetition) < ($1.at, $1.variant, $1.repetition) }
  }

  /// Seconds by which a shard began its loads after the first shard, at worst; nil where it began none.
  package func lag(_ host: HostRecord) -> Double? {
    host.loadStarts.compactMap { start in
      first[Key(start)].map { Double(host.corrected(start) - $0) / 1e9 }
    }.max()
  }

  /// ± seconds within which all shards are aligned; nil where the clock of one was not measured.
  package var uncertainty: Double? {
    let known = hosts.map { $0.clock?.uncertainty }
    guard !known.contains(nil) else { return nil }
    return known.compactMap { $0 }.max().map { Double($0) / 1e9 }
  }

  /// Whether the shards ran on more than one host, as far as their names tell.
  private var isSpread: Bool { Set(hosts.map(\.name)).count > 1 }

  /// Figures for `run.alignment` of a merged run.
  package var tree: JSONValue {
    .object([
      "lag_s": Figure.real(hosts.compactMap(lag).max()), "lag_allowed_s": Figure.real(allowed),
      "clock_uncertainty_ms": Figure.real(uncertainty.map { $0 * 1e3 }),
      "clocks_measured": Figure.whole(hosts.filter { $0.clock != nil }.count), "hosts": Figure.whole(hosts.count),
    ])
  }

  package var warnings: [RunWarning] {
    var found: [RunWarning] = []
    let behind = hosts.filter { (lag($0) ?? 0) > allowed }
    if let most = behind.compactMap(lag).max() {
      let known = uncertainty.map { ", known to ± \(Number.text($0 * 1e3)) ms" } ?? ""
      found.append(
        RunWarning(
          code: "started_late",
          message:
            "\(Self.list(behind)) began up to \(Number.text(most)) s after the first\(known); \(Number.text(allowed)) s are allowed.",
          hint: "Give all shards the same `--start-at`, late enough for the slowest of them."))
    }
    let unknown = hosts.filter { $0.clock == nil }
    if isSpread, !unknown.isEmpty {
      found.append(
        RunWarning(
          code: "clock_uncertain",
          message: "\(Self.list(unknown)) did not compare the clock with a reference: seconds of different hosts stand by each host's own clock.",
          hint: "Run the shards with `--clock URL` of one server that all reach, or keep the clocks together with NTP."))
    } else if let uncertainty, uncertainty > 0.5 {
      found.append(
        RunWarning(
          code: "clock_uncertain",
          message: "The clocks of the hosts are known to ± \(Number.text(uncertainty)) s only: seconds of different hosts may stand beside the wrong ones.",
          hint: "Name a nearer reference with `--clock URL`; an `ssebench mock` says its time to the nanosecond."))
    }
    return found
  }

  /// "Shards 1, 2 and 17 more".
  private static func list(_ hosts: [HostRecord]) -> String {
    let shown = hosts.prefix(10).map { "\($0.shard)" }.joined(separator: ", ")
    let more = hosts.count > 10 ? " and \(hosts.count - 10) more" : ""
    return "\(hosts.count == 1 ? "Shard" : "Shards") \(shown)\(more)"
  }

  private struct Key: Hashable {
    var variant: String
    var repetition: Int32

    init(_ start: LoadStart) {
      variant = start.variant
      repetition = start.repetition
    }
  }
}
