// How many sessions there are and when each one starts.

package import Primitives

package enum LoadModel: String, Sendable, CaseIterable {
  case closed, constant, poisson, gamma, stages, burst, trace, sweep, search
}

/// When sessions start.
package struct Load: Sendable, Equatable {
  package var model: LoadModel = .closed
  /// Live sessions at a time, closed loads: 1 to 1,000,000; default: `sessions`.
  package var concurrency: Int?
  /// Sessions in all.
  package var sessions: Int?
  /// For how long sessions are started; counted after warm-up.
  package var duration: Nanoseconds?
  /// Spreads the first starts of a closed load evenly. Default 0.
  package var rampUp: Nanoseconds = .zero
  /// Between the end of a session and the next start in its place, in ns. Default 0.
  package var thinkTime: Distribution = .constant(0)
  /// Sessions per second, open loads.
  package var rate: Double?
  /// Coefficient of variation of the gaps of a gamma load; 1 is Poisson. Default 1.
  package var cv = 1.0
  package var stages: [Stage] = []
  package var burst: Burst?
  package var trace: TraceFile?
  package var sweep: Sweep?
  package var search: Search?
  /// Live sessions beyond which a start of an open load waits or is dropped; nil: no bound.
  package var maxLive: Int?
  package var beyond: Beyond = .queue
  /// How long live sessions have to end when the time is over. Default 30 s.
  package var drain: Nanoseconds = .seconds(30)
  /// Worker processes, each a shard of the plan. 1 to 64, default 1.
  package var workers = 1

  package init() {}

  package struct Stage: Sendable, Equatable {
    /// Reached linearly from the rate of the stage before (0 at first), in sessions per second.
    package var rate: Double
    package var length: Nanoseconds

    package init(rate: Double, length: Nanoseconds) {
      self.rate = rate
      self.length = length
    }
  }

  package struct Burst: Sendable, Equatable {
    package var sessions: Int
    /// After the run's start.
    package var at: Nanoseconds

    package init(sessions: Int, at: Nanoseconds) {
      self.sessions = sessions
      self.at = at
    }
  }

  package struct TraceFile: Sendable, Equatable {
    package var file: String
    package var format: TraceFormat
    /// 2: twice as fast. Default 1.
    package var speed: Double
    /// As read from the file.
    package var arrivals: [TraceArrival]

    package init(file: String, format: TraceFormat, speed: Double, arrivals: [TraceArrival]) {
      self.file = file
      self.format = format
      self.speed = speed
      self.arrivals = arrivals
    }
  }

  package struct Sweep: Sendable, Equatable {
    /// A key path of the scenario, `load.concurrency`.
    package var key: String
    package var values: [JSONValue]

    package init(key: String, values: [JSONValue]) {
      self.key = key
      self.values = values
    }
  }

  package struct Search: Sendable, Equatable {
    package var key: String
    package var from: Double
    package var to: Double
    /// The search ends when the bracket is narrower than this.
    package var tolerance: Double

    package init(key: String, from: Double, to: Double, tolerance: Double) {
      self.key = key
      self.from = from
      self.to = to
      self.tolerance = tolerance
    }
  }

  package enum Beyond: String, Sendable, CaseIterable { case queue, drop }
}

package enum TraceFormat: String, Sendable, CaseIterable { case csv, jsonl, azure, burstgpt, mooncake }

/// One line of a trace.
package struct TraceArrival: Sendable, Equatable {
  /// After the first arrival.
  package var at: Nanoseconds
  package var inputTokens: Int?
  package var outputTokens: Int?

  package init(at: Nanoseconds, inputTokens: Int?, outputTokens: Int?) {
    self.at = at
    self.inputTokens = inputTokens
    self.outputTokens = outputTokens
  }
}
