// One folder that goes into a merge, and how its times become those of the merged run.

internal import Primitives
internal import Recording

struct MergeSource {
  let folder: String
  /// Of its first shard.
  let index: Int
  /// The folder's clock minus the reference's, in nanoseconds; a merged folder stands by the reference's already.
  let clockOffset: Int64
  /// In nanoseconds since 1970 by the reference's clock.
  let correctedStart: Int64
  private let loadStarts: [LoadStart]

  init(_ folder: String, _ record: RunRecord) {
    self.folder = folder
    let offset = record.machine.clock?.offset ?? 0
    index = record.mergedShards.min() ?? record.shard?.index ?? 0
    clockOffset = offset
    correctedStart = record.startedAtMilliseconds * 1_000_000 - offset
    loadStarts = record.loadStarts.map { LoadStart(variant: $0.variant, repetition: $0.repetition, at: $0.at - offset) }
  }

  /// The files of rows, with their columns of instants.
  static let instantColumns: [(name: String, instants: Set<String>)] = [
    (
      "sessions.csv",
      [
        "scheduled_start_ns", "request_start_ns", "request_sent_ns", "first_byte_ns", "first_event_ns", "first_token_ns",
        "first_output_ns", "last_token_ns", "end_ns",
      ]
    ),
    ("memory.csv", ["time_ns"]),
    ("recovery.csv", ["detected_ns", "request_sent_ns", "first_byte_ns", "first_new_event_ns"]),
  ]

  /// Sessions count from the start of their load, readings of memory from that of the run.
  func shift(_ name: String, _ header: Substring, _ instants: Set<String>, _ merged: RunRecord) -> RowShift {
    if name == "memory.csv" {
      let shift = correctedStart - merged.startedAtMilliseconds * 1_000_000
      return RowShift(header: header, names: instants, shifts: [:], otherwise: shift)
    }
    var shifts: [String: Int64] = [:]
    for start in loadStarts {
      let first = merged.loadStarts.first { $0.variant == start.variant && $0.repetition == start.repetition }
      shifts["\(CSV.text(start.variant)),\(start.repetition)"] = start.at - (first?.at ?? start.at)
    }
    return RowShift(header: header, names: instants, shifts: shifts, otherwise: 0)
  }
}

/// The seconds into which the rows of all shards fall: those of the wall clock, or, where all shards were to start at one
/// time, those that count from it. They stay where they are when a merged run is merged again.
struct SecondGrid {
  private let phase: Int64

  init(startAtMilliseconds: Int64?) { phase = (startAtMilliseconds ?? 0) % 1_000 }

  /// The second whose edge is nearest.
  func second(nanoseconds: Int64) -> Int64 {
    Int64((Double(nanoseconds - phase * 1_000_000) / 1e9).rounded())
  }

  func milliseconds(_ second: Int64) -> Int64 { second * 1_000 + phase }
}
