// Folders of shards become one folder: the same whatever the order, aligned by their clocks, and with what is missing said.

import Analysis
import Foundation
import Primitives
import Recording
import Reporting
import TestSupport
import Testing

@Suite struct MergedFolderTests {
  private static func writeShards(
    _ scratch: ScratchFolder, count: Int = 3, _ change: (inout RunRecord, Int) -> Void = { _, _ in }
  ) throws -> [String] {
    try (0..<count).map { index in
      var run = SyntheticRun.make(seed: UInt64(index) + 1) { $0.sessions = 240; $0.gates = ["ttft_ms.p99 < 400"] }
      run.record.seed = 42
      run.record.scenario = .object(["name": .string("sharded"), "gates": .array([.string("ttft_ms.p99 < 400")])])
      run.record.shard = RunShard(index: index, count: count)
      run.record.startedAtMilliseconds += Int64(index) * 200
      run.record.loadStarts = [
        LoadStart(variant: "whatwg", repetition: 0, at: run.record.startedAtMilliseconds * 1_000_000 + 5_000_000)
      ]
      run.record.machine.host = "host\(index)"
      change(&run.record, index)
      let path = "\(scratch.path)/shard-\(index)"
      try run.write(to: path)
      return path
    }
  }

  @Test func mergedFolder_HasTheSumsOfItsShards() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch)

    let summary = try MergedFolder.make(shards, out: scratch.path + "/merged")
    let other = try MergedFolder.make(shards.reversed(), out: scratch.path + "/other")

    #expect(summary.tree.text() == other.tree.text())
    #expect(summary.variants[0]["sessions"]?["completed"]?.asInt == 720)
    #expect(summary.tree["hosts"]?.asArray?.count == 3)
    for page in ["report.html", "report.md"] {
      let text = scratch.text("merged/\(page)")
      #expect(text.contains("Host by host") && text.contains("peak_rss_bytes") && text.contains("cpu_s"), "\(page)")
    }
    #expect(summary.gates.count == 1 && summary.gates[0].held == true)
    let rows = scratch.text("merged/sessions.csv").split(separator: "\n")
    #expect(rows.count == 721)
    #expect(scratch.text("merged/sessions.csv") == scratch.text("other/sessions.csv"))
    #expect(scratch.text("merged/timeseries.csv") == scratch.text("other/timeseries.csv"))
    let logged = try LogReader.intervals(scratch.path + "/merged/ttft.whatwg.hlog").reduce(0) { $0 + $1.histogram.count }
    #expect(logged == 720)
  }

  @Test func mergeOfMerges_IsTheMerge() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch, count: 4)

    let one = try MergedFolder.make(shards, out: scratch.path + "/one")
    _ = try MergedFolder.make([shards[3], shards[2]], out: scratch.path + "/b")
    _ = try MergedFolder.make(Array(shards[0...1]), out: scratch.path + "/a")
    let two = try MergedFolder.make([scratch.path + "/b", scratch.path + "/a"], out: scratch.path + "/two")

    #expect(one.verdict == .passed)
    #expect(two.verdict == .passed)
    #expect(Self.withoutID(one) == Self.withoutID(two))
    #expect(scratch.text("one/sessions.csv") == scratch.text("two/sessions.csv"))
    #expect(scratch.text("one/ttft.whatwg.hlog") == scratch.text("two/ttft.whatwg.hlog"))
  }

  @Test func killedAndMissingShards_AreNamedAndNothingElseIsLost() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch)
    for name in ["summary.json", "record.json"] {
      try FileManager.default.removeItem(atPath: "\(shards[1])/\(name)")
    }
    var killed = SyntheticRun.make(seed: 2) { $0.sessions = 240 }
    killed.record.seed = 42
    killed.record.scenario = .object(["name": .string("sharded"), "gates": .array([.string("ttft_ms.p99 < 400")])])
    killed.record.shard = RunShard(index: 1, count: 3)
    try FileManager.default.removeItem(atPath: shards[1])
    try killed.write(to: shards[1], finish: false)

    let summary = try MergedFolder.make([shards[0], shards[1]], out: scratch.path + "/merged")

    #expect(summary.verdict == .partial)
    #expect(summary.reasons[0].contains("Shard 2 of 3 missing") && summary.reasons[0].contains("Shard 1: The run was killed"))
    #expect(summary.variants[0]["sessions"]?["completed"]?.asInt == 480)
  }

  @Test func interleavedMerges_GiveTheSameFigures() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch, count: 5) { record, index in
      record.variants[0].memory = MemoryFigures()
      record.variants[0].memory?.perSessionBytes = 1_000.1 + Double(index) / 3
      record.variants[0].instrument.cpuSeconds = 0.1 * Double(index + 1)
    }

    let one = try MergedFolder.make(shards, out: scratch.path + "/one")
    _ = try MergedFolder.make([shards[4], shards[0], shards[2]], out: scratch.path + "/b")
    _ = try MergedFolder.make([shards[3], shards[1]], out: scratch.path + "/a")
    let two = try MergedFolder.make([scratch.path + "/b", scratch.path + "/a"], out: scratch.path + "/two")

    #expect(Self.withoutID(one) == Self.withoutID(two))
    #expect(scratch.text("one/timeseries.csv") == scratch.text("two/timeseries.csv"))
    #expect(scratch.text("one/itl.whatwg.hlog") == scratch.text("two/itl.whatwg.hlog"))
    let rows = { (name: String) in scratch.text(name).split(separator: "\n").sorted() }
    #expect(rows("one/sessions.csv") == rows("two/sessions.csv"))
  }

  /// Clocks that are seconds apart: what began together stands together.
  @Test func shardsAreAlignedByTheirCorrectedClocks() throws {
    let scratch = ScratchFolder()
    let offsets: [Int64] = [0, 7_250_000_000, -3_500_000_000]
    let shards = try Self.writeShards(scratch) { record, index in
      record.startedAtMilliseconds += offsets[index] / 1_000_000 - Int64(index) * 200
      record.loadStarts[0].at = record.startedAtMilliseconds * 1_000_000 + Int64(index) * 1_000_000
      record.machine.clock = HostClock(reference: "http://r/", isFine: true, offset: offsets[index], uncertainty: 400_000, samples: 8)
    }

    let summary = try MergedFolder.make(shards, out: scratch.path + "/merged")

    #expect(!summary.warnings.contains { $0.code == "started_late" || $0.code == "clock_uncertain" })
    let alignment = try #require(summary.tree["run"]?["alignment"])
    #expect(alignment["lag_s"]?.asDouble == 0.002 && alignment["clock_uncertainty_ms"]?.asDouble == 0.4)
    #expect(summary.tree["hosts"]?[1]?["clock"]?["offset_ms"]?.asDouble == 7_250)
    // Sessions count from the load of the first shard: those of shard 2 are two milliseconds later than in its own file.
    let merged = Set(scratch.text("merged/sessions.csv").split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false)[9] })
    let own = scratch.text("shard-2/sessions.csv").split(separator: "\n").dropFirst()
    for row in own.prefix(20) {
      let start = try #require(Int64(row.split(separator: ",", omittingEmptySubsequences: false)[9]))
      #expect(merged.contains(Substring(String(start + 2_000_000))))
    }
  }

  @Test func shardThatBeganLate_MakesTheRunInvalid_ByTheReferencesClock() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch) { record, index in
      // By its own clock shard 1 began with the others.
      let offset: Int64 = index == 1 ? -9_000_000_000 : 0
      record.machine.clock = HostClock(reference: "http://r/", isFine: true, offset: offset, uncertainty: 400_000, samples: 8)
    }

    let summary = try MergedFolder.make(shards, out: scratch.path + "/merged")

    #expect(summary.verdict == .invalid && summary.exitStatus == 3)
    #expect(summary.reasons.first?.contains("Shard 1 began up to 9.2 s after the first") == true, "\(summary.reasons)")
  }

  /// Processes that come up one after the other and wait for one time are not late.
  @Test func processesThatStartApartAndWait_AreNotLate() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch) { record, index in
      record.startedAtMilliseconds -= Int64(index) * 60_000
      record.loadStarts[0].at = 1_796_052_420_000_000_000
    }

    let summary = try MergedFolder.make(shards, out: scratch.path + "/merged")

    #expect(summary.verdict == .passed, "\(summary.reasons)")
  }

  @Test func hostsWithoutAReference_AreSaid() throws {
    let scratch = ScratchFolder()
    let summary = try MergedFolder.make(Self.writeShards(scratch), out: scratch.path + "/merged")

    #expect(summary.warnings.contains { $0.code == "clock_uncertain" && $0.message.contains("Shards 0, 1, 2") })
  }

  @Test func folderWithoutARecord_IsNamedAndTheOthersStand() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch)
    try FileManager.default.removeItem(atPath: shards[1] + "/record.json")
    try FileManager.default.removeItem(atPath: shards[1] + "/summary.json")

    let summary = try MergedFolder.make(shards + [scratch.path + "/never"], out: scratch.path + "/merged")

    #expect(summary.verdict == .partial)
    for words in ["Shard 1 of 3 missing", "shard-1 could not be read", "never could not be read"] {
      #expect(summary.reasons[0].contains(words), "\(summary.reasons)")
    }
    #expect(summary.variants[0]["sessions"]?["completed"]?.asInt == 480)
  }

  @Test func lastShortSecondOfAShard_CountsNoSessionTwice() throws {
    let scratch = ScratchFolder()
    let shards = try (0..<2).map { index in
      var run = SyntheticRun.make(seed: UInt64(index) + 1) { $0.sessions = 50 }
      run.record.seed = 42
      run.record.scenario = .object(["name": .string("sharded")])
      run.record.shard = RunShard(index: index, count: 2)
      run.seconds = [(2_003, 10), (2_203, 10)].map { (wall: Int, live: Int) -> (variant: String, row: TimeSeriesRow) in
        var row = TimeSeriesRow()
        row.wallMilliseconds = 1_796_052_000_000 + Int64(wall)
        row.time = Double(wall) / 1e3
        row.started = 5
        row.live = Int64(live)
        return ("whatwg", row)
      }
      let path = "\(scratch.path)/shard-\(index)"
      try run.write(to: path)
      return path
    }

    _ = try MergedFolder.make(shards, out: scratch.path + "/merged")

    let rows = scratch.text("merged/timeseries.csv").split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
    #expect(rows.count == 1)
    #expect(rows.first?[4] == "20" && rows.first?[5] == "20")
  }

  @Test(arguments: [
    ("seed", "has seed 1; the others have 42"), ("count", "is of 5 shards; the others are of 3"),
    ("version", "was run by ssebench 9.9"), ("scenario", "`load.sessions` is 7 and not 240"), ("twice", "holds shard 0, and so does"),
    ("alone", "is no shard"),
  ])
  func folderOfAnotherRun_IsRefusedWithTheReason(_ what: String, _ reason: String) throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch) { record, index in
      let sessions: Int64 = what == "scenario" && index == 2 ? 7 : 240
      record.scenario = .object(["name": .string("sharded"), "load": .object(["sessions": .integer(sessions)])])
      guard index == 2 else { return }
      switch what {
      case "seed": record.seed = 1
      case "count": record.shard = RunShard(index: 2, count: 5)
      case "version": record.version = "9.9"
      case "twice": record.shard = RunShard(index: 0, count: 3)
      case "alone": record.shard = nil
      default: break
      }
    }

    let error = #expect(throws: MergeError.self) { try MergedFolder.make(shards, out: scratch.path + "/merged") }

    guard case .refused(let message)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(message.contains(reason) && message.contains("shard-2"), "\(message)")
    #expect(!FileManager.default.fileExists(atPath: scratch.path + "/merged"))
  }

  private static func withoutID(_ summary: Summary) -> JSONValue {
    guard case .object(var object) = summary.tree, case .object(var run)? = object["run"] else { return summary.tree }
    run["id"] = nil
    object["run"] = .object(run)
    return .object(object)
  }

  @Test func shardWhoseRowsWereCut_IsNamed() throws {
    let scratch = ScratchFolder()
    let shards = try Self.writeShards(scratch)
    let path = "\(shards[1])/sessions.csv"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    try lines.prefix(100).joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)

    let summary = try MergedFolder.make(shards, out: scratch.path + "/merged")

    #expect(summary.verdict == .partial)
    #expect(summary.tree["verdict_reasons"]?.text().contains("Shard 1: sessions.csv has 98 rows, though 240 sessions ended.") == true,
      "\(summary.tree["verdict_reasons"]?.text() ?? "")")
  }
}
