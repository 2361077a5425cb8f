// Asks a server that all hosts of a run can reach what time it is, until the distance of its clock from ours is known as
// closely as it can be. Asks with GET, so that nothing is generated and nothing is paid.

import Foundation
import Primitives
import Recording
import Scenarios
import Transports

enum ClockProbe {
  /// The most questions to one server.
  private static let mostSamples = 12

  /// This host's clock against that of the server at `url`; nil where it says no time, or its answers contradict each other.
  ///
  /// - Parameter startAt: the time by the server's clock, in nanoseconds since 1970, at which the run is to begin; it does
  ///   not wait for questions.
  static func measure(_ url: String, endpoint: Scenarios.Endpoint, by wall: WallClock, before startAt: Int64?) -> HostClock? {
    let address = Readiness.address(url, endpoint)
    let patience = Instant.now() + .seconds(4)
    var bounds = ClockBounds()
    var refusals = 0
    while bounds.samples < mostSamples && refusals < 3 && Interrupts.seen == 0 {
      let now = Instant.now()
      let next = wall.instant(at: bounds.nextQuestion(after: wall.time(at: now)))
      // The first question is always asked: a bound of a second is better than none. Only then is it known how much time
      // there is: a clock that is off has the start at another time.
      if let offset = bounds.offset {
        let start = startAt.map { wall.instant(at: $0 + offset) + .milliseconds(-500) }
        if next > min(patience, start ?? patience) { break }
      }
      if next > now { usleep(UInt32(clamping: (next - now).value / 1_000)) }
      guard let answer = SingleRequest.clock(address, within: .seconds(2)) else {
        refusals += 1
        continue
      }
      bounds.add(answer.clock, sent: wall.time(at: answer.sent), received: wall.time(at: answer.received))
      // Closer than the way there and back it cannot be known.
      if let uncertainty = bounds.uncertainty, let roundTrip = bounds.roundTrip, bounds.resolution > 1, uncertainty <= roundTrip { break }
    }
    guard !bounds.isBroken, let offset = bounds.offset, let uncertainty = bounds.uncertainty else { return nil }
    return HostClock(
      reference: shown(url), isFine: bounds.resolution == 1, offset: offset, uncertainty: uncertainty, samples: bounds.samples)
  }

  /// Without what may be secret: a query, or a name and a password.
  private static func shown(_ url: String) -> String {
    guard var parts = URLComponents(string: url) else { return "" }
    parts.query = nil
    parts.user = nil
    parts.password = nil
    return parts.string ?? ""
  }
}
