// Gates are read strictly, judged on every variant, and fail only beyond doubt.

import Testing
import Analysis
import Primitives
import Recording
import TestSupport

@Suite struct GateTests {
  private static let known = KnownKeys(variantNames: ["whatwg", "data-only"])

  private static func problem(_ text: String) -> GateProblem? {
    do throws(GateProblem) {
      _ = try GateExpression.parse(text, knownKeys: known)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    "ttft_ms.p99 < 400", "errors_ratio <= 0.001", "ttft_ms.p99 <= baseline * 1.10", "memory.flat == true",
    "variants[\"data-only\"].parser.cpu_ns_per_event < 0.5 * variants.whatwg.parser.cpu_ns_per_event",
    "-(ttft_ms.p50 - 3) / 2e3 > -1", "errors.truncated == 0", "from_scheduled.e2e_ms.max>=1", "memory.ci95.0 <= 0",
    "run.duration_s < 100", "recovery.time_ms.p99 < 100", "instrument.itl_error_ms.p99 < 1", "models.gpt >= 1",
    "wukongim.append_ms.p50 < 3",
  ])
  func wellFormed_IsRead(text: String) {
    #expect(Self.problem(text) == nil)
  }

  @Test(arguments: [
    ("ttft_ms.p9 < 1", 1, "did you mean `ttft_ms.p9"), ("tftt_ms.p99 < 1", 1, "did you mean `ttft_ms.p99`"),
    ("ttft_ms < 1", 1, "is not a number; it has count"), ("ttft_ms.p99 = 1", 13, "expected one of"),
    ("ttft_ms.p99 <", 14, "ends where"), ("ttft_ms.p99 < 400ms", 15, "no unit"), ("1 < 2", 1, "no key"),
    ("ttft_ms.p99 < (1", 17, "`)` is missing"), ("", 1, "empty"), ("ttft_ms.p99 < 1 < 2", 17, "after the end"),
    ("ttft_ms.p99 < baseline + e2e_ms.p99", 1, "exactly one key"), ("variants.lines.ttft_ms.p99 < 1", 1, "is no variant"),
    ("variants[\"data-onyl\"].ttft_ms.p99 < 1", 1, "did you mean \"data-only\""), ("ttft_ms.p99 < ;", 15, "where a number"),
  ])
  func malformed_SaysWhereAndWhat(text: String, column: Int, says: String) throws {
    let problem = try #require(Self.problem(text))

    #expect(problem.column == column, "\(problem.sentence)")
    #expect(problem.message.contains(says), "\(problem.sentence)")
  }

  @Test func deepAndLongTexts_AreRefused() {
    #expect(Self.problem(String(repeating: "(", count: 500) + "1 < ttft_ms.p50") != nil)
    #expect(Self.problem(String(repeating: "-", count: 500) + "1 < ttft_ms.p50") != nil)
    #expect(Self.problem("ttft_ms.p50 < 1" + String(repeating: " + 1", count: 1_000)) != nil)
  }

  private static func judge(_ gates: [String], baseline: (any Baseline)? = nil, due: Bool = false) -> [GateResult] {
    let run = SyntheticRun.make { $0.variants = ["whatwg", "data-only"]; $0.sessions = 700 }
    return GateJudge(tree: Summary(run.record).tree, baseline: baseline, withoutBaseline: due ? .fails : .waits).judge(GateList(texts: gates))
  }

  @Test func gateWithoutVariants_IsJudgedForEach() {
    let results = Self.judge(["ttft_ms.p99 < 400", "ttft_ms.p99 < 100"])

    #expect(results.map(\.variant) == ["whatwg", "data-only", "whatwg", "data-only"])
    #expect(results.map(\.held) == [true, true, false, false])
    #expect(results[2].reason == "beyond_limit")
  }

  @Test func gateOverVariants_IsJudgedOnce() {
    let results = Self.judge(["variants[\"data-only\"].ttft_ms.p50 < 2 * variants.whatwg.ttft_ms.p50"])

    #expect(results.count == 1)
    #expect(results[0].held == true)
  }

  @Test func unmeasuredFigure_DoesNotHold() {
    let results = Self.judge(["ttft_ms.p999 < 1e9", "delivery_ms.p50 < 1e9", "goodput.ratio > 0 - 1"])

    #expect(results.allSatisfy { $0.held == false && $0.reason == "not_measured" })
  }

  @Test func divisionByZero_DoesNotHold() {
    let results = Self.judge(["ttft_ms.p50 / errors_ratio < 1e9"])

    #expect(results.allSatisfy { $0.held == false && $0.reason == "not_measured" })
  }

  @Test func baselineGate_WaitsInARunAndFailsInAGateWithoutOne() {
    #expect(Self.judge(["ttft_ms.p50 < baseline"]).allSatisfy { $0.held == nil && $0.reason == "needs_baseline" })
    #expect(Self.judge(["ttft_ms.p50 < baseline"], due: true).allSatisfy { $0.held == false })
  }

  /// A baseline whose figure is known with a given uncertainty.
  private struct Fixed: Baseline {
    var value: Double
    var spread: Double

    func figure(path: [String], variant: String?) -> BaselineFigure? {
      var random = SeededRandom(seed: 1, purpose: "fixed baseline")
      return BaselineFigure(
        baseline: value, candidateReplicates: (0..<500).map { _ in 200 + spread * random.normal() },
        baselineReplicates: (0..<500).map { _ in value + spread * random.normal() })
    }
  }

  @Test func baselineGate_FailsOnlyBeyondItsInterval() {
    let noisy = Self.judge(["ttft_ms.p50 <= baseline"], baseline: Fixed(value: 195, spread: 10))
    let sure = Self.judge(["ttft_ms.p50 <= baseline"], baseline: Fixed(value: 195, spread: 0.5))

    #expect(noisy.allSatisfy { $0.held == true && $0.reason == "within_noise" })
    #expect(sure.allSatisfy { $0.held == false && $0.interval != nil })
  }

  @Test func baselineOfAnotherScenario_IsToldAndDoesNotHold() {
    let run = SyntheticRun.make { $0.sessions = 60 }

    let results = GateJudge(tree: Summary(run.record).tree, withoutBaseline: .notComparable).judge(
      GateList(texts: ["ttft_ms.p50 < baseline", "ttft_ms.p50 < 1e9"]))

    #expect(results.map(\.held) == [false, true])
    #expect(results[0].reason == "not_comparable")
  }

  /// A baseline that also knows the figure over all candidate runs.
  private struct Pooled: Baseline {
    var baseline: Double
    var candidate: Double

    func figure(path: [String], variant: String?) -> BaselineFigure? {
      BaselineFigure(
        baseline: baseline, candidate: candidate, candidateReplicates: [Double](repeating: candidate, count: 100),
        baselineReplicates: [Double](repeating: baseline, count: 100))
    }
  }

  @Test func severalCandidates_ArePooledForABaselineAndJudgedOneByOneWithout() {
    let runs = [200.0, 230.0].map { ttft in Summary(SyntheticRun.make { $0.sessions = 700; $0.ttft = ttft }.record).tree }
    let list = GateList(texts: ["ttft_ms.p50 <= baseline * 1.10", "ttft_ms.p50 <= baseline * 1.05", "ttft_ms.p50 < 215"])

    let results = GateJudge.judge(
      list, candidates: runs, baseline: Pooled(baseline: 200, candidate: 215), withoutBaseline: .fails)

    #expect(results.map(\.held) == [true, false, false])
    #expect(results[0].observed == 215 && results[1].observed == 215)
    #expect((results[2].observed ?? 0) > 220)
  }

  @Test func knownKeys_AreThoseOfASummary() {
    let keys = Self.known.ofVariant

    for key in ["sessions.completed", "errors.http_429", "tokens.per_s", "goodput.sessions_per_s", "streaming.fake_ratio",
      "memory.slope_bytes_per_token", "recovery.undelivered", "parser.bytes_per_cpu_s", "instrument.loop_iteration_ms.p999"] {
      #expect(keys.contains(key), "\(key)")
    }
  }
}
