// Where a worker puts what it has, and the reporting thread takes it: once a second the figures, every 50 ms the
// finished sessions. The only thing that two threads share, and never touched per event.

package import Recording
internal import Synchronization

/// What a worker hands over at one time.
package struct WorkerReport: Sendable {
  package var sessions: [SessionRecord] = []
  package var disconnects: [DisconnectRecord] = []
  /// Closed intervals, oldest first, each with the second since the run's start at which it ended.
  package var intervals: [(endsAt: Double, record: IntervalRecord)] = []
  package var errorSamples: [(kind: SessionErrorKind, message: String)] = []
  package var models: [String] = []
  package var live: Int64 = 0
  package var peakLive: Int64 = 0
  package var started: Int64 = 0
  /// Sessions that have had an event.
  package var answered: Int64 = 0
  package var tokens: Int64 = 0
  package var events: Int64 = 0
  /// Nanoseconds of this thread's CPU since it began, and the wall time of the same.
  package var cpu: Int64 = 0
  package var wall: Int64 = 0
  package var saturatedSeconds: Double = 0
  package var runQueueWait: Int64 = 0
  package var running: Int64 = 0
  package var receiveQueue: Int64 = -1
  /// Live sessions × time and time alone of the steady state, to tell whether all places were taken.
  package var liveTime: Double = 0
  package var steadyTime: Double = 0
  /// The scenario's budget admits no more sessions.
  package var budgetIsSpent = false
  /// The thread has the real-time priority that was asked for.
  package var isRealtime = false
  package var hasPosted = false
  package var isFinished = false
  package var failure: String?
  /// Allocator requests and bytes of this thread in the window of the steady state.
  package var allocatedBytes: Int64 = -1
  package var allocatedEvents: Int64 = 0
  package var allocations: Int64 = -1
  /// Bytes that this thread holds, with its tables' share of the live sessions; nil where that is not known.
  package var sessionBytes: Int64?

  package init() {}
}

/// The place of exchange between one worker and the reporting thread.
final class WorkerMailbox: Sendable {
  private let state = Mutex(State())

  private struct State {
    var report = WorkerReport()
    var spare: [IntervalRecord] = []
  }

  /// Adds to what waits to be taken; false, and nothing done, while the other side holds the lock. A worker must not
  /// wait: under real-time priority the holder may not get to run while it does.
  func tryPost(_ change: (inout WorkerReport) -> Void) -> Bool {
    state.withLockIfAvailable { change(&$0.report) } != nil
  }

  /// The same, waiting for the lock: before the load begins and after it has ended.
  func post(_ change: (inout WorkerReport) -> Void) {
    state.withLock { change(&$0.report) }
  }

  /// A cleared record for the next interval, if there is one and nobody holds the lock.
  func takeSpare() -> IntervalRecord? { state.withLockIfAvailable { $0.spare.popLast() } ?? nil }

  func giveBack(_ record: IntervalRecord) {
    record.clear()
    state.withLock { $0.spare.append(record) }
  }

  /// What has come since the last call; levels (live, CPU) stay.
  func take() -> WorkerReport {
    state.withLock { state in
      let report = state.report
      state.report.sessions = []
      state.report.disconnects = []
      state.report.intervals = []
      state.report.errorSamples = []
      state.report.models = []
      return report
    }
  }
}
