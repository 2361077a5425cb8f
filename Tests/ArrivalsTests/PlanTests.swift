// Plans follow from scenario and seed alone, and their shards together are the plan.

import Arrivals
import Primitives
import Scenarios
import Testing

@Suite struct PlanTests {
  static let loads: [Scenario] = [
    scenario(.closed) {
      $0.concurrency = 37
      $0.sessions = 101
      $0.rampUp = .seconds(3)
    },
    scenario(.constant) {
      $0.rate = 30
      $0.duration = .seconds(10)
    },
    scenario(.poisson) {
      $0.rate = 30
      $0.duration = .seconds(10)
    },
    scenario(.gamma) {
      $0.rate = 30
      $0.cv = 3
      $0.sessions = 300
    },
    scenario(.stages) {
      $0.stages = [.init(rate: 50, length: .seconds(10)), .init(rate: 50, length: .seconds(3))]
    },
    scenario(.burst) { $0.burst = .init(sessions: 50, at: .seconds(1)) },
    scenario(.trace) {
      $0.trace = .init(
        file: "t", format: .csv, speed: 1,
        arrivals: (0..<77).map {
          TraceArrival(at: .milliseconds(Double($0 * $0)), inputTokens: $0, outputTokens: $0 * 2)
        })
    },
  ]

  @Test(arguments: loads)
  func samePlanFromTheSameSeed(scenario: Scenario) {
    #expect(starts(Plan.make(scenario)) == starts(Plan.make(scenario)))
  }

  @Test func seedChangesRandomPlansOnly() {
    for scenario in Self.loads {
      let isRandom = scenario.load.model == .poisson || scenario.load.model == .gamma

      #expect((starts(Plan.make(scenario)) != starts(Plan.make(scenario, seed: 43))) == isRandom)
    }
  }

  @Test func planDependsOnNothingElse() {
    var scenario = Self.loads[2]
    let before = starts(Plan.make(scenario))

    scenario.name = "other"
    scenario.client.stack = .raw
    scenario.endpoint.url = "http://h"
    scenario.load.maxLive = 3
    scenario.load.workers = 4

    #expect(starts(Plan.make(scenario)) == before)
  }

  @Test(arguments: loads, [1, 2, 3, 4, 7, 64])
  func shardsTogetherAreThePlan(scenario: Scenario, count: Int) throws {
    let whole = Plan.make(scenario)

    let shards = (0..<count).map { Plan.make(scenario, shard: Shard(index: $0, count: count)) }

    let union = shards.flatMap(starts).sorted { $0.session < $1.session }
    #expect(union == starts(whole))
    #expect(shards.compactMap(\.planned).reduce(0, +) == whole.planned)
    for shard in shards {
      #expect(starts(shard) == starts(shard).sorted { $0.session < $1.session })
      if case .open = shard.kind { #expect(shard.planned == starts(shard).count) }
    }
  }

  @Test func closedShardsTakeEverySessionOnce() throws {
    let shards = (0..<5).map { closed(Plan.make(Self.loads[0], shard: Shard(index: $0, count: 5))) }

    let sessions = shards.flatMap { shard in (0..<(shard.sessions ?? 0)).map { shard.session($0) } }

    #expect(sessions.sorted() == Array(0..<101))
  }

  @Test func rampUpSpreadsTheFirstStartsEvenly() {
    let plan = Plan.make(
      scenario(.closed) {
        $0.concurrency = 4
        $0.sessions = 100
        $0.rampUp = .seconds(2)
      })

    #expect(starts(plan).map(\.at.seconds) == [0, 0.5, 1, 1.5])
    #expect(plan.planned == 100)
  }

  @Test func fewerSessionsThanPlaces_NeedNoMorePlaces() {
    let plan = Plan.make(
      scenario(.closed) {
        $0.concurrency = 40
        $0.sessions = 3
      })

    #expect(closed(plan).places == 3)
  }

  @Test func closedLoadWithATime_HasNoCount_AndEndsAfterTheWarmUp() {
    var scenario = scenario(.closed) {
      $0.concurrency = 4
      $0.duration = .seconds(10)
    }
    scenario.measure.warmUp = .seconds(3)

    let plan = Plan.make(scenario)

    #expect(plan.planned == nil)
    #expect(plan.end == .seconds(13))
    #expect(closed(plan).session(1_000_000) == 1_000_000)
  }

  @Test func thinkTimeIsDrawnForEachSession() throws {
    let load = scenario(.closed) {
      $0.concurrency = 4
      $0.sessions = 100
      $0.thinkTime = .exponential(mean: 5e8)
    }
    let whole = closed(Plan.make(load))
    let shard = closed(Plan.make(load, shard: Shard(index: 1, count: 3)))

    let times = (0..<2_000).map { whole.thinkTime(before: $0).seconds }

    #expect(abs(Moments(times).mean - 0.5) < 0.06)
    #expect(shard.thinkTime(before: 7) == whole.thinkTime(before: 7))
  }

  @Test func warmUpComesBeforeTheDuration() {
    var scenario = scenario(.constant) {
      $0.rate = 10
      $0.duration = .seconds(5)
    }
    scenario.measure.warmUp = .seconds(2)

    #expect(Plan.make(scenario).planned == 70)
  }

  @Test func constantCountIsExact() {
    for rate in [0.1, 1, 3, 7, 1_000, 333.333] {
      for duration in [0.001, 0.3, 1, 2.999_999_999, 10] {
        let plan = Plan.make(
          scenario(.constant) {
            $0.rate = rate
            $0.duration = .seconds(duration)
          })

        #expect(plan.planned == starts(plan).count, "\(rate) for \(duration)")
      }
    }
  }

  @Test func tenMillionStartsNeedNoArray() {
    let plan = Plan.make(
      scenario(.poisson) {
        $0.rate = 1e6
        $0.duration = .seconds(10)
      })

    #expect(plan.planned.map { abs($0 - 10_000_000) < 20_000 } == true)
    #expect(MemoryLayout<OpenPlan.Iterator>.size < 512)
  }

  @Test func readersOfWuKongIMStartAtOnce() {
    var scenario = Scenario()
    scenario.wukongim = WuKongIMLoad()
    scenario.wukongim?.readers = 25

    let plan = Plan.make(scenario)

    #expect(plan.planned == 25)
    #expect(starts(plan).allSatisfy { $0.at == .zero })
  }

  @Test func poissonShardIsPoisson() throws {
    let shard = Shard(index: 2, count: 4)
    let sample = Moments(
      gaps(
        seconds(
          scenario(.poisson) {
            $0.rate = 400
            $0.sessions = 400_000
          }, shard: shard)))

    let error = 1 / 100_000.0.squareRoot()
    #expect(abs(sample.mean * 100 - 1) < 5 * error)
    #expect(abs(sample.cv - 1) < 5 * 1.5 * error)
    #expect(abs(sample.lag1) < 5 * error)
  }

  @Test func rampOfAShardIsItsShareOfTheRamp() throws {
    let ramp = scenario(.stages) { $0.stages = [.init(rate: 100, length: .seconds(20))] }
    for index in 0..<4 {
      let times = seconds(ramp, shard: Shard(index: index, count: 4))

      #expect(times.count == 250)
      // A quarter of the integral 2.5t² at every start.
      #expect(times.enumerated().allSatisfy { abs(2.5 * $1 * $1 / 4 - Double($0)) <= 1 })
    }
  }
}
