// The wall clock of this process: read once for a run, which then counts on the monotonic clock. What goes into files and
// what `--start-at` waits for come from here.

import CPlatform
import Foundation
import Primitives
import Scenarios

struct WallClock: Sendable {
  /// Nanoseconds since 1970 at `origin`.
  let start: Int64
  let origin: Instant

  /// The clock as it stands now, at a whole millisecond: instants of a run's files count from there.
  ///
  /// Both clocks are read one after the other, so that a pause between them would count as a difference: of several readings that with
  /// the least time around it counts.
  init() {
    var best = (width: Int64.max, wall: Int64(0), middle: Instant.now())
    for _ in 0..<8 {
      let before = Instant.now()
      let wall = Self.now
      let width = (Instant.now() - before).value
      if width < best.width { best = (width, wall, before + Nanoseconds(width / 2)) }
    }
    start = best.wall / 1_000_000 * 1_000_000
    origin = best.middle + Nanoseconds(start - best.wall)
  }

  var startMilliseconds: Int64 { start / 1_000_000 }

  func time(at instant: Instant) -> Int64 { start + (instant - origin).value }

  func instant(at time: Int64) -> Instant { origin + Nanoseconds(time - start) }

  /// Nanoseconds since 1970.
  static var now: Int64 { CPlatform_realtime_ns() + testOffset }

  /// For tests alone: how far this process's clock is set off, as several hosts on one machine would be.
  static let testVariable = "SSEBENCH_TEST_CLOCK_OFFSET"
  private static let testOffset: Int64 = {
    guard let text = ProcessInfo.processInfo.environment[testVariable], let seconds = Double(text), abs(seconds) < 1e6
    else { return 0 }
    return Int64(seconds * 1e9)
  }()
}
