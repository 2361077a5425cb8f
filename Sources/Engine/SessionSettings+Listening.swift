// The settings of one session that no scenario describes: a URL, a parser and a reconnect policy as a user types them.

package import Primitives
package import Scenarios
package import Streams
import Transports

extension SessionSettings {
  /// - Parameters:
  ///   - body: sent with POST; nil: GET.
  ///   - retry: the reconnection time until the server says another; nil: the scenario's default.
  package init(
    listeningTo url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
    parser: ParserSettings = ParserSettings(), policy: Reconnect.Policy = .none, retry: Nanoseconds? = nil,
    tls: TLSSettings = TLSSettings(), stack: Stack = .curl
  ) throws(EngineError) {
    var scenario = Scenario()
    scenario.endpoint.mock = nil
    scenario.endpoint.url = url
    scenario.endpoint.api = .sse
    scenario.endpoint.tls = tls
    scenario.endpoint.method = body == nil ? "GET" : "POST"
    let names = Set(headers.map { $0.name.lowercased() })
    scenario.endpoint.headers = headers
    if body?.isEmpty == false && !names.contains("content-type") {
      scenario.endpoint.headers.append((name: "Content-Type", value: "application/json"))
    }
    scenario.client.stack = stack
    scenario.client.reconnect.policy = policy
    if let retry {
      scenario.client.reconnect.retry = retry
      scenario.client.reconnect.base = retry
    }
    // Whoever watches decides when it has taken too long.
    let ever = Nanoseconds.seconds(100 * 365 * 86_400)
    scenario.client.timeouts.firstEvent = ever
    scenario.client.timeouts.idle = ever
    scenario.client.timeouts.total = ever
    // A `retry` of the server's is kept whatever it asks: the standard allows later, never earlier.
    scenario.client.reconnect.longest = ever
    try self.init(scenario, mockURLs: nil)
    self.parser = parser
    if parser.mode == .ndjson || parser.mode == .custom { contentTypes = [] }
    if let body { endpoint.body = body }
  }
}
