// Rules that hold between the keys of one scenario, each with what to write instead. Knows the values only: kinds and
// ranges are checked before.

import Primitives

struct ScenarioChecks {
  private let scenario: Scenario
  /// The document that the scenario was built from, for what stands there and what does not.
  private let document: JSONValue
  private(set) var problems: [ScenarioProblem] = []

  init(_ scenario: Scenario, document: JSONValue) {
    self.scenario = scenario
    self.document = document
    checkLoad()
    checkEndpoint()
    checkClient()
    checkEnd()
  }

  private mutating func refuse(_ path: String, _ found: String, _ expected: String, _ suggestion: String = "")
  {
    problems.append(ScenarioProblem(path, found, expected: expected, suggestion: suggestion))
  }

  private mutating func checkLoad() {
    let load = scenario.load
    if scenario.wukongim != nil { return }
    if document.value(at: "load") == nil {
      return refuse(
        "load", "is missing", "when sessions start",
        "Write \"load\": {\"concurrency\": 10, \"sessions\": 100}")
    }
    let isBounded = load.sessions != nil || load.duration != nil
    switch load.model {
    case .closed:
      if !isBounded {
        refuse("load.sessions", "is missing", "sessions or duration: a closed load needs an end")
      }
      if isBounded && load.sessions == nil && load.concurrency == nil {
        refuse("load.concurrency", "is missing", "how many sessions are live at a time")
      }
    case .constant, .poisson, .gamma:
      if load.rate == nil { refuse("load.rate", "is missing", "session starts per second, such as \"20/s\"") }
      if !isBounded {
        refuse("load.duration", "is missing", "duration or sessions: an open load needs an end")
      }
      if let rate = load.rate, let duration = load.duration,
        rate * (duration + scenario.measure.warmUp).seconds > 1e9
      {
        refuse(
          "load.duration", "makes more than 1,000,000,000 sessions", "a lower rate or a shorter duration")
      }
    case .stages:
      if load.stages.isEmpty {
        refuse("load.stages", "is missing", "a list such as [{\"rate\": \"50/s\", \"for\": \"30s\"}]")
      } else if !load.stages.contains(where: { $0.rate > 0 && $0.length > .zero }) {
        refuse("load.stages", "no stage starts a session", "a rate above 0 for a time above 0")
      } else if load.stages.reduce(0, { $0 + $1.rate * $1.length.seconds }) > 1e9 {
        refuse("load.stages", "make more than 1,000,000,000 sessions", "lower rates or shorter stages")
      }
    case .burst:
      if load.burst == nil { refuse("load.burst", "is missing", "{\"sessions\": N, \"at\": \"0s\"}") }
    case .trace:
      if load.trace == nil {
        refuse("load.trace", "is missing", "{\"file\": \"trace.csv\", \"format\": \"csv\"}")
      }
    case .sweep:
      if load.sweep == nil { refuse("load.sweep", "is missing", "{\"key\": \"rate\", \"values\": [10, 20]}") }
    case .search:
      if load.search == nil {
        refuse(
          "load.search", "is missing", "{\"key\": \"rate\", \"from\": 10, \"to\": 100, \"tolerance\": 5}")
      }
      if scenario.slo.isEmpty {
        refuse("slo", "is missing", "a limit: a search finds the highest load that meets it")
      }
    }
    if load.workers > 1, let sessions = load.sessions, sessions < load.workers {
      refuse(
        "load.workers", "\(load.workers) workers for \(sessions) sessions", "at most one worker a session")
    }
  }

  private mutating func checkEndpoint() {
    let endpoint = scenario.endpoint
    if let mock = endpoint.mock, endpoint.url == nil, endpoint.api != mock.api {
      refuse(
        "endpoint.api", "\(endpoint.api.rawValue) while the mock speaks \(mock.api.rawValue)", "the same",
        "Set endpoint.mock.api, and leave endpoint.api out")
    }
    if endpoint.unixSocket != nil && endpoint.url == nil {
      refuse(
        "endpoint.url", "is missing",
        "the URL to ask for over the socket, such as \"http://localhost/events\"")
    }
    for (index, entry) in endpoint.resolve.enumerated() {
      let parts = entry.split(separator: ":", maxSplits: 2)
      if parts.count != 3 || Int(parts[1]).map({ (1...65_535).contains($0) }) != true {
        refuse(
          "endpoint.resolve.\(index)", "is not of the form host:port:address",
          "an entry such as \"api.test:443:127.0.0.1\"")
      }
    }
    let speaksWuKongIM = endpoint.api == .wukongim
    if speaksWuKongIM && scenario.wukongim == nil {
      refuse(
        "wukongim", "is missing", "an object: the api wukongim has a workload of its own",
        "Write \"wukongim\": {} in place of load")
    }
    if !speaksWuKongIM && scenario.wukongim != nil {
      refuse("wukongim", "stands with the api \(endpoint.api.rawValue)", "the api wukongim")
    }
    if let url = endpoint.url, url.hasPrefix("ws") {
      refuse(
        "endpoint.url", "is a WebSocket's URL", "an http or https URL for the api \(endpoint.api.rawValue)",
        speaksWuKongIM ? "Name the HTTP API: its /route tells where the WebSocket is" : "")
    }
    if speaksWuKongIM {
      let expected = "a direct connection: the api wukongim dials its WebSockets itself"
      if endpoint.proxy != nil { refuse("endpoint.proxy", "stands with the api wukongim", expected) }
      if endpoint.unixSocket != nil { refuse("endpoint.unix_socket", "stands with the api wukongim", expected) }
      if endpoint.http == .http2 {
        refuse("endpoint.http", "2 with the api wukongim", "HTTP/1.1: a WebSocket's upgrade is of HTTP/1.1")
      }
    }
  }

  private mutating func checkClient() {
    let client = scenario.client
    let endpoint = scenario.endpoint
    if client.stack == .raw {
      let advice = "Use the stack curl"
      if endpoint.url?.hasPrefix("https:") == true {
        refuse("client.stack", "raw with an https URL", "an http URL: raw speaks no TLS", advice)
      }
      if endpoint.http == .http2 {
        refuse("client.stack", "raw with HTTP/2", "HTTP/1.1: raw speaks nothing else", advice)
      }
      if endpoint.proxy != nil { refuse("client.stack", "raw with a proxy", "a direct connection", advice) }
      let asks = endpoint.headers.contains {
        $0.name.lowercased() == "accept-encoding" && !["", "identity"].contains($0.value.lowercased())
      }
      if asks {
        refuse(
          "client.stack", "raw with compression asked for",
          "no Accept-Encoding header: raw does not decompress", advice)
      }
    }
    if client.stack.isURLSession {
      let advice = "Use the stack curl"
      func refuse(_ what: String) {
        self.refuse("client.stack", "\(client.stack.rawValue) with \(what)", "what URLSession can set", advice)
      }
      if endpoint.http == .http2 { refuse("endpoint.http 2") }
      if endpoint.proxy != nil { refuse("a proxy") }
      if endpoint.unixSocket != nil { refuse("a Unix socket") }
      if !endpoint.resolve.isEmpty { refuse("endpoint.resolve") }
      if endpoint.tls != TLSSettings() { refuse("endpoint.tls") }
      // Foundation on Linux holds its own host, without brackets, against libcurl's, with them, and calls it a bad URL.
      if endpoint.url.flatMap(WebAddress.init(anyScheme:))?.host.contains(":") == true { refuse("an IPv6 address in endpoint.url") }
    }
    let isLLM = endpoint.api != .sse && endpoint.api != .wukongim
    if client.reconnect.policy == .restart && !isLLM {
      refuse(
        "client.reconnect.policy", "restart with the api \(endpoint.api.rawValue)",
        "an LLM API: restart asks it again from the start",
        "Use whatwg or backoff")
    }
    let isEventSource =
      client.stack == .eventsource || [.eventsource, .eventsourceDataOnly].contains(client.parser)
    if client.parserVariant != nil && !isEventSource {
      refuse(
        "client.parser_variant", "has no meaning with the parser \(client.parser.rawValue)",
        "the parser eventsource or eventsource-data-only")
    }
    if client.parser == .custom && client.custom == nil {
      refuse(
        "client.custom", "is missing",
        "the record format, such as {\"record\": \"\\n\", \"field\": \"|\", \"fields\": [\"id\", \"data\"]}")
    }
    if let custom = client.custom {
      if client.parser != .custom {
        refuse("client.custom", "stands with the parser \(client.parser.rawValue)", "the parser custom")
      }
      for (key, value) in [("record", custom.record), ("field", custom.field)] where value.utf8.count > 8 {
        refuse("client.custom.\(key)", "\(value.utf8.count) bytes", "one to eight bytes")
      }
      if custom.record == custom.field {
        refuse("client.custom.field", "is the same as record", "another separator")
      }
      if !custom.fields.contains("data") {
        refuse("client.custom.fields", "no field is named data", "data among them")
      }
    }
  }

  private mutating func checkEnd() {
    if scenario.until != nil && scenario.endpoint.api != .sse {
      refuse(
        "until", "stands with the api \(scenario.endpoint.api.rawValue)", "the api sse",
        "An LLM API's stream ends at its own end marker; leave until out")
    }
  }
}
