// The counts of a WuKongIM load, as a variant of `summary.json` holds them under `wukongim`.

package import Primitives

/// Sums over all readers, producers and repeats.
package struct WuKongRecord: Sendable, Equatable {
  package var replies = 0
  package var repliesFailed = 0
  package var requests = 0
  package var retries = 0
  package var cacheMisses = 0
  package var deltasSent = 0
  package var connects = 0
  package var histories = 0
  package var historiesFailed = 0
  package var eventsReceived = 0
  package var bytesReceived = 0
  package var kills = 0
  package var reopened = 0
  package var disconnects = 0
  package var readersCompleted = 0
  package var readersFailed = 0
  package var wrongTexts = 0
  /// Texts that reached the bound of a row, were cut there as they must be, and say so.
  package var truncatedTexts = 0
  package var duplicates = 0
  package var covered = 0
  package var gaps = 0
  package var overflow = 0
  package var undecodable = 0
  package var ignored = 0
  package var staleHistories = 0

  package init() {}

  /// Key and value of each count, in the order of the report.
  private static var counts: [(key: String, path: WritableKeyPath<WuKongRecord, Int>)] {
    [
      ("replies", \.replies),
      ("replies_failed", \.repliesFailed),
      ("requests", \.requests),
      ("retries", \.retries),
      ("cache_misses", \.cacheMisses),
      ("deltas_sent", \.deltasSent),
      ("connects", \.connects),
      ("histories", \.histories),
      ("histories_failed", \.historiesFailed),
      ("events_received", \.eventsReceived),
      ("bytes_received", \.bytesReceived),
      ("kills", \.kills),
      ("reopened", \.reopened),
      ("disconnects", \.disconnects),
      ("readers_completed", \.readersCompleted),
      ("readers_failed", \.readersFailed),
      ("wrong_texts", \.wrongTexts),
      ("truncated_texts", \.truncatedTexts),
      ("duplicates", \.duplicates),
      ("covered", \.covered),
      ("gaps", \.gaps),
      ("overflow", \.overflow),
      ("undecodable", \.undecodable),
      ("ignored", \.ignored),
      ("stale_histories", \.staleHistories),
    ]
  }

  package mutating func add(_ other: WuKongRecord) {
    for (_, path) in Self.counts { self[keyPath: path] += other[keyPath: path] }
  }

  /// Reads counts back; one that is missing is 0.
  package init(json: JSONValue) {
    for (key, path) in Self.counts { self[keyPath: path] = json[key]?.asInt ?? 0 }
  }

  package var json: JSONObject {
    var object = JSONObject(Self.counts.map { ($0.key, .integer(Int64(self[keyPath: $0.path]))) })
    // What an event costs on the wire, double encoding included.
    object["bytes_per_event"] = eventsReceived > 0 ? .number(Double(bytesReceived) / Double(eventsReceived)) : .null
    return object
  }
}
