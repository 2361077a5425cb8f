// What the flags of `run` ask for beyond the scenario.

import Analysis
import Arrivals
import Reporting
import Scenarios

struct RunOptions: Sendable {
  /// The folder of the run; nil: made under Reports/.
  var out: String?
  /// Run this one session of the plan and no other.
  var session: Int?
  var shard: Shard?
  /// Wall-clock start in milliseconds since 1970.
  var startAt: Int64?
  /// The server whose clock this host's is held against; nil: the endpoint, where the run is a shard.
  var clock: String?
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

extension RunOptions {
  /// Puts a finished run into the archive that `--history` names.
  func addToHistory(_ summary: Summary, folder: String) throws {
    guard let history else { return }
    do throws(HistoryError) {
      try History(path: history).add(summary, folder: folder)
    } catch {
      throw CommandFailure(.ioError, "the run is in \(folder), but not in the archive: \(error)")
    }
  }
}
