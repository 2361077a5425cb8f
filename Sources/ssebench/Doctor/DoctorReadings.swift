// What `doctor` looks at, as plain values, so that its rules can be tried on machines that are not there. nil: not
// readable here.

import Primitives
import Scenarios

/// The machine and this build.
package struct DoctorReadings: Sendable, Equatable {
  package var softDescriptors = 1024
  package var hardDescriptors = 1024
  /// First and last port for outgoing connections.
  package var ports: ClosedRange<Int>?
  /// Longest queue of connections that wait to be accepted.
  package var somaxconn: Int?
  package var cores = 1
  package var governor: String?
  /// Share of the time in which the hypervisor ran something else, over a moment.
  package var stealRatio: Double?
  /// Runnable tasks, one-minute average.
  package var loadAverage: Double?
  package var clockSource: String?
  /// Bytes.
  package var loopbackMTU: Int?
  package var memoryAvailable: Int64?
  /// Of the disk that Reports/ lies on.
  package var diskFree: Int64?
  package var curlVersion = ""
  /// "ssl", "http2", "brotli", "zstd", "gzip", "ipv6", "asyn-dns".
  package var curlFeatures: Set<String> = []
  package var hasJemalloc = false
  /// Whether a thread was given a real-time priority when it asked.
  package var allowsRealtime = false
  package var isDebugBuild = false

  package init() {}
}

/// What a scenario asks of the machine: the largest of its variants.
package struct DoctorNeeds: Sendable, Equatable {
  package var name = ""
  /// Live sessions at most; nil: the load sets no bound.
  package var sessions: Int?
  /// Sessions that start at one instant.
  package var burst = 0
  /// Different addresses that sessions connect to.
  package var destinations = 1
  package var usesMock = false
  package var usesCurl = true
  package var usesTLS = false
  package var usesHTTP2 = false
  package var wantsRealtime = false
  package var measuresMemory = false
  /// Worker processes that share the sessions.
  package var workers = 1
  /// Events of all live sessions together; nil where it cannot be known beforehand.
  package var eventsPerSecond: Double?

  package init() {}

  init(_ loaded: LoadedScenario) {
    name = loaded.secrets.scrub(loaded.name)
    sessions = 0
    for variant in loaded.variants {
      for scenario in [variant.scenario] + variant.points.map(\.scenario) { take(scenario) }
    }
  }

  private mutating func take(_ scenario: Scenario) {
    if let known = sessions, let live = scenario.mostLive { sessions = max(known, live) } else { sessions = nil }
    if scenario.load.model == .burst { burst = max(burst, scenario.load.burst?.sessions ?? 0) }
    if scenario.load.model == .closed && scenario.load.rampUp == .zero { burst = max(burst, scenario.mostLive ?? 0) }
    usesMock = usesMock || scenario.endpoint.url == nil
    if scenario.endpoint.url == nil { destinations = max(destinations, scenario.endpoint.mock?.addresses ?? 1) }
    usesCurl = usesCurl && scenario.client.stack != .raw
    usesTLS = usesTLS || scenario.endpoint.url?.lowercased().hasPrefix("https:") == true
    usesHTTP2 = usesHTTP2 || scenario.endpoint.http == .http2
    wantsRealtime = wantsRealtime || scenario.measure.priority == .realtime
    measuresMemory = measuresMemory || scenario.measure.memory
    workers = max(workers, scenario.load.workers)
    if let live = scenario.mostLive, let mock = scenario.endpoint.mock, scenario.endpoint.url == nil,
      let interval = mock.interval.constantValue, interval > 0
    {
      eventsPerSecond = max(eventsPerSecond ?? 0, Double(live) * 1e9 / interval)
    }
  }
}

/// One thing that `doctor` looked at.
package struct Finding: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable { case ok, note, problem }

  /// A stable word.
  package var code: String
  package var state: State
  package var message: String
  /// What to do; nil where nothing needs to be done.
  package var remedy: String?

  package init(_ code: String, _ state: State, _ message: String, remedy: String? = nil) {
    self.code = code
    self.state = state
    self.message = message
    self.remedy = remedy
  }
}
