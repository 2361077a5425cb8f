// The laws by which sessions arrive, and the arrivals that follow from one and a seed. Times are sums or inverses of
// the law itself and are never fitted to a duration or a count.

internal import Primitives
internal import Scenarios

enum ArrivalProcess: Sendable {
  /// Session k at k ÷ rate.
  case constant(rate: Double)
  /// Gaps drawn from a gamma distribution with mean 1 ÷ rate and this coefficient of variation: shape 1 ÷ cv². With
  /// cv 1 the gaps are exponential and the process is Poisson.
  case gamma(rate: Double, cv: Double)
  /// Session k when the integral of the rate passes k + ½: the ramp's own spacing, without chance.
  case stages([Load.Stage])
  case burst(sessions: Int, at: Nanoseconds)
  case trace([TraceArrival], speed: Double)

  var isRandom: Bool { if case .gamma = self { true } else { false } }

  /// How many of the first `limit` arrivals come before `end`, where that can be said without walking through them.
  func count(before end: Nanoseconds?, limit: Int?) -> Int? {
    switch self {
    case .burst(let sessions, let at): return end.map { at >= $0 } == true ? 0 : min(sessions, limit ?? .max)
    case .gamma: return end == nil ? limit : nil
    case .constant(let rate):
      guard let end else { return limit }
      // The instant of a session is rounded, so the last one is looked for around the exact product.
      var count = Int((end.seconds * rate).rounded(.up)) + 1
      while count > 0, Nanoseconds(clamping: Double(count - 1) / rate * 1e9) >= end { count -= 1 }
      return min(count, limit ?? .max)
    case .stages, .trace: return nil
    }
  }
}

/// Arrivals one after the other.
struct ArrivalIterator: Sendable {
  private let process: ArrivalProcess
  private var random: SeededRandom
  private var index = 0
  /// Seconds; of a random process the time of the last arrival.
  private var time = 0.0
  // Of stages: which one, when it began and what the integral was then.
  private var stage = 0
  private var stageStart = 0.0
  private var integral = 0.0

  init(_ process: ArrivalProcess, seed: UInt64) {
    self.process = process
    random = SeededRandom(seed: seed, purpose: "arrivals")
  }

  mutating func next() -> TraceArrival? {
    defer { index += 1 }
    switch process {
    case .constant(let rate): return at(Double(index) / rate)
    case .gamma(let rate, let cv):
      time += random.gammaGap(cv: cv) / rate
      return at(time)
    case .stages(let stages): return inverse(Double(index) + 0.5, of: stages).flatMap { at($0) }
    case .burst(let sessions, let instant):
      return index < sessions ? TraceArrival(at: instant, inputTokens: nil, outputTokens: nil) : nil
    case .trace(let arrivals, let speed):
      guard index < arrivals.count else { return nil }
      var arrival = arrivals[index]
      if speed != 1 { arrival.at = Nanoseconds(clamping: Double(arrival.at.value) / speed) }
      return arrival
    }
  }

  /// nil beyond the longest time that a plan holds.
  private func at(_ seconds: Double) -> TraceArrival? {
    let nanoseconds = seconds * 1e9
    guard nanoseconds <= Double(Nanoseconds.longest.value) else { return nil }
    return TraceArrival(at: Nanoseconds(Int64(nanoseconds.rounded())), inputTokens: nil, outputTokens: nil)
  }

  /// The time at which the integral of a rate that is linear within each stage reaches `wanted`; nil when it never does.
  private mutating func inverse(_ wanted: Double, of stages: [Load.Stage]) -> Double? {
    while stage < stages.count {
      let length = stages[stage].length.seconds
      let first = stage == 0 ? 0 : stages[stage - 1].rate
      let last = stages[stage].rate
      let area = (first + last) / 2 * length
      let missing = wanted - integral
      if missing <= area, area > 0 {
        // Of first·t + slope·t²/2 = missing the root that keeps its precision when the slope is small.
        let slope = (last - first) / length
        let root = max(0, first * first + 2 * slope * missing).squareRoot()
        return stageStart + min(length, 2 * missing / (first + root))
      }
      integral += area
      stageStart += length
      stage += 1
    }
    return nil
  }
}

extension SeededRandom {
  /// A gap with mean 1 and this coefficient of variation, gamma distributed.
  ///
  /// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); below shape 1 by their boost.
  mutating func gammaGap(cv: Double) -> Double {
    if cv == 1 { return exponential() }
    // So narrow a distribution is a normal one to 1 part in 10,000; the general way would lose it in rounding, and at last never end.
    if cv < 1e-4 { return max(0, 1 + cv * normal()) }
    let shape = 1 / (cv * cv)
    let d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3
    let c = 1 / (9 * d).squareRoot()
    while true {
      let x = normal()
      let v = 1 + c * x
      if v <= 0 { continue }
      let cube = v * v * v
      let u = 1 - uniform()
      if Maths.log(u) < 0.5 * x * x + d - d * cube + d * Maths.log(cube) {
        let boost = shape < 1 ? Maths.pow(1 - uniform(), 1 / shape) : 1
        return d * cube * boost / shape
      }
    }
  }
}
