// What one word, `client.stack`, stands for beside its transport: the keys that a complete client model sets where the
// scenario leaves them out. A key that is written wins.

import Primitives

/// The defaults of a client model, in the words of a scenario.
///
/// | stack | parser | decoder | consumer | connections | reconnect |
/// | --- | --- | --- | --- | --- | --- |
/// | `eventsource` | faithful: `eventsource`, strict: `whatwg` | `foundation` | – | `fresh` | 2, 4, 8, 16, 32 s, 5 tries, no jitter |
/// | `bytes-lines` | faithful: `lines`, strict: `whatwg` | `foundation` | `coalesce` | – | – |
/// | `live-monitor` | as `eventsource` | `foundation` | – | `fresh` | 5 s, always |
///
/// A dash leaves the key's own default. The tries of `eventsource` are set back when a connection opens (faithful) or
/// when it was open for `reset_after` (strict). LLM APIs cannot resume: there the request is sent anew (`restart`).
struct StackPreset {
  let values: [(path: String, value: JSONValue)]

  /// - Parameters:
  ///   - stack, fidelity: as the scenario has them; nil stands for their defaults.
  ///   - isLLM: the API is not plain SSE.
  init(stack: String?, fidelity: String?, isLLM: Bool) {
    let isFaithful = fidelity == Fidelity.faithful.rawValue
    func parser(_ faithful: Parser) -> JSONValue { .string((isFaithful ? faithful : .whatwg).rawValue) }
    let policy = JSONValue.string((isLLM ? Reconnect.Policy.restart : .backoff).rawValue)
    switch stack.flatMap(Stack.init(rawValue:)) ?? .curl {
    case .curl, .raw, .urlsession: values = []
    case .eventsource:
      values = [
        ("client.parser", parser(.eventsource)), ("client.decoder", "foundation"), ("client.connections", "fresh"),
        ("client.reconnect.policy", policy), ("client.reconnect.base", "2s"), ("client.reconnect.factor", 2),
        ("client.reconnect.cap", "32s"), ("client.reconnect.jitter", 0), ("client.reconnect.tries", 5),
        ("client.reconnect.reset_after", isFaithful ? "0s" : "60s"),
      ]
    case .liveMonitor:
      values = [
        ("client.parser", parser(.eventsource)), ("client.decoder", "foundation"), ("client.connections", "fresh"),
        ("client.reconnect.policy", policy), ("client.reconnect.base", "5s"), ("client.reconnect.factor", 1),
        ("client.reconnect.cap", "5s"), ("client.reconnect.jitter", 0), ("client.reconnect.tries", 1_000_000),
      ]
    case .bytesLines:
      values = [("client.parser", parser(.lines)), ("client.decoder", "foundation"), ("client.consumer", "coalesce")]
    }
  }
}
