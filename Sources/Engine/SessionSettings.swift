// What all sessions of one variant have in common, worked out once before the run: limits in nanoseconds, rules as
// enums. The hot path reads nothing else of the scenario.

internal import CPlatform
import Primitives
package import Scenarios
package import Streams
package import Transports

/// The frozen settings of one variant.
package struct SessionSettings: Sendable {
  package var api: StreamAPI
  package var isLLM: Bool
  package var decoder: DecoderKind
  package var parser: ParserSettings
  package var consumer: Consumer
  package var policy: Reconnect.Policy
  package var reconnect: Reconnect
  package var until: Until?
  package var firstEventTimeout: Int64
  package var idleTimeout: Int64
  package var totalTimeout: Int64
  package var stall: Int64
  package var slo: SLO
  package var cancel: Cancel?
  /// Whether events carry the mock's number, checksum and perhaps its send time.
  package var usesMock: Bool
  package var verify: Verify?
  /// The number of events of a whole stream of a session, where it is known beforehand.
  package var expectsContent: Bool
  package var endpoint: EndpointAddress
  package var stack: Stack
  package var seed: UInt64
  /// Which content types begin a stream; empty: any.
  package var contentTypes: [String]
  /// The model asked for, to be held against the one that answers.
  package var model: String?
  package var maxTokensKey: Bool
  package var faithful: Bool
  package var client: ClientModel
  package var sessionHeader: Bool
  package var measuresMemory: Bool
  package var realtime: Bool
  /// Makes each worker's transport where the stack is not one of the engine's own.
  package var transportFactory: TransportFactory?
  /// Makes each worker's decoder for `DecoderKind.foundation`; nil: simdjson stands in.
  package var foreignDecoder: (@Sendable () -> any ForeignDecoder)?
  /// Nanoseconds of CPU of the thread that asks: what an event's cost is read from.
  package var cpuClock: @Sendable () -> Int64 = { CPlatform_thread_cpu_ns() }

  /// - Parameter mockURLs: where the run's mock listens; nil for a foreign endpoint.
  package init(_ scenario: Scenario, mockURLs: [String]?) throws(EngineError) {
    let client = scenario.client
    let apiWord = scenario.endpoint.mock?.api ?? scenario.endpoint.api
    guard let api = StreamAPI(rawValue: apiWord.rawValue) else {
      throw EngineError("endpoint.api: \(apiWord.rawValue) runs under `wukongim`, not as HTTP sessions")
    }
    self.api = api
    isLLM = api != .sse
    decoder = DecoderKind(rawValue: client.decoder.rawValue) ?? .simdjson
    var mode = ParserMode(rawValue: client.parser.rawValue) ?? .whatwg
    // Ollama answers in NDJSON, which no event-stream parser can read.
    if api == .ollama && mode == .whatwg { mode = .ndjson }
    var format = Streams.CustomFormat()
    if let custom = client.custom {
      format = Streams.CustomFormat(record: custom.record, field: custom.field, fields: custom.fields)
    }
    parser = ParserSettings(
      mode, hasBufferFix: client.parserVariant == "pr49", custom: format, lineLimit: client.limits.line,
      eventLimit: client.limits.event)
    consumer = client.consumer
    policy = client.reconnect.policy
    reconnect = client.reconnect
    until = scenario.until
    firstEventTimeout = client.timeouts.firstEvent.value
    idleTimeout = client.timeouts.idle.value
    totalTimeout = client.timeouts.total.value
    stall = scenario.measure.stall.value
    slo = scenario.slo
    cancel = client.cancel
    usesMock = mockURLs != nil
    verify = scenario.verify
    expectsContent = true
    stack = client.stack
    seed = scenario.seed
    faithful = client.fidelity == .faithful
    self.client = ClientModel(client)
    sessionHeader = usesMock && api != .sse
    measuresMemory = scenario.measure.memory
    realtime = scenario.measure.priority == .realtime
    maxTokensKey = scenario.request.maxTokens != nil
    switch api {
    case .ollama: contentTypes = ["application/x-ndjson", "application/ndjson", "application/json", "text/event-stream"]
    default: contentTypes = mode == .ndjson || mode == .custom ? [] : ["text/event-stream"]
    }
    if self.client.ignoresContentType { contentTypes = [] }
    // Foundation's limit comes first; this one is for when it does not.
    if self.client.leavesIdleToFoundation { idleTimeout += 2_000_000_000 }
    model = isLLM ? scenario.request.body.map { $0["model"]?.asString } ?? scenario.request.model : nil
    endpoint = RequestBuilder.endpoint(scenario, api: api, mockURLs: mockURLs)
    if stack == .raw, let objection = RawTransport.objection(to: endpoint) { throw EngineError(objection) }
  }
}

extension SessionSettings {
  /// The mock's plain stream of one session; what it holds follows from the mock's own settings.
  func mockEventsURL(session: Int64, place: Int) -> String {
    let urls = endpoint.alternatives
    return (urls.isEmpty ? endpoint.url : urls[place % urls.count]) + "?session=\(session)"
  }
}

extension SessionSettings {
  /// Whether later connections of a session begin where redirects led, as the standard's do (its request keeps the
  /// redirected URL, whatwg/html issue 503).
  ///
  /// Not where that is another origin and the user gave headers: libcurl keeps credentials from another host only while
  /// it follows the redirect itself.
  func remembers(_ url: String) -> Bool {
    guard policy == .whatwg, let to = WebAddress(url), let from = WebAddress(endpoint.url) else { return false }
    if to.isSecure == from.isSecure && to.host.lowercased() == from.host.lowercased() && to.port == from.port { return true }
    return endpoint.headers.allSatisfy { Self.harmlessHeaders.contains($0.name.lowercased()) } && endpoint.body.isEmpty
  }

  private static let harmlessHeaders: Set<String> = [
    "accept", "accept-encoding", "cache-control", "user-agent", "content-type",
  ]
}

/// A run that cannot begin or go on, in a sentence with what to do.
package struct EngineError: Error, Sendable, CustomStringConvertible {
  package var description: String
  package init(_ description: String) { self.description = description }
}
