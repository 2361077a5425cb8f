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

/// What the mock serves: `MOCK.json` and `endpoint.mock`.
package struct MockSettings: Sendable, Equatable {
  /// The API that `run` asks for; the mock answers the paths of all of them. Default openai-chat.
  package var api: API = .openAIChat
  /// Tokens (LLM) or events (sse) of one stream: 0 to 10,000,000. A request's `max_tokens` bounds it. Default 128.
  package var tokens: Distribution = .constant(128)
  /// Request received → first token due, in ns. Default 200 ms.
  package var firstToken: Distribution = .constant(200e6)
  /// Between two tokens, in ns; 0: as fast as the connection takes them. Default 20 ms.
  package var interval: Distribution = .constant(20e6)
  package var faults: [Fault] = []
  /// What goes wrong in the WuKongIM mock.
  package var wukongFaults: [WuKongFault] = []
  /// Mock processes that share the port (SO_REUSEPORT): 1 to 64. Default 1.
  package var processes = 1
  /// Whether each chunk carries its send time. Default true.
  package var stamp = true
  /// Characters of a token's text, about; default 5 (with its leading space).
  package var tokenSize: Distribution = .constant(5)
  /// What the text is made of. Default latin; mixed has CJK, emoji and combining marks.
  package var text: MockText = .latin
  /// Events that are put into one write: 1 to 10,000. Default 1.
  package var eventsPerWrite = 1
  /// Tokens that one chunk carries: 1 to 1,000. Default 1.
  package var tokensPerEvent = 1
  /// Reasoning tokens before the visible ones: default 0.
  package var reasoningTokens = 0
  /// Whether the answer is a tool call instead of text. Default false.
  package var toolCall = false
  /// How many past events `/events` can replay; nil: all.
  package var replayBuffer: Int?
  /// A recording made by `ssebench record`, served in place of made-up streams.
  package var replay: String?
  /// Loopback addresses to listen on, so that one destination's ports do not run out: 1 to 64. Default 1.
  package var addresses = 1

  package init() {}
}

package enum MockText: String, Sendable, CaseIterable { case latin, mixed }

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

package enum Stack: String, Sendable, CaseIterable {
  case curl, raw, urlsession, eventsource
  case bytesLines = "bytes-lines"
  case liveMonitor = "live-monitor"

  /// Over Foundation's URLSession.
  package var isURLSession: Bool { self != .curl && self != .raw }
}

package enum Fidelity: String, Sendable, CaseIterable { case strict, faithful }

package enum Parser: String, Sendable, CaseIterable {
  case whatwg
  case dataOnly = "data-only"
  case eventsource
  case eventsourceDataOnly = "eventsource-data-only"
  case lines, ndjson, custom
}

package enum Decoder: String, Sendable, CaseIterable { case simdjson, foundation, scan, none }

package enum Connections: String, Sendable, CaseIterable { case reuse, fresh }

/// What the client does with the text.
package enum Consumer: Sendable, Equatable {
  case discard, accumulate, coalesce
  case accumulateString
  /// Takes this long for each event.
  case slow(Nanoseconds)
  /// Test only: keeps so many bytes a token in one of `oneIn` sessions for ever.
  case leak(bytes: Int, oneIn: Int)
}

/// The measuring client.
package struct ClientSettings: Sendable, Equatable {
  package var stack: Stack = .curl
  package var fidelity: Fidelity = .strict
  package var parser: Parser = .whatwg
  /// "pr49" with the eventsource modes; nil: release 0.1.7.
  package var parserVariant: String?
  package var custom: CustomFormat?
  package var decoder: Decoder = .simdjson
  package var consumer: Consumer = .discard
  package var connections: Connections = .reuse
  package var timeouts = Timeouts()
  package var limits = Limits()
  package var reconnect = Reconnect()
  package var cancel: Cancel?
  /// libcurl's receive buffer, or the raw stack's read size: 1 KiB to 512 KiB; nil: chosen by the load.
  package var readBuffer: Int?

  package init() {}
}

/// A delimited record format for the parser mode `custom`.
package struct CustomFormat: Sendable, Equatable {
  /// One to eight bytes each.
  package var record: String
  package var field: String
  /// Names of the fields in order: event, id, data, or any other (ignored).
  package var fields: [String]

  package init(record: String, field: String, fields: [String]) {
    self.record = record
    self.field = field
    self.fields = fields
  }
}

package struct Timeouts: Sendable, Equatable {
  /// To a ready connection, TLS included. Default 10 s.
  package var connect: Nanoseconds = .seconds(10)
  /// Request sent → first event. Default 60 s.
  package var firstEvent: Nanoseconds = .seconds(60)
  /// Longest time without a byte. Default 60 s.
  package var idle: Nanoseconds = .seconds(60)
  /// The whole session, reconnects included. Default 300 s.
  package var total: Nanoseconds = .seconds(300)

  package init() {}
}

package struct Limits: Sendable, Equatable {
  /// Bytes. Default 16 MiB each.
  package var line = 16 << 20
  package var event = 16 << 20

  package init() {}
}

/// What a session does when its connection ends before its time.
package struct Reconnect: Sendable, Equatable {
  package var policy: Policy = .none
  /// The reconnection time until the server says another. Default 3 s.
  package var retry: Nanoseconds = .seconds(3)
  /// Backoff: delay before try n is base · factor^(n−1), at most cap. Defaults 1 s, 2, 30 s.
  package var base: Nanoseconds = .seconds(1)
  package var factor = 2.0
  package var cap: Nanoseconds = .seconds(30)
  /// Share of the delay that is random: 0 none, 1 all of it. Default 0.5 for backoff, 0 for whatwg.
  package var jitter: Double?
  /// Tries in a row before the session fails; nil: no bound (whatwg), 5 (backoff).
  package var tries: Int?
  /// A connection open this long sets the count of tries back. Default 60 s.
  package var resetAfter: Nanoseconds = .seconds(60)
  /// Longest delay that a server's `retry` or `Retry-After` may ask. Default 300 s.
  package var longest: Nanoseconds = .seconds(300)

  package enum Policy: String, Sendable, CaseIterable { case none, whatwg, backoff, restart }

  package init() {}
}

/// A share of the sessions is given up by the client.
package struct Cancel: Sendable, Equatable {
  /// 0 to 1.
  package var share: Double
  package var after: Point

  package enum Point: Sendable, Equatable {
    case tokens(Int)
    case time(Nanoseconds)
  }

  package init(share: Double, after: Point) {
    self.share = share
    self.after = after
  }
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
