// A scenario as a value: checked, complete, immutable. Every field says its unit, default and range; decoding,
// defaults and the JSON Schema come from ScenarioDefinition. Knows no file and no JSON.

package import Primitives

/// What a run does, every default filled in. One value stands for one variant of a run.
package struct Scenario: Sendable, Equatable {
  /// Free text, 1 to 200 characters. In file names it becomes a slug of a-z, 0-9 and -.
  package var name = "run"
  /// Any unsigned integer; all randomness of plan and mock follows from it. Default 42.
  package var seed: UInt64 = 42
  package var endpoint = Endpoint()
  package var request = RequestSettings()
  package var load = Load()
  package var client = ClientSettings()
  package var measure = Measure()
  package var slo = SLO()
  package var gates: [Gate] = []
  package var budget = Budget()
  /// How a plain `sse` session ends; nil: by 204, or at a clean end of the body under the policy `none`.
  package var until: Until?
  /// Where foreign servers put the number of an event; nil: the mock's own stamp, or none.
  package var verify: Verify?
  package var wukongim: WuKongIMLoad?

  package init() {}
}

/// The APIs that are spoken. The raw value is the word in a scenario.
package enum API: String, Sendable, CaseIterable {
  case sse
  case openAIChat = "openai-chat"
  case openAICompletions = "openai-completions"
  case openAIResponses = "openai-responses"
  case anthropicMessages = "anthropic-messages"
  case gemini
  case ollama
  case wukongim
}

/// The server: either the built-in mock, started for the run, or a URL.
package struct Endpoint: Sendable, Equatable {
  /// Set when the endpoint is the mock (the default when no `url` is given).
  package var mock: MockSettings? = MockSettings()
  package var url: String?
  /// Default `sse`; with the mock, the mock's.
  package var api: API = .openAIChat
  /// In the order of the file. Values may hold secrets.
  package var headers: [(name: String, value: String)] = []
  package var http: HTTPVersion = .auto
  package var tls = TLSSettings()
  /// curl's form: "host:port:address".
  package var resolve: [String] = []
  package var proxy: String?
  package var unixSocket: String?
  /// How long to wait for the first answer below 500 before the run begins; nil: not at all.
  package var waitReady: Nanoseconds?
  /// GET or POST; nil: POST for LLM APIs and where a body is given, else GET.
  package var method: String?

  package init() {}

  package static func == (a: Endpoint, b: Endpoint) -> Bool {
    a.mock == b.mock && a.url == b.url && a.api == b.api && a.http == b.http && a.tls == b.tls
      && a.resolve == b.resolve
      && a.proxy == b.proxy && a.unixSocket == b.unixSocket && a.waitReady == b.waitReady
      && a.method == b.method
      && a.headers.elementsEqual(b.headers) { $0 == $1 }
  }
}

package enum HTTPVersion: String, Sendable, CaseIterable {
  case auto
  case http1 = "1.1"
  case http2 = "2"
}

package struct TLSSettings: Sendable, Equatable {
  /// Paths of PEM files.
  package var ca: String?
  package var cert: String?
  package var key: String?
  /// Skips verification; default false.
  package var insecure = false

  package init() {}
}

/// The request body and its model.
package struct RequestSettings: Sendable, Equatable {
  /// Default "mock-1".
  package var model = "mock-1"
  /// Default "Write a short story about a lighthouse."
  package var prompt = "Write a short story about a lighthouse."
  /// Default nil: the server's; with the mock the mock's tokens.
  package var maxTokens: Int?
  /// Given in place of all of the above: sent as it is.
  package var body: JSONValue?

  package init() {}
}

package struct Measure: Sendable, Equatable {
  /// Sessions that start within this time after the start are run and not counted. Default 0.
  package var warmUp: Nanoseconds = .zero
  /// 1 to 100. Default 1, and 3 where there are variants.
  package var repeats = 1
  package var memory = false
  /// A gap longer than this is a stall. Default 1 s.
  package var stall: Nanoseconds = .seconds(1)
  package var priority: Priority = .normal

  package enum Priority: String, Sendable, CaseIterable { case normal, realtime }

  package init() {}
}

/// Limits on one session, in milliseconds; nil: no such limit.
package struct SLO: Sendable, Equatable {
  package var ttft: Double?
  /// On a session's mean gap.
  package var itl: Double?
  package var maxGap: Double?
  package var tpot: Double?
  package var e2e: Double?

  package var isEmpty: Bool { self == SLO() }

  package init() {}
}

/// A limit on the run's figures, as text; Analysis reads the expression.
package struct Gate: Sendable, Equatable {
  package var expression: String
  package var abortOnFail: Bool

  package init(expression: String, abortOnFail: Bool = false) {
    self.expression = expression
    self.abortOnFail = abortOnFail
  }
}

/// What the run may cost; it stops before it would pass one.
package struct Budget: Sendable, Equatable {
  package var requests: Int?
  package var outputTokens: Int?

  package init() {}
}

package enum Until: Sendable, Equatable {
  case events(Int)
  case event(String)
  case data(String)
  case duration(Nanoseconds)
}

/// Where the number of an event stands.
package struct Verify: Sendable, Equatable {
  package var sequence: Sequence
  /// nil: the first number seen.
  package var first: Int64?
  /// Events in all; nil: not known.
  package var expected: Int64?
  /// nil: damage is not looked for.
  package var checksum: Checksum?

  package enum Sequence: Sendable, Equatable {
    /// A path into the data, keys joined by dots.
    case json(String)
    case id
    case regex(String)
  }

  /// Where an event carries a checksum of one of its strings.
  package struct Checksum: Sendable, Equatable {
    /// Path into the data to the CRC-32C in eight hexadecimal digits.
    package var crc32c: String
    /// Path to the string whose UTF-8 it is of.
    package var of: String

    package init(crc32c: String, of: String) {
      self.crc32c = crc32c
      self.of = of
    }
  }

  package init(sequence: Sequence, first: Int64? = nil, expected: Int64? = nil, checksum: Checksum? = nil) {
    self.sequence = sequence
    self.first = first
    self.expected = expected
    self.checksum = checksum
  }
}

/// The workload of a WuKongIM run.
package struct WuKongIMLoad: Sendable, Equatable {
  package var channels = 1
  /// 1 person, 2 group. Default 2.
  package var channelType = 2
  package var readers = 10
  package var producers = 1
  package var replies = 10
  package var deltas = 100
  /// UTF-16 units of a delta, about.
  package var deltaUnits: Distribution = .uniform(low: 1, high: 8)
  package var interval: Distribution = .constant(20e6)
  /// How often each reader is dropped at a random point.
  package var killTimes = 0
  package var rules: Rules = .normative

  package enum Rules: String, Sendable, CaseIterable { case normative, demo }

  package init() {}
}
