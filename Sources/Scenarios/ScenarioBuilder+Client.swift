// The `client` part of a document becomes ClientSettings.

import Primitives

extension ScenarioBuilder {
  func client(_ place: Reading) -> ClientSettings {
    var client = ClientSettings()
    client.stack = place["stack"].word() ?? .curl
    client.fidelity = place["fidelity"].word() ?? .strict
    client.parser = place["parser"].word() ?? .whatwg
    client.parserVariant = place["parser_variant"].string
    if let record = place["custom"]["record"].string, let field = place["custom"]["field"].string {
      client.custom = CustomFormat(
        record: record, field: field, fields: place["custom"]["fields"].list.compactMap(\.string))
    }
    client.decoder = place["decoder"].word() ?? .simdjson
    client.consumer = consumer(place["consumer"])
    client.connections = place["connections"].word() ?? .reuse
    let timeouts = place["timeouts"]
    client.timeouts.connect = timeouts["connect"].duration ?? client.timeouts.connect
    client.timeouts.firstEvent = timeouts["first_event"].duration ?? client.timeouts.firstEvent
    client.timeouts.idle = timeouts["idle"].duration ?? client.timeouts.idle
    client.timeouts.total = timeouts["total"].duration ?? client.timeouts.total
    client.limits.line = place["limits"]["line"].size ?? client.limits.line
    client.limits.event = place["limits"]["event"].size ?? client.limits.event
    client.reconnect = reconnect(place["reconnect"])
    client.cancel = cancel(place["cancel"])
    client.readBuffer = place["read_buffer"].size
    return client
  }

  private func consumer(_ place: Reading) -> Consumer {
    switch place.string {
    case "accumulate": return .accumulate
    case "accumulate-string": return .accumulateString
    case "coalesce": return .coalesce
    default: break
    }
    if let time = place["slow"].duration { return .slow(time) }
    if let bytes = place["leak"]["bytes"].int {
      return .leak(bytes: bytes, oneIn: place["leak"]["one_in"].int ?? 1)
    }
    return .discard
  }

  private func reconnect(_ place: Reading) -> Reconnect {
    var reconnect = Reconnect()
    reconnect.policy = place["policy"].word() ?? .none
    reconnect.retry = place["retry"].duration ?? reconnect.retry
    reconnect.base = place["base"].duration ?? reconnect.base
    reconnect.factor = place["factor"].double ?? reconnect.factor
    reconnect.cap = place["cap"].duration ?? reconnect.cap
    reconnect.jitter = place["jitter"].double
    reconnect.tries = place["tries"].int
    reconnect.resetAfter = place["reset_after"].duration ?? reconnect.resetAfter
    reconnect.longest = place["longest"].duration ?? reconnect.longest
    return reconnect
  }

  private func cancel(_ place: Reading) -> Cancel? {
    guard let share = place["share"].double else { return nil }
    if let tokens = place["after"]["tokens"].int { return Cancel(share: share, after: .tokens(tokens)) }
    return place["after"]["time"].duration.map { Cancel(share: share, after: .time($0)) }
  }
}
