// The mock's part of a document (`endpoint.mock`, or a whole MOCK.json) becomes MockSettings.

import Primitives

extension ScenarioBuilder {
  mutating func mock(_ place: Reading) -> MockSettings {
    var mock = MockSettings()
    mock.api = place["api"].word() ?? mock.api
    mock.tokens = count(place["tokens"]) ?? mock.tokens
    mock.firstToken = time(place["first_token"]) ?? mock.firstToken
    mock.interval = time(place["interval"]) ?? mock.interval
    mock.faults = place["faults"].list.compactMap { fault($0) }
    mock.wukongFaults = place["wukongim_faults"].list.compactMap { fault in
      fault["kind"].string.map {
        WuKongFault(kind: $0, probability: fault["probability"].double ?? 1, length: fault["for"].duration)
      }
    }
    mock.processes = place["processes"].int ?? 1
    mock.stamp = place["stamp"].bool ?? true
    mock.tokenSize = count(place["token_size"]) ?? mock.tokenSize
    mock.text = place["text"].word() ?? .latin
    mock.eventsPerWrite = place["events_per_write"].int ?? 1
    mock.tokensPerEvent = place["tokens_per_event"].int ?? 1
    mock.reasoningTokens = place["reasoning_tokens"].int ?? 0
    mock.toolCall = place["tool_call"].bool ?? false
    mock.replayBuffer = place["replay_buffer"].int
    mock.replay = file(place["replay"])
    mock.addresses = place["addresses"].int ?? 1
    return mock
  }

  private mutating func fault(_ place: Reading) -> Fault? {
    guard let kind: FaultKind = place["kind"].word() else { return nil }
    var fault = Fault(kind: kind)
    fault.at = point(place["at"])
    fault.connection = place["connection"].int
    if let share = place["sessions"].double {
      fault.sessions = .share(share)
    } else if place["sessions"].value?.asArray != nil {
      fault.sessions = .list(place["sessions"].list.compactMap(\.int))
    }
    // A loop that ends after one turn is none.
    let isLoop = place["loop"].bool ?? false
    fault.times = place["times"].string == "always" ? nil : place["times"].int ?? (isLoop ? nil : 1)
    fault.probability = place["probability"].double ?? 1
    fault.length = place["for"].duration
    fault.comments = place["comments"].bool ?? false
    fault.bytes = place["bytes"].int ?? 1
    fault.every = place["every"].duration ?? fault.every
    fault.inside = place["inside"].word() ?? .scalar
    fault.by = place["by"].int ?? (kind == .length ? 1 : 0)
    fault.count = place["n"].int ?? 1
    fault.value = place["value"].string ?? place["value"].int.map(String.init) ?? ""
    fault.code = place["code"].int ?? 503
    fault.retryAfter = place["retry_after"].string ?? place["retry_after"].int.map(String.init)
    fault.body = place["body"].string
    fault.to = place["to"].string
    fault.keep = place["keep"].int ?? 0
    fault.perSecond = place["per_s"].double ?? 100
    if kind == .length && fault.by == 0 {
      refuse(place["by"], "0 makes no difference", "a whole number other than 0")
    }
    if kind == .redirect && fault.to == nil && place["loop"].bool != true {
      refuse(place, "a redirect without its target", "\"to\": a URL, or \"loop\": true")
    }
    return fault
  }

  private func point(_ place: Reading) -> Fault.Point? {
    if let event = place["event"].int { return .event(event) }
    if let byte = place["byte"].int { return .byte(byte) }
    if let time = place["time"].duration { return .time(time) }
    return place["run_time"].duration.map { .runTime($0) }
  }
}
