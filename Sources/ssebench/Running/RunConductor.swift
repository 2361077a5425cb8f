// A loaded scenario is run to its report: checks first, then every variant in its turn, then the folder's files. The
// only place that knows the order of a whole run.

import Analysis
import Arrivals
import Engine
import Foundation
import Primitives
import Recording
import Reporting
import Scenarios

final class RunConductor {
  private let loaded: LoadedScenario
  private let options: RunOptions
  private let wall = WallClock()
  private var startedAtMilliseconds: Int64 { wall.startMilliseconds }
  /// When the first load is to begin; nil: at once.
  private var startAt: Instant?
  private var record = RunRecord()
  private let panel: LivePanel?
  private let gateWatch: GateWatch?
  private var live: LiveView?

  init(_ loaded: LoadedScenario, options: RunOptions) {
    self.loaded = loaded
    self.options = options
    panel = Terminal.errorIsTerminal && !options.quiet ? LivePanel() : nil
    gateWatch = GateWatch(loaded.variants[0].scenario.gates)
  }

  /// What one load of one variant is: variants of `compare`, and the points of a sweep.
  private struct Part {
    var name: String
    var scenario: Scenario
    /// The client as used, and what the variant changes.
    var client: JSONValue
    var changes: JSONValue
  }

  // MARK: From checks to the report

  func run() throws -> ExitCode {
    let parts = parts()
    try confirm()
    try checkShard(parts)
    DescriptorLimit.raise()
    try checkDescriptors(parts)
    live = try LiveView(options, loaded)
    defer { live?.end() }
    let folder = try makeFolder()
    if parts.contains(where: \.scenario.client.stack.isURLSession) { FoundationFault.watch(folder: folder.path) }
    Interrupts.watch()
    prepareRecord(parts)
    do { try folder.begin(record) } catch { throw CommandFailure(.ioError, "\(error)") }
    let ready = waitUntilReady(parts)
    if ready {
      measureClock(parts)
      try runParts(parts, folder)
    }
    return try finish(folder)
  }

  private func parts() -> [Part] {
    var parts: [Part] = []
    for variant in loaded.variants {
      if variant.points.isEmpty && variant.scenario.load.search == nil {
        parts.append(Part(name: variant.name, scenario: variant.scenario, client: variant.client, changes: variant.changes))
      }
      for point in variant.points {
        let load = "\(point.key.split(separator: ".").last ?? "")=\(point.value.asString ?? point.value.text())"
        let name = loaded.variants.count == 1 ? load : "\(variant.name)+\(load)"
        var changes = variant.changes.asObject ?? JSONObject()
        changes[point.key] = point.value
        parts.append(Part(name: name, scenario: point.scenario, client: variant.client, changes: .object(changes)))
      }
    }
    return parts
  }

  private func confirm() throws {
    guard !options.confirmed, options.session == nil, let load = loaded.needsConfirmation else { return }
    let live = load.live.map(String.init) ?? "an unbounded number of"
    throw CommandFailure(
      .usage,
      "up to \(live) live sessions would go to \(load.host), which is not this machine; add --yes if that is meant")
  }

  /// What cannot be cut into shards that together are the run of one process.
  private func checkShard(_ parts: [Part]) throws {
    guard let shard = options.shard, shard.count > 1 else { return }
    if loaded.variants.contains(where: { $0.scenario.load.search != nil }) {
      throw CommandFailure(
        .configuration,
        "load.model: a search decides by its own figures, of which a shard sees only its part; run a sweep, or one load, in shards")
    }
    if parts.contains(where: { $0.scenario.wukongim != nil }) {
      throw CommandFailure(.configuration, "wukongim: its readers share their channels and cannot be cut into shards; run it in one process")
    }
  }

  /// Holds this host's clock against that of a server which all hosts of the run reach.
  private func measureClock(_ parts: [Part]) {
    let endpoint = parts.first?.scenario.endpoint
    let isShard = (options.shard?.count ?? 1) > 1
    if let url = options.clock ?? (isShard ? endpoint?.url : nil) {
      let settings = options.clock == nil ? endpoint : nil
      record.machine.clock = ClockProbe.measure(url, endpoint: settings ?? Scenarios.Endpoint(), by: wall, before: options.startAt.map { $0 * 1_000_000 })
      noteClock(url)
    }
    guard let startAt = options.startAt else { return }
    record.startAtMilliseconds = startAt
    // By the reference's clock where ours is surely not the same; else by our own.
    var time = startAt * 1_000_000
    if let clock = record.machine.clock, abs(clock.offset) > clock.uncertainty { time += clock.offset }
    self.startAt = wall.instant(at: time)
  }

  private func noteClock(_ url: String) {
    guard let clock = record.machine.clock else {
      record.warnings.append(
        RunWarning(
          code: "clock_unknown", message: "The server asked for its clock said none, or contradicted itself.",
          hint: "Name one with `--clock URL` that answers with a `Date`; an `ssebench mock` says its time to the nanosecond."))
      return
    }
    if abs(clock.offset) > max(clock.uncertainty, 100_000_000) {
      let seconds = Double(abs(clock.offset)) / 1e9
      record.warnings.append(
        RunWarning(
          code: "clock_offset",
          message:
            "This host's clock is \(Number.text(seconds)) s \(clock.offset > 0 ? "ahead of" : "behind") \(clock.reference) (± \(Number.text(Double(clock.uncertainty) / 1e6)) ms).",
          hint: "`merge` takes that off; other logs of this host are off by it. Set the clock with NTP."))
    }
  }

  /// Keeps when a load begins, so that a merge can hold it against the other shards', also of a run that is killed.
  private func noteStart(_ part: Part, _ repetition: Int, _ begin: Instant, _ folder: RunFolder) {
    record.loadStarts.append(LoadStart(variant: part.name, repetition: Int32(repetition), at: wall.time(at: begin)))
    if let startAt, record.loadStarts.count == 1 {
      let late = (begin - startAt).seconds
      if late > 0.1 {
        record.warnings.append(
          RunWarning(
            code: "late_start", message: "The load began \(Number.text(late)) s after the time of --start-at.",
            hint: "Give a later `--start-at`: reading the scenario and starting a mock take their time."))
      }
    }
    // Not within the last moment before a start, which would come late for it.
    if (begin - Instant.now()).seconds > 0.2 { try? folder.begin(record) }
  }

  /// Each live session needs a descriptor here, and with the mock one there.
  private func checkDescriptors(_ parts: [Part]) throws {
    let limit = DescriptorLimit.current
    for part in parts {
      guard part.scenario.load.model == .closed, let whole = part.scenario.mostLive else { continue }
      let live = options.shard?.share(of: whole) ?? whole
      guard live + 64 > limit.soft else { continue }
      throw CommandFailure(
        .configuration,
        "load.concurrency: \(live) live sessions need \(live + 64) descriptors, and the limit of this process is \(limit.soft) (hard \(limit.hard)); raise it with `ulimit -n`, lower the concurrency, or share the load out with load.workers")
    }
  }

  private func makeFolder() throws -> RunFolder {
    do {
      if let out = options.out { return try RunFolder(path: out) }
      return try RunFolder.create(name: loaded.name, startedAtMilliseconds: startedAtMilliseconds)
    } catch {
      throw CommandFailure(.cannotCreate, "\(error)")
    }
  }

  private func prepareRecord(_ parts: [Part]) {
    record.name = loaded.name
    record.id = "\(loaded.slug)-\(UTCTime(milliseconds: startedAtMilliseconds).compact)"
    record.startedAtMilliseconds = startedAtMilliseconds
    record.startedAt = UTCTime(milliseconds: startedAtMilliseconds).iso
    record.seed = loaded.variants[0].scenario.seed
    record.version = Version.number
    record.build = Version.build
    record.machine = MachineReading.read()
    record.scenario = loaded.document
    record.warmUpSeconds = loaded.variants[0].scenario.measure.warmUp.seconds
    record.command = options.commandLine
    record.shard = options.shard.map { RunShard(index: $0.index, count: $0.count) }
    record.variants = parts.map { part in
      VariantRecord(name: part.name, client: clientSettings(part))
    }
  }

  /// The client as used, with what the variant changes.
  private func clientSettings(_ part: Part) -> JSONValue {
    var object = part.client.asObject ?? JSONObject()
    for pair in part.changes.asObject?.pairs ?? [] {
      let keys = pair.key.split(separator: ".").map(String.init)
      if keys.first == "client", keys.count == 2 { object[keys[1]] = pair.value } else { object[pair.key] = pair.value }
    }
    return .object(object)
  }

  private func waitUntilReady(_ parts: [Part]) -> Bool {
    for part in parts {
      guard let url = part.scenario.endpoint.url, let limit = part.scenario.endpoint.waitReady else { continue }
      if !Readiness.wait(url, endpoint: part.scenario.endpoint, limit: limit, seen: { Interrupts.seen > 0 }) {
        record.warnings.append(
          RunWarning(
            code: "not_ready", message: "The endpoint gave no answer below 500 within \(limit.seconds) s.",
            hint: "Start the server first, or raise endpoint.wait_ready."))
      }
    }
    return Interrupts.seen == 0
  }

  // MARK: Variants in their turns

  private func runParts(_ parts: [Part], _ folder: RunFolder) throws {
    let repeats = options.session != nil ? 1 : max(1, loaded.variants[0].scenario.measure.repeats)
    var random = SeededRandom(seed: record.seed, purpose: "order of variants")
    for repetition in 0..<repeats {
      for number in Array(parts.indices).shuffled(using: &random) {
        if try !runPart(parts[number], number, repetition, folder) { return }
      }
    }
    for variant in loaded.variants where variant.scenario.load.search != nil {
      if try !search(variant, repeats, folder) { return }
    }
  }

  /// One load of one variant; false where the run is over with it.
  private func runPart(_ part: Part, _ number: Int, _ repetition: Int, _ folder: RunFolder) throws -> Bool {
    if let load = part.scenario.wukongim { return try runWuKongIM(part, load, number, repetition, folder) }
    let candidates: [(any RunObserver)?] = [gateWatch, live?.watch]
    let followers = candidates.compactMap { $0 }
    let runner = VariantRunner(
      scenario: part.scenario, variant: record.variants[number], variantNumber: number, repetition: repetition,
      folder: folder, options: options, secrets: loaded.secrets, runOrigin: wall.origin,
      runWallMilliseconds: startedAtMilliseconds, panel: panel,
      observer: followers.isEmpty ? nil : ObserverList(followers))
    runner.startAt = record.loadStarts.isEmpty ? startAt : nil
    runner.comparesClients = record.variants.count > 1
    runner.willBegin = { [unowned self] begin in noteStart(part, repetition, begin, folder) }
    do {
      try runner.run(mockSettings: part.scenario.endpoint.url == nil ? part.scenario.endpoint.mock?.json : nil)
    } catch let error as EngineError {
      record.partialBecause = loaded.secrets.scrub(error.description)
      record.ioError = true
      return false
    }
    if let failure = runner.failure {
      record.partialBecause = loaded.secrets.scrub(failure)
      record.ioError = true
      return false
    }
    if Interrupts.seen > 0 {
      record.partialBecause = "The run was interrupted."
      return false
    }
    if let reason = gateWatch?.reason {
      record.warnings.append(
        RunWarning(
          code: "aborted_by_gate", message: "The run was ended early. \(reason)",
          hint: "The gate has abort_on_fail; without it the run goes on to its end.", variant: part.name))
      return false
    }
    if runner.budgetIsSpent {
      record.warnings.append(
        RunWarning(
          code: "budget_spent", message: "The run stopped before it would have passed the scenario's budget.",
          hint: "Raise budget.requests or budget.output_tokens, or lower the load.", variant: part.name))
    }
    return true
  }

  private func runWuKongIM(
    _ part: Part, _ load: WuKongIMLoad, _ number: Int, _ repetition: Int, _ folder: RunFolder
  ) throws -> Bool {
    let runner = WuKongRunner(
      scenario: part.scenario, load: load, variant: record.variants[number], variantNumber: number,
      repetition: repetition, folder: folder, secrets: loaded.secrets, runOrigin: wall.origin,
      runWallMilliseconds: startedAtMilliseconds)
    do {
      try runner.run()
    } catch let error as EngineError {
      record.partialBecause = loaded.secrets.scrub(error.description)
      record.ioError = true
      return false
    }
    if let failure = runner.failure {
      record.partialBecause = loaded.secrets.scrub(failure)
      record.ioError = true
      return false
    }
    return Interrupts.seen == 0
  }

  // MARK: Search

  /// The highest load of a variant that meets its limits: 99 % of the sessions good, and the load really applied.
  private func search(_ variant: LoadedScenario.Variant, _ repeats: Int, _ folder: RunFolder) throws -> Bool {
    guard let search = variant.scenario.load.search else { return true }
    var bisection = LoadSearch(from: search.from, to: search.to, tolerance: search.tolerance)
    var missed = ""
    while let load = bisection.next {
      let point = try searchPoint(variant, load)
      let used = point.value.asDouble ?? load
      if bisection.isKnown(used) { break }
      let name = variant.name(of: point, isOnly: loaded.variants.count == 1)
      var changes = variant.changes.asObject ?? JSONObject()
      changes[point.key] = point.value
      let part = Part(name: name, scenario: point.scenario, client: variant.client, changes: .object(changes))
      let number = record.variants.count
      record.variants.append(VariantRecord(name: part.name, client: clientSettings(part)))
      for repetition in 0..<repeats {
        if try !runPart(part, number, repetition, folder) { return false }
      }
      let fault = limitFault(record.variants[number])
      let met = fault == nil
      if let fault {
        record.variants[number].isProbe = true
        missed = fault
      }
      bisection.learn(point.value.asDouble == nil ? load : used, met: met)
    }
    let limit = bisection.best.map { "The highest \(search.key) that meets the limits is \(JSONValue.numberText($0))" }
    let above = bisection.worst.map { "; \(JSONValue.numberText($0)) does not" } ?? "; the search ended at its upper end"
    let why = missed.isEmpty ? "" : " At the last load that did not: \(missed)"
    record.warnings.append(
      RunWarning(
        code: "search_result",
        message: (limit ?? "Not even \(search.key) = \(JSONValue.numberText(search.from)) meets the limits") + above + "." + why,
        hint: "Met means: 99 % of the sessions complete within the slo, and the load is really applied.",
        variant: loaded.variants.count > 1 ? variant.name : nil))
    return true
  }

  private func searchPoint(_ variant: LoadedScenario.Variant, _ load: Double) throws -> LoadedScenario.Point {
    do throws(ScenarioFailure) {
      return try loaded.point(of: variant, at: load)
    } catch {
      throw CommandFailure(error.kind.exitCode, error.description)
    }
  }

  /// Why a load does not meet its limits, in a sentence; nil where it does.
  private func limitFault(_ variant: VariantRecord) -> String? {
    let counters = variant.total.counters
    let judged = counters.started - counters.cancelledAtEnd
    guard judged > 0, Double(counters.good) >= 0.99 * Double(judged) else { return "\(counters.good) of \(judged) sessions met the slo." }
    var alone = record
    alone.variants = [variant]
    alone.warnings = []
    return Warnings.of(alone).first { Judgement.invalidating.contains($0.code) }?.message
  }

  private func finish(_ folder: RunFolder) throws -> ExitCode {
    panel?.clear()
    record.durationSeconds = (Instant.now() - wall.origin).seconds
    if Interrupts.seen > 0 { record.partialBecause = record.partialBecause ?? "The run was interrupted." }
    let scenario = loaded.variants[0].scenario
    if Version.build == "debug" {
      record.warnings.append(
        RunWarning(code: "debug_build", message: "This is a debug build: its figures mean little.", hint: "Build with `swift build -c release`."))
    }
    if scenario.measure.priority == .realtime, record.variants.contains(where: { !$0.instrument.realtime }) {
      record.warnings.append(
        RunWarning(
          code: "realtime_refused", message: "The system refused real-time priority; the run went on without it.",
          hint: "Run as root, or allow it with `ulimit -r`."))
    }
    do { _ = try folder.finish(record) } catch { throw CommandFailure(.ioError, "\(error)") }
    live?.watch.ended(verdict: folder.summary?.verdict.rawValue ?? "partial")
    if let summary = folder.summary {
      try options.addToHistory(summary, folder: folder.path)
      if options.json {
        Terminal.result(summary.tree.text(pretty: true))
      } else if !options.quiet {
        Terminal.result(TerminalSummary.text(summary, folder: folder.path))
      }
    }
    return ExitCode(rawValue: folder.exitStatus) ?? .software
  }
}
