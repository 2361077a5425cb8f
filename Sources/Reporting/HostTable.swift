// The hosts of a merged run become a table: what each shard used and how it ended, which no sum shows.

internal import Analysis
internal import Primitives

enum HostTable {
  static let keys = ["completed", "failed", "duration_s", "cpu_s", "peak_rss_bytes"]

  static func hosts(_ summary: Summary) -> [JSONValue] { summary.tree["hosts"]?.asArray ?? [] }

  static func shards(_ host: JSONValue) -> String {
    (host["shards"]?.asArray ?? []).map { Number.text($0) }.joined(separator: ", ")
  }

  static func ended(_ host: JSONValue) -> String { host["partial_because"]?.asString ?? "whole" }
}

extension HTMLPage {
  mutating func hosts(_ summary: Summary) {
    let hosts = HostTable.hosts(summary)
    guard !hosts.isEmpty else { return }
    heading("Host by host", id: "hosts")
    table(
      ["shard", "host"] + HostTable.keys + ["how it ended"],
      hosts.map { host -> [Cell] in
        [.text(HostTable.shards(host)), .text(host["host"]?.asString ?? "")]
          + HostTable.keys.map { .number(Number.text(host[$0])) } + [.text(HostTable.ended(host))]
      }, caption: "Host by host")
    note("CPU is that of the load generator on each host, without the mock; memory its largest resident size.")
  }
}

extension MarkdownPage {
  mutating func hosts(_ summary: Summary) {
    let hosts = HostTable.hosts(summary)
    guard !hosts.isEmpty else { return }
    heading(2, "Host by host")
    table(
      ["shard", "host"] + HostTable.keys + ["how it ended"],
      hosts.map { host in
        [HostTable.shards(host), Self.escaped(host["host"]?.asString ?? "")]
          + HostTable.keys.map { Number.text(host[$0]) } + [Self.escaped(HostTable.ended(host))]
      }, right: Array(2...6))
  }
}
