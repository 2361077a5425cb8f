// The plan as a worker reads it: which session starts next, when, and whether there is one at all. The worker's own
// clock is not in here.


/// One session to start.
package struct SessionStart: Sendable, Equatable {
  package var index: Int64
  /// Nanoseconds after the run's start.
  package var at: Int64
  /// −1: as the scenario's request says.
  package var maxTokens: Int32 = -1

  package init(index: Int64, at: Int64, maxTokens: Int32 = -1) {
    self.index = index
    self.at = at
    self.maxTokens = maxTokens
  }
}
