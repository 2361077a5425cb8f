// What the flags of `run` ask for beyond the scenario.

import Arrivals
import Scenarios

struct RunOptions: Sendable {
  /// The folder of the run; nil: made under Reports/.
  var out: String?
  /// Run this one session of the plan and no other.
  var session: Int?
  var shard: Shard?
  /// Wall-clock start in milliseconds since 1970.
  var startAt: Int64?
  var quiet = false
  var json = false
  /// More than 50 live sessions may go to an address that is not loopback.
  var confirmed = false
  /// Where a page about the run is served while it goes on, and its figures for Prometheus.
  var dashboard: LiveAddress?
  var metrics: LiveAddress?
  var history: String?
  /// As typed, for "how to reproduce".
  var commandLine = ""
}
