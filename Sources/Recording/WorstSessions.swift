// The sessions of a variant that fared worst with broken connections, so that a report can spell them out and each can
// be run again by its number. A short list, whatever the length of the run.

package import Primitives

/// One session that stands out: by what its ledger misses, by how it ended, or by its slowest recovery.
package struct WorstSession: Sendable, Equatable {
  package var session: Int64
  package var repetition: Int32 = 0
  /// "completed", "failed", …; empty for as long as the session is live.
  package var outcome = ""
  package var error = ""
  package var disconnects: Int64 = 0
  package var lost: Int64 = 0
  package var undelivered: Int64 = 0
  package var duplicated: Int64 = 0
  package var reordered: Int64 = 0
  package var corrupted: Int64 = 0
  /// Loss to first new event in ns, of the slowest of all recoveries; −1 where it is not listed for that.
  package var recovery: Int64 = -1
  /// Which of its disconnections that was, from 1.
  package var disconnection: Int64 = 0

  package init(session: Int64) { self.session = session }

  package var damage: Int64 { lost + duplicated + reordered + corrupted }
}

package struct WorstSessions: Sendable {
  package static let mostDamaged = 5
  package static let mostSlow = 3

  package private(set) var damaged: [WorstSession] = []
  package private(set) var slow: [WorstSession] = []

  package init() {}

  /// Damaged first, then those that ended without recovering, then the slowest recoveries.
  package var all: [WorstSession] { damaged + slow }

  package mutating func add(_ record: SessionRecord) {
    var session = WorstSession(session: record.session)
    session.repetition = record.repetition
    session.outcome = record.outcome.word
    session.error = record.error?.word ?? ""
    session.disconnects = Int64(record.disconnects)
    session.lost = record.lost
    session.undelivered = record.undelivered
    session.duplicated = record.duplicated
    session.reordered = record.reordered
    session.corrupted = record.corrupted
    for index in slow.indices where slow[index].session == record.session && slow[index].repetition == record.repetition {
      (session.recovery, session.disconnection) = (slow[index].recovery, slow[index].disconnection)
      slow[index] = session
    }
    (session.recovery, session.disconnection) = (-1, 0)
    add(session)
  }

  package mutating func add(_ record: DisconnectRecord) {
    guard record.firstNewEvent >= record.detected, record.detected >= 0 else { return }
    var session = WorstSession(session: record.session)
    session.repetition = record.repetition
    session.disconnects = Int64(record.number)
    session.disconnection = Int64(record.number)
    session.recovery = record.firstNewEvent - record.detected
    add(session)
  }

  package mutating func add(_ session: WorstSession) {
    if session.recovery >= 0 {
      Self.insert(session, into: &slow, most: Self.mostSlow) { $0.recovery > $1.recovery }
      return
    }
    guard session.damage > 0 || session.disconnects > 0 && session.outcome == SessionOutcome.failed.word
    else { return }
    Self.insert(session, into: &damaged, most: Self.mostDamaged) {
      ($0.damage, $0.undelivered, $0.disconnects, -$0.session) > (
        $1.damage, $1.undelivered, $1.disconnects, -$1.session
      )
    }
  }

  private static func insert(
    _ session: WorstSession, into list: inout [WorstSession], most: Int,
    before: (WorstSession, WorstSession) -> Bool
  ) {
    if list.count == most, let last = list.last, !before(session, last) { return }
    list.insert(session, at: list.firstIndex { before(session, $0) } ?? list.count)
    if list.count > most { list.removeLast() }
  }
}

extension WorstSession {
  package var json: JSONValue {
    .object([
      "session": .integer(session), "repetition": .integer(Int64(repetition)), "outcome": .string(outcome),
      "error": .string(error), "disconnects": .integer(disconnects), "lost": .integer(lost),
      "undelivered": .integer(undelivered), "duplicated": .integer(duplicated),
      "reordered": .integer(reordered),
      "corrupted": .integer(corrupted), "recovery_ms": recovery < 0 ? .null : .number(Double(recovery) / 1e6),
      "disconnection": disconnection == 0 ? .null : .integer(disconnection),
    ])
  }

  package init?(json: JSONValue) {
    guard let session = json["session"]?.asInt, session >= 0 else { return nil }
    self.init(session: Int64(session))
    func count(_ key: String) -> Int64 { Int64(max(0, json[key]?.asInt ?? 0)) }
    repetition = Int32(clamping: count("repetition"))
    outcome = json["outcome"]?.asString ?? ""
    error = json["error"]?.asString ?? ""
    disconnects = count("disconnects")
    lost = count("lost")
    undelivered = count("undelivered")
    duplicated = count("duplicated")
    reordered = count("reordered")
    corrupted = count("corrupted")
    disconnection = count("disconnection")
    if let milliseconds = json["recovery_ms"]?.asDouble, milliseconds >= 0, milliseconds < 1e12 {
      recovery = Int64((milliseconds * 1e6).rounded())
    }
  }

  /// Why it is listed, in words.
  package var why: String {
    if recovery >= 0 {
      return
        "slowest recovery: \(JSONValue.numberText((Double(recovery) / 1e4).rounded() / 100)) ms after disconnection \(disconnection) of \(disconnects)"
    }
    let counts = [
      (lost, "lost"), (undelivered, "undelivered"), (duplicated, "duplicated"), (reordered, "reordered"),
      (corrupted, "corrupted"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let end =
      outcome == SessionOutcome.completed.word || outcome.isEmpty
      ? [] : [outcome + (error.isEmpty ? "" : " (\(error))")]
    return (counts + end).joined(separator: ", ")
      + " after \(disconnects) disconnection\(disconnects == 1 ? "" : "s")"
  }
}
