// MockSettings become the document of a MOCK.json that reads back as the same settings: what `run` hands to the mock
// that it starts.

package import Primitives

extension MockSettings {
  /// Every key, also those at their default. Text that looks like a variable is escaped.
  package var json: JSONValue {
    var object = JSONObject([
      ("api", .string(api.rawValue)),
      ("tokens", Self.json(tokens, Self.count)),
      ("first_token", Self.json(firstToken, Self.time)),
      ("interval", Self.json(interval, Self.time)),
      ("faults", .array(faults.map(\.json))),
      ("wukongim_faults", .array(wukongFaults.map(Self.json))),
      ("processes", .integer(Int64(processes))),
      ("stamp", .bool(stamp)),
      ("token_size", Self.json(tokenSize, Self.count)),
      ("text", .string(text.rawValue)),
      ("events_per_write", .integer(Int64(eventsPerWrite))),
      ("tokens_per_event", .integer(Int64(tokensPerEvent))),
      ("reasoning_tokens", .integer(Int64(reasoningTokens))),
      ("tool_call", .bool(toolCall)),
    ])
    object["replay_buffer"] = replayBuffer.map { .integer(Int64($0)) }
    object["replay"] = replay.map { .string(Variables.escape($0)) }
    object["addresses"] = .integer(Int64(addresses))
    return .object(object)
  }

  private static func json(_ fault: WuKongFault) -> JSONValue {
    var object = JSONObject([("kind", .string(fault.kind)), ("probability", .number(fault.probability))])
    object["for"] = fault.length.map { .string(Units.text($0)) }
    return .object(object)
  }

  private static func time(_ value: Double) -> JSONValue {
    .string(Units.text(Nanoseconds(Int64(value.rounded()))))
  }

  private static func count(_ value: Double) -> JSONValue {
    Int64(exactly: value).map { .integer($0) } ?? .number(value)
  }

  private static func json(_ distribution: Distribution, _ value: (Double) -> JSONValue) -> JSONValue {
    switch distribution {
    case .constant(let constant): value(constant)
    case .lognormal(let median, let p99):
      .object(["lognormal": .object(["median": value(median), "p99": value(p99)])])
    case .uniform(let low, let high): .object(["uniform": .array([value(low), value(high)])])
    case .exponential(let mean): .object(["exponential": .object(["mean": value(mean)])])
    case .trace(let file, _): .object(["trace": .string(Variables.escape(file))])
    }
  }
}

extension Fault {
  /// The keys that the kind has, those at their default too.
  package var json: JSONValue {
    var object = JSONObject([("kind", .string(kind.rawValue))])
    switch at {
    case .event(let event): object["at"] = .object(["event": .integer(Int64(event))])
    case .byte(let byte): object["at"] = .object(["byte": .integer(Int64(byte))])
    case .time(let time): object["at"] = .object(["time": .string(Units.text(time))])
    case .runTime(let time): object["at"] = .object(["run_time": .string(Units.text(time))])
    case nil: break
    }
    object["connection"] = connection.map { .integer(Int64($0)) } ?? "any"
    object["sessions"] =
      switch sessions {
      case .all: "all"
      case .share(let share): .number(share)
      case .list(let list): .array(list.map { .integer(Int64($0)) })
      }
    object["times"] = times.map { .integer(Int64($0)) } ?? "always"
    object["probability"] = .number(probability)
    switch kind {
    case .stall:
      object["for"] = length.map { .string(Units.text($0)) }
      object["comments"] = .bool(comments)
    case .restart, .down: object["for"] = length.map { .string(Units.text($0)) }
    case .drip:
      object["bytes"] = .integer(Int64(bytes))
      object["every"] = .string(Units.text(every))
    case .cut: object["inside"] = .string(inside.rawValue)
    case .length: object["by"] = .integer(Int64(by))
    case .replay, .skip: object["n"] = .integer(Int64(count))
    case .retry: object["value"] = .string(Variables.escape(value))
    case .status:
      object["code"] = .integer(Int64(code))
      object["retry_after"] = retryAfter.map { .string(Variables.escape($0)) }
      object["body"] = body.map { .string(Variables.escape($0)) }
    case .redirect:
      object[to == nil ? "loop" : "to"] = to.map { .string(Variables.escape($0)) } ?? true
    case .shortBuffer: object["keep"] = .integer(Int64(keep))
    case .slowStart: object["per_s"] = .number(perSecond)
    case .fin, .rst, .halfClose, .noLastChunk, .swap, .foreign, .corrupt, .idReset, .html, .jsonError,
      .errorObject:
      break
    }
    return .object(object)
  }
}
