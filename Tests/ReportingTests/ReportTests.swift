// Reports say what the summary says, escape what is foreign, and can be made again from what a run left.

import Foundation
import Testing
import Analysis
import Primitives
import Recording
import Reporting
import TestSupport

@Suite struct ReportTests {
  /// All numbers of a summary, also those inside its sentences.
  private static func numbers(in value: JSONValue) -> [Double] {
    switch value {
    case .integer(let whole): [Double(whole)]
    case .number(let real): [real]
    case .string(let text): numbers(in: text).map(\.value)
    case .array(let values): values.flatMap(numbers(in:))
    case .object(let object): object.pairs.flatMap { numbers(in: .string($0.key)) + numbers(in: $0.value) }
    default: []
    }
  }

  /// Numerals of a text, with the decimals they show.
  private static func numbers(in text: String) -> [(value: Double, decimals: Int)] {
    text.matches(of: #/-?\d+(?:\.(\d+))?(?:e-?\d+)?/#).compactMap { match in
      Double(match.output.0).map { ($0, match.output.1?.count ?? 0) }
    }
  }

  @Test func everyNumberOfTheMarkdown_IsInTheSummary() throws {
    let scratch = ScratchFolder()
    let run = SyntheticRun.make {
      $0.variants = ["whatwg", "data-only"]
      $0.repeats = 2
      $0.errorShare = 0.02
      $0.withMemory = true
      $0.withRecovery = true
      $0.gates = ["ttft_ms.p99 < 400", "ttft_ms.p99 < 100"]
    }
    let summary = try #require(try run.write(to: scratch.path + "/run"))
    let known = Self.numbers(in: summary.tree)

    let page = scratch.text("run/report.md")
    var seen = 0
    var missing: [String] = []
    // The table of other tools' names and the names of percentiles and exit paths hold numerals that are no figures.
    let body = page.components(separatedBy: "## What other tools call").first ?? ""
    let tail = page.components(separatedBy: "## How to reproduce it").last ?? ""
    for line in (body + tail).split(separator: "\n") where !line.contains("what it is") {
      let plain = line.replacing(#/p\d\d(\.9)?|p999|`[^`]*`|ci95|95 %|90 %|5 %|1 ms|p50/#, with: "")
      for (value, decimals) in Self.numbers(in: String(plain)) {
        seen += 1
        let half = 0.500_001 * Foundation.pow(10, -Double(decimals))
        if !known.contains(where: { abs($0 - value) <= half }) { missing.append("\(value) in: \(line)") }
      }
    }
    #expect(seen > 200)
    #expect(missing.isEmpty, "\(missing.prefix(5))")
  }

  @Test func markdown_HasVerdictFiguresDefinitionsAndNames() throws {
    let scratch = ScratchFolder()
    try SyntheticRun.make { $0.sessions = 700 }.write(to: scratch.path + "/run")

    let page = scratch.text("run/report.md")

    #expect(page.contains("**Passed.** 700 of 700 started sessions completed."))
    for part in ["Time to first token", "`tpot_ms`: (last", "vLLM bench serve", "ssebench run scenario.json --seed 1", "sample_too_small"] {
      #expect(page.contains(part), "\(part)")
    }
  }

  private static let hostile = "<script>alert(1)</script> | `x` =1+1 \"q\" 'a' &amp; [l](javascript:x) \u{202E}rtl\nnew ::error::x"

  @Test func hostileTexts_StayTextEverywhere() throws {
    let scratch = ScratchFolder()
    let run = SyntheticRun.make { $0.name = Self.hostile; $0.variants = [Self.hostile, "=cmd()"]; $0.sessions = 100; $0.errorShare = 0.2; $0.gates = ["ttft_ms.p50 < 1"] }
    run.record.variants[0].errorSamples = [.truncated: [Self.hostile]]
    run.record.variants[0].models = [Self.hostile: 1]

    let summary = try #require(try run.write(to: scratch.path + "/run"))

    let page = scratch.text("run/report.html")
    #expect(!page.contains("<script>alert"))
    #expect(!page.contains("\u{202E}"))
    let markdown = scratch.text("run/report.md")
    #expect(!markdown.contains("<script>") && !markdown.contains("[l]("))
    #expect(!scratch.text("run/junit.xml").contains("<script>"))
    for line in scratch.text("run/sessions.csv").split(separator: "\n") { #expect(!line.hasPrefix("=")) }
    for line in GateReport(summary).annotations.split(separator: "\n") { #expect(line.hasPrefix("::error title=") || line.hasPrefix("::warning title=")) }
    #expect(!TerminalSummary.text(summary, folder: "x").contains("\u{202E}"))
    #expect(FileManager.default.fileExists(atPath: scratch.path + "/run/ttft.cmd.hlog"))
  }

  @Test func junit_IsWellFormedAndCountsItsCases() throws {
    let scratch = ScratchFolder()
    try SyntheticRun.make { $0.sessions = 700; $0.gates = ["ttft_ms.p99 < 400", "ttft_ms.p50 < 1", "ttft_ms.p50 < baseline"] }.write(
      to: scratch.path + "/run")

    let text = scratch.text("run/junit.xml")

    #expect(text.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\""))
    #expect(text.contains("<failure type=\"beyond_limit\""))
  }

  @Test func hourLongRun_MakesAPageUnderTwoMegabytes() throws {
    let scratch = ScratchFolder()
    let folder = try RunFolder(path: scratch.path + "/run")
    let run = SyntheticRun.make { $0.variants = ["a", "b", "c"]; $0.sessions = 400; $0.withMemory = true }
    try folder.begin(run.record)
    for second in 1...3_600 {
      for name in ["a", "b", "c"] {
        var row = TimeSeriesRow()
        row.time = Double(second)
        row.live = 200
        row.events = Int64(second % 100) * 13
        row.ttftP50 = 200_000_000
        row.ttftP99 = 300_000_000
        try folder.append(row, variantName: name)
      }
    }
    for round in 0..<40 {
      for (name, session) in run.sessions {
        var later = session
        later.session += Int64(round) * 10_000
        try folder.append(later, variantName: name)
      }
    }
    _ = try folder.finish(run.record)

    let size = scratch.text("run/report.html").utf8.count
    print("an hour's page: \(size) bytes")
    #expect(size < 2_000_000)
  }

  @Test func killedRun_IsToldUpToItsLastSecond() throws {
    let scratch = ScratchFolder()
    let run = SyntheticRun.make { $0.sessions = 700 }
    try run.write(to: scratch.path + "/run", finish: false)
    let path = scratch.path + "/run/sessions.csv"
    let handle = try #require(FileHandle(forWritingAtPath: path))
    let size = try handle.seekToEnd()
    try handle.truncate(atOffset: size - 17)
    try handle.close()

    let stored = try StoredRun.open(scratch.path + "/run")

    #expect(stored.isRebuilt)
    #expect(stored.summary.verdict == .partial)
    #expect(stored.problems.contains { $0.contains("half-written") })
    #expect(stored.summary.variants[0]["sessions"]?["completed"]?.asInt == 699)
    #expect(stored.summary.variants[0]["ttft_ms"]?["count"]?.asInt == 699)
    #expect(stored.summary.variants[0]["itl_ms"]?["count"] == Summary(run.record).variants[0]["itl_ms"]?["count"])
  }

  @Test func otherSchemaVersion_IsSaidAndShown() throws {
    let scratch = ScratchFolder()
    try SyntheticRun.make { $0.sessions = 100 }.write(to: scratch.path + "/run")
    let path = scratch.path + "/run/summary.json"
    let text = scratch.text("run/summary.json").replacing("\"schema_version\": 1,", with: "\"schema_version\": 99,")
    try text.write(toFile: path, atomically: true, encoding: .utf8)

    let stored = try StoredRun.open(scratch.path + "/run")

    #expect(stored.problems.contains { $0.contains("schema version 99") })
    #expect(stored.summary.variants[0]["sessions"]?["completed"]?.asInt == 100)
  }

  @Test func worstSessions_StandWithTheCommandThatRunsThemAgain() throws {
    let run = SyntheticRun.make { $0.withRecovery = true }
    var session = SessionRecord()
    session.session = 17
    session.disconnects = 2
    session.lost = 3
    run.record.variants[0].worst.add(session)

    let summary = Summary(run.record)

    let command = "ssebench run scenario.json --seed \(run.record.seed) --session 17"
    for page in [MarkdownReport.text(summary, charts: ChartData()), HTMLReport.text(summary, charts: ChartData())] {
      #expect(page.contains(command))
      #expect(page.contains("3 lost after 2 disconnections"))
    }
    #expect(!SummaryTable.csv(summary).contains("worst_sessions"))
  }

  @Test func missingFiles_AreSaidAndTheRestIsShown() throws {
    let scratch = ScratchFolder()
    try SyntheticRun.make { $0.sessions = 100 }.write(to: scratch.path + "/run")
    for name in ["timeseries.csv", "record.json", "sessions.csv"] {
      try FileManager.default.removeItem(atPath: scratch.path + "/run/" + name)
    }

    let stored = try StoredRun.open(scratch.path + "/run")
    let charts = ChartData.read(folder: stored.folder, variants: ["whatwg"])

    #expect(stored.summary.verdict == .passed)
    #expect(charts.problems.contains { $0.contains("timeseries.csv") })
    #expect(MarkdownReport.text(stored.summary, charts: charts).contains("## Not shown"))
    #expect(HTMLReport.text(stored.summary, charts: charts).contains("Not shown"))
  }

  @Test func foldersThatAreNone_AreRefused() {
    let scratch = ScratchFolder()
    #expect(throws: ReportFileError.self) { try StoredRun.open(scratch.path + "/nothing") }
    #expect(throws: ReportFileError.self) { try StoredRun.open(scratch.path) }
  }

  @Test func existingFolder_IsNeverWrittenInto() throws {
    let scratch = ScratchFolder()

    let error = #expect(throws: ReportFileError.self) { try RunFolder(path: scratch.path) }
    #expect(error?.exitStatus == 73)
    let deep = try RunFolder(path: scratch.path + "/a/b/c")
    #expect(FileManager.default.fileExists(atPath: deep.path + "/sessions.csv"))
  }

  @Test func runsOfOneSecond_GetFoldersOfTheirOwn() throws {
    let scratch = ScratchFolder()
    let first = try RunFolder.create(name: "Größe & Co", startedAtMilliseconds: 1_796_052_414_123, under: scratch.path)
    let second = try RunFolder.create(name: "Größe & Co", startedAtMilliseconds: 1_796_052_414_999, under: scratch.path)

    #expect(first.path == scratch.path + "/gr-e-co-20261130T152654Z")
    #expect(second.path == first.path + "-2")
  }

  @Test func fullDisk_IsOneErrorAndAPartialReport() throws {
    let scratch = ScratchFolder()
    let run = SyntheticRun.make { $0.sessions = 700 }
    let folder = try RunFolder(path: scratch.path + "/run")
    try folder.begin(run.record)
    // /dev/full refuses every write as a full disk does.
    let full = try OutputFile(appending: "/dev/full")
    var errors = 0
    for _ in 0..<3 {
      do {
        try full.append("x\n")
        try full.flush()
      } catch {
        errors += 1
        #expect(error.exitStatus == 74)
      }
    }
    #expect(errors == 1)

    var record = run.record
    record.ioError = true
    record.partialBecause = "sessions.csv cannot be written: No space left on device."
    #expect(try folder.finish(record) == .partial)
    #expect(folder.exitStatus == 74)
    #expect(scratch.text("run/report.md").contains("**Partial.**"))
  }
}

@Suite struct HistoryTests {
  private static func summary(_ index: Int, ttft: Double) -> Summary {
    var record = SyntheticRun.make(seed: UInt64(index)) { $0.sessions = 60; $0.tokens = 8; $0.ttft = ttft }.record
    record.id = "run-\(index)"
    record.startedAtMilliseconds += Int64(index) * 86_400_000
    return Summary(record)
  }

  @Test func runs_AreListedOnceAndTheirTrendShowsTheChange() throws {
    let scratch = ScratchFolder()
    let history = try History(path: scratch.path + "/history.sqlite")
    for index in 0..<24 {
      let summary = Self.summary(index, ttft: index < 14 ? 200 : 230)
      try history.add(summary, folder: "Reports/\(index)")
      try history.add(summary, folder: "Reports/\(index)")
    }

    let points = try history.trend(key: "ttft_ms.p50", name: "synthetic")
    let trend = TrendReport(key: "ttft_ms.p50", points: points)

    #expect(try history.list().count == 24)
    #expect(points.count == 24)
    #expect(trend.json["changes"]?.asArray?.count == 1)
    #expect(abs((trend.json["changes"]?[0]?["index"]?.asInt ?? 0) - 14) <= 1)
    #expect(trend.text.contains("level changes"))
    #expect(trend.html.contains("<svg"))
  }

  /// Side by side, values of two scenarios would show a change that nobody made.
  @Test func trendOfTwoScenarios_IsTwoTrends() throws {
    let points = (0..<24).map { (index: Int) -> History.Point in
      let isFirst = index.isMultiple(of: 2)
      return History.Point(
        startedAtMilliseconds: Int64(index) * 86_400_000, name: isFirst ? "<a>" : "b", version: "1", variant: "default",
        value: isFirst ? 200 : 400)
    }
    let trend = TrendReport(key: "ttft_ms.p50", points: points)

    #expect(trend.json["changes"]?.asArray?.isEmpty == true)
    #expect(trend.json["points"]?.asArray?.count == 24)
    #expect(trend.text.contains("ttft_ms.p50 of <a>, 12 runs") && trend.text.contains("ttft_ms.p50 of b, 12 runs"))
    #expect(trend.html.contains("Runs of &lt;a&gt;") && !trend.html.contains("<a>"))
    #expect(trend.html.contains("value, ms"))
  }

  @Test func distrustedRuns_AreCountedAndLeftOut() throws {
    let scratch = ScratchFolder()
    let history = try History(path: scratch.path + "/history.sqlite")
    var record = SyntheticRun.make { $0.sessions = 60 }.record
    record.partialBecause = "Interrupted."
    try history.add(Summary(record), folder: "")

    #expect(try history.trend(key: "ttft_ms.p50").isEmpty)
    #expect(try history.leftOut(key: "ttft_ms.p50") == 1)
    #expect(try history.leftOut(key: "no_such_key") == 0)
  }

  /// Both open a file that is not there: the moment at which they are most in each other's way, so it is tried often.
  @Test(arguments: 0..<12) func twoWriters_LoseNothing(round: Int) async throws {
    let scratch = ScratchFolder()
    let path = scratch.path + "/history.sqlite"
    let summaries = (0..<6).map { Self.summary($0, ttft: 200) }

    try await withThrowingTaskGroup(of: Void.self) { group in
      for half in 0..<2 {
        group.addTask {
          let history = try History(path: path)
          for (index, summary) in summaries.enumerated() where index % 2 == half { try history.add(summary, folder: "") }
        }
      }
      try await group.waitForAll()
    }

    #expect(try History(path: path).list().count == 6)
  }

  @Test func fileThatIsNoDatabase_IsSaid() throws {
    let scratch = ScratchFolder()
    try "no database, but long enough to be looked at as one".write(toFile: scratch.path + "/x.sqlite", atomically: true, encoding: .utf8)

    #expect(throws: HistoryError.self) { try History(path: scratch.path + "/x.sqlite") }
  }
}

@Suite struct ComparisonTests {
  private static func stored(_ scratch: ScratchFolder, _ name: String, seed: UInt64, ttft: Double = 200) throws -> StoredRun {
    var run = SyntheticRun.make(seed: seed) { $0.sessions = 600; $0.repeats = 3; $0.ttft = ttft }
    run.record.scenario = .object(["name": .string(name), "load": .object(["concurrency": .integer(200)])])
    try run.write(to: "\(scratch.path)/\(name)")
    return try StoredRun.open("\(scratch.path)/\(name)")
  }

  private static func compare(_ a: StoredRun, _ b: StoredRun) throws -> Comparison {
    Comparison(
      baseline: try SampleReader.read([a])[0].set, candidate: try SampleReader.read([b])[0].set, baselineName: "a",
      candidateName: "b")
  }

  @Test func sameBuild_ShowsNoDifference() throws {
    let scratch = ScratchFolder()

    let comparison = try Self.compare(Self.stored(scratch, "a", seed: 1), Self.stored(scratch, "b", seed: 2))

    #expect(comparison.result == .same)
    #expect(comparison.figures.contains { $0.key == "itl_ms.p99" } && comparison.figures.contains { $0.key == "errors_ratio" })
    #expect(ComparisonReport([comparison], baseline: ["a"], candidate: ["b"]).text.contains("~"))
  }

  @Test func slowdownOfFivePercent_IsFoundWithItsSize() throws {
    let scratch = ScratchFolder()

    let comparison = try Self.compare(Self.stored(scratch, "a", seed: 1), Self.stored(scratch, "b", seed: 2, ttft: 210))

    let figure = try #require(comparison.figures.first { $0.key == "ttft_ms.p50" })
    #expect(comparison.result == .worse && figure.result == .worse)
    #expect(figure.contrast.ratioInterval?.contains(1.05) == true)
    #expect(figure.sentence.hasPrefix("slower by "))
    let report = ComparisonReport([comparison], baseline: ["a"], candidate: ["b"])
    #expect(report.exitStatus == 1)
    #expect(report.json["result"]?.asString == "worse")
    #expect(report.html.contains("<svg"))
  }

  @Test func gatesOfAComparison_DecideInPlaceOfTheResult() throws {
    let scratch = ScratchFolder()
    let (a, b) = (try Self.stored(scratch, "a", seed: 1), try Self.stored(scratch, "b", seed: 2, ttft: 210))
    let baseline = RunBaseline(candidate: try SampleReader.read([b]), baseline: try SampleReader.read([a]))
    var report = ComparisonReport([try Self.compare(a, b)], baseline: ["a"], candidate: ["b"])
    func judged(_ gate: String) -> [GateResult] {
      GateJudge.judge(
        GateList(texts: [gate]), candidates: [b.summary.tree], baseline: baseline, withoutBaseline: .notComparable)
    }

    report.gates = judged("ttft_ms.p50 <= baseline * 1.10")
    #expect(report.result == .worse && report.exitStatus == 0)
    #expect(report.text.hasPrefix("Every gate held; worse\n"))
    #expect(report.annotations.isEmpty)

    report.gates = judged("ttft_ms.p50 <= baseline * 1.01")
    #expect(report.exitStatus == 1)
    #expect(report.html.contains("1 of 1 gates did not hold") && report.html.contains("✗ not held"))
    #expect(report.markdown.contains("❌") && report.markdown.contains("`ttft_ms.p50 <= baseline * 1.01`"))
    #expect(report.annotations.hasPrefix("::error title=ssebench gate::"))
    #expect(report.json["gates"]?[0]?["held"]?.asBool == false && report.json["exit_code"]?.asInt == 1)
  }

  @Test func otherLoadMachineOrDoubt_IsNotComparable() throws {
    func summary(_ change: (inout RunRecord) -> Void) -> Summary {
      var record = SyntheticRun.make { $0.sessions = 60 }.record
      change(&record)
      return Summary(record)
    }
    let base = summary { _ in }

    #expect(Comparability.reasons(base, summary { $0.name = "other"; $0.seed = 9 }).isEmpty)
    #expect(Comparability.reasons(base, summary { $0.machine.cores = 8 }).first?.contains("machine.cores") == true)
    #expect(
      Comparability.reasons(base, summary { $0.scenario = .object(["load": .object(["concurrency": .integer(9)])]) })
        .contains { $0.hasPrefix("Other load: `load.concurrency`") })
    #expect(!Comparability.reasons(base, summary { $0.variants[0].steadyLiveRatio = 0.5 }).isEmpty)
    #expect(!Comparability.reasons(base, summary { $0.partialBecause = "Interrupted." }).isEmpty)
    let differs = summary { record in
      var object = record.scenario.asObject ?? JSONObject()
      object["endpoint"] = .object(["url": .string("http://b")])
      record.scenario = .object(object)
    }
    #expect(!Comparability.reasons(base, differs).isEmpty)
    #expect(Comparability.reasons(base, differs, ignoring: ["endpoint"]).isEmpty)
  }

  @Test func baselineGate_PassesOnNoiseAndFailsOnASlowdown() throws {
    let scratch = ScratchFolder()
    let base = try Self.stored(scratch, "base", seed: 1)
    func held(_ run: StoredRun) throws -> Bool? {
      let samples = RunBaseline(candidate: try SampleReader.read([run]), baseline: try SampleReader.read([base]))
      return GateJudge(tree: run.summary.tree, baseline: samples).judge(GateList(texts: ["ttft_ms.p50 <= baseline"]))[0].held
    }

    #expect(try held(Self.stored(scratch, "same", seed: 2)) == true)
    #expect(try held(Self.stored(scratch, "slow", seed: 3, ttft: 220)) == false)
  }
}
