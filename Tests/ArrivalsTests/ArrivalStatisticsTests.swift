// Arrival processes against theory, over large samples with fixed seeds. The limits are five standard errors.

import Arrivals
import Primitives
import Scenarios
import Testing

@Suite struct ArrivalStatisticsTests {
  static let n = 200_000

  @Test func constantArrivalsAreEven_WithoutDrift() {
    let times = seconds(
      scenario(.constant) {
        $0.rate = 3
        $0.sessions = Self.n
      })

    #expect(times.count == Self.n)
    #expect(times[0] == 0)
    #expect(times.enumerated().allSatisfy { abs($1 - Double($0) / 3) < 1e-9 })
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func poissonGapsHaveMeanCVAndNoMemory(seed: UInt64) {
    let rate = 50.0
    let sample = Moments(
      gaps(
        seconds(
          scenario(.poisson, seed: seed) {
            $0.rate = rate
            $0.sessions = Self.n
          })))

    let error = 1 / Double(Self.n).squareRoot()
    #expect(abs(sample.mean * rate - 1) < 5 * error, "seed \(seed)")
    #expect(abs(sample.cv - 1) < 5 * 1.5 * error, "seed \(seed)")
    #expect(abs(sample.lag1) < 5 * error, "seed \(seed)")
  }

  @Test func poissonCountsHaveTheVarianceOfTheirMean() {
    let times = seconds(
      scenario(.poisson) {
        $0.rate = 100
        $0.duration = .seconds(2_000)
      })

    var counts = [Double](repeating: 0, count: 2_000)
    for time in times { counts[Int(time)] += 1 }
    let sample = Moments(counts)

    #expect(abs(sample.mean - 100) < 5 * 10 / 2_000.0.squareRoot())
    // Index of dispersion: variance ÷ mean is 1, within 5·√(2/n).
    #expect(abs(sample.cv * sample.cv * sample.mean - 1) < 5 * (2 / 2_000.0).squareRoot())
    #expect(abs(sample.lag1) < 5 / 2_000.0.squareRoot())
  }

  /// However narrow: the plan ends, and its gaps are all but even.
  @Test(arguments: [1e-300, 1e-160, 1e-9, 5e-5]) func narrowGammaGaps_AreAllButEven(cv: Double) {
    let gaps = gaps(
      seconds(
        scenario(.gamma) {
          $0.rate = 10
          $0.cv = cv
          $0.sessions = 1_000
        }))

    #expect(gaps.count >= 999 && gaps.allSatisfy { abs($0 * 10 - 1) < 10 * max(cv, 1e-8) })
  }

  @Test(arguments: [0.25, 0.5, 1, 2, 4])
  func gammaGapsHaveTheirCV(cv: Double) {
    let sample = Moments(
      gaps(
        seconds(
          scenario(.gamma) {
            $0.rate = 10
            $0.cv = cv
            $0.sessions = Self.n
          })))

    let error = 1 / Double(Self.n).squareRoot()
    #expect(abs(sample.mean * 10 - 1) < 5 * cv * error)
    // Of a gamma variable the standard error of the CV is about cv·√((1 + 2cv²)/2n)… with its kurtosis below 2·cv².
    #expect(abs(sample.cv / cv - 1) < 5 * (0.5 + 2 * cv * cv).squareRoot() * error)
    #expect(abs(sample.lag1) < 5 * error)
  }

  @Test func gammaWithCV1_IsThePoissonPlan() {
    let poisson = scenario(.poisson) {
      $0.rate = 10
      $0.sessions = 1_000
    }
    var gamma = poisson
    gamma.load.model = .gamma

    #expect(seconds(poisson) == seconds(gamma))
  }

  @Test func plansAreNeverFittedToADuration() {
    let short = seconds(
      scenario(.poisson) {
        $0.rate = 20
        $0.duration = .seconds(10)
      })
    let long = seconds(
      scenario(.poisson) {
        $0.rate = 20
        $0.duration = .seconds(100)
      })
    let counted = seconds(
      scenario(.poisson) {
        $0.rate = 20
        $0.sessions = 5_000
      })

    #expect(Array(long.prefix(short.count)) == short)
    #expect(Array(counted.prefix(long.count)) == long)
    #expect(short.allSatisfy { $0 < 10 })
    #expect(long[short.count] >= 10)
  }

  @Test func stagesFollowTheIntegralOfTheRate() {
    let scenario = scenario(.stages) {
      $0.stages = [
        .init(rate: 100, length: .seconds(10)), .init(rate: 100, length: .seconds(5)),
        .init(rate: 20, length: .zero),
        .init(rate: 20, length: .seconds(10)), .init(rate: 0, length: .seconds(10)),
        .init(rate: 0, length: .seconds(5)), .init(rate: 10, length: .seconds(2)),
      ]
    }
    // Up to 10 s: 5t²; then 100 a second; a step to 20; down to 0; nothing; a ramp to 10.
    func integral(_ t: Double) -> Double {
      switch t {
      case ..<10: 5 * t * t
      case ..<15: 500 + 100 * (t - 10)
      case ..<25: 1_000 + 20 * (t - 15)
      case ..<35: 1_200 + 20 * (t - 25) - (t - 25) * (t - 25)
      case ..<40: 1_300
      default: 1_300 + 2.5 * (t - 40) * (t - 40)
      }
    }

    let times = seconds(scenario)

    #expect(times.count == 1_310)
    #expect(times == times.sorted())
    #expect(times.enumerated().allSatisfy { abs(integral($1) - (Double($0) + 0.5)) < 1e-4 })
  }

  @Test func burstIsOneInstant() {
    #expect(
      seconds(scenario(.burst) { $0.burst = .init(sessions: 500, at: .seconds(2)) })
        == Array(repeating: 2, count: 500))
  }

  @Test func traceKeepsTimesAndSizes_AtItsSpeed() {
    let arrivals = [
      TraceArrival(at: .zero, inputTokens: 5, outputTokens: 50),
      TraceArrival(at: .seconds(3), inputTokens: nil, outputTokens: 7),
      TraceArrival(at: .seconds(4), inputTokens: 9, outputTokens: nil),
    ]
    let plan = Plan.make(
      scenario(.trace) { $0.trace = .init(file: "t", format: .csv, speed: 2, arrivals: arrivals) })

    #expect(
      starts(plan) == [
        PlannedStart(session: 0, at: .zero, maxTokens: 50, inputTokens: 5),
        PlannedStart(session: 1, at: .seconds(1.5), maxTokens: 7),
        PlannedStart(session: 2, at: .seconds(2), inputTokens: 9),
      ])
    #expect(plan.planned == 3)
  }
}
