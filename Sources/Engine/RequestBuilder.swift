// A scenario's endpoint and request become the URL, headers and body that a transport sends. One function a dialect;
// a header that the user sets wins.

package import Primitives
package import Scenarios
package import Streams
package import Transports

package enum RequestBuilder {
  /// Where and what to send, the same for all sessions of a variant.
  package static func endpoint(_ scenario: Scenario, api: StreamAPI, mockURLs: [String]?) -> EndpointAddress {
    let source = scenario.endpoint
    let urls = mockURLs.map { bases in bases.map { $0 + mockPath(api, scenario) } }
    var address = EndpointAddress(url: urls?.first ?? source.url ?? "")
    address.alternatives = urls.map { $0.count > 1 ? $0 : [] } ?? []
    let body = requestBody(scenario, api: api)
    address.method = source.method ?? (body == nil ? "GET" : "POST")
    if let body, address.method != "GET" { address.body = Array(body.text().utf8) }
    var headers: [(name: String, value: String)] = []
    if !address.body.isEmpty { headers.append(("Content-Type", "application/json")) }
    headers.append(("Accept", api == .ollama ? "application/x-ndjson" : "text/event-stream"))
    if api == .sse || scenario.client.stack == .eventsource || scenario.client.stack == .liveMonitor { headers.append(("Cache-Control", "no-store")) }
    if api == .anthropicMessages { headers.append(("anthropic-version", "2023-06-01")) }
    headers.append(("User-Agent", "ssebench"))
    for header in source.headers {
      headers.removeAll { $0.name.lowercased() == header.name.lowercased() }
      headers.append((header.name, header.value))
    }
    address.headers = headers
    address.httpVersion =
      switch source.http {
      case .auto: .automatic
      case .http1: .http1
      case .http2: .http2
      }
    address.caFile = source.tls.ca
    address.certificateFile = source.tls.cert
    address.keyFile = source.tls.key
    address.verifiesTLS = !source.tls.insecure
    address.resolve = source.resolve
    address.proxy = source.proxy
    address.unixSocket = source.unixSocket
    address.connectTimeout = scenario.client.timeouts.connect
    address.reusesConnections = scenario.client.connections == .reuse
    address.readBuffer = scenario.client.readBuffer ?? readBuffer(scenario)
    return address
  }

  /// Paced tokens come alone, and a small buffer keeps a session small; unpaced ones come in bulk.
  private static func readBuffer(_ scenario: Scenario) -> Int {
    if scenario.client.stack == .raw { return 65536 }
    let live = scenario.load.concurrency ?? scenario.load.sessions ?? 0
    if live > 500 { return 1024 }
    if live <= 128, let mock = scenario.endpoint.mock, mock.interval.constantValue == 0 { return 65536 }
    return 16384
  }

  private static func mockPath(_ api: StreamAPI, _ scenario: Scenario) -> String {
    switch api {
    case .sse: "/events"
    case .openaiChat: "/v1/chat/completions"
    case .openaiCompletions: "/v1/completions"
    case .openaiResponses: "/v1/responses"
    case .anthropicMessages: "/v1/messages"
    case .gemini: "/v1beta/models/\(scenario.request.model):streamGenerateContent?alt=sse"
    case .ollama: "/api/chat"
    }
  }

  /// The JSON that asks for a stream; nil for plain SSE without a body. `maxTokens` in place of the scenario's.
  package static func requestBody(_ scenario: Scenario, api: StreamAPI, maxTokens override: Int? = nil) -> JSONValue? {
    let request = scenario.request
    if let body = request.body { return body }
    let limit = (override ?? request.maxTokens).map { JSONValue.integer(Int64($0)) }
    let message = JSONValue.object(["role": .string("user"), "content": .string(request.prompt)])
    var body = JSONObject()
    switch api {
    case .sse: return nil
    case .openaiChat:
      body["model"] = .string(request.model)
      body["messages"] = .array([message])
      body["stream"] = .bool(true)
      body["stream_options"] = .object(["include_usage": .bool(true)])
      body["max_tokens"] = limit
    case .openaiCompletions:
      body["model"] = .string(request.model)
      body["prompt"] = .string(request.prompt)
      body["stream"] = .bool(true)
      body["stream_options"] = .object(["include_usage": .bool(true)])
      body["max_tokens"] = limit
    case .openaiResponses:
      body["model"] = .string(request.model)
      body["input"] = .string(request.prompt)
      body["stream"] = .bool(true)
      body["max_output_tokens"] = limit
    case .anthropicMessages:
      body["model"] = .string(request.model)
      // The API insists on a bound.
      body["max_tokens"] = limit ?? .integer(4096)
      body["messages"] = .array([message])
      body["stream"] = .bool(true)
    case .gemini:
      body["contents"] = .array([
        .object([
          "role": .string("user"), "parts": .array([.object(["text": .string(request.prompt)])]),
        ])
      ])
      if let limit { body["generationConfig"] = .object(["maxOutputTokens": limit]) }
    case .ollama:
      body["model"] = .string(request.model)
      body["messages"] = .array([message])
      body["stream"] = .bool(true)
      if let limit { body["options"] = .object(["num_predict": limit]) }
    }
    return .object(body)
  }
}
