// The keys of the mock (`endpoint.mock` and MOCK.json) and of the faults it injects.

import Primitives

enum MockDefinition {
  /// A mock file.
  static let mock = Shape(
    name: "mock",
    fields: [
      .key("$schema", .text(0...1_000), nil, "Where an editor finds the schema; not read"),
      .key(
        "api", .word(API.allCases.map(\.rawValue)), "openai-chat",
        "The API that the run asks for; the mock answers the paths of all"),
      .key(
        "tokens",
        ScenarioDefinition.varying("count", .integer(0...10_000_000), .number(0...10_000_000, above: true)),
        128,
        "Tokens (LLM APIs) or events (sse) of one stream; a request's max_tokens bounds it"),
      .key("first_token", ScenarioDefinition.varyingTime, "200ms", "Request received to first token due"),
      .key(
        "interval", ScenarioDefinition.varyingTime, "20ms",
        "Between two token events; 0s is as fast as the connection takes them"),
      .key(
        "faults", .list(.object(fault), 0...1_000), .array([]), "What goes wrong, and where",
        example: .array([.object(["kind": "fin", "at": .object(["event": 20])])])),
      .key(
        "wukongim_faults", .list(.object(wukongFault), 0...100), .array([]), "What goes wrong with the api wukongim",
        example: .array([.object(["kind": "drop_event", "probability": .number(0.01)])])),
      .key("processes", .integer(1...64), 1, "Mock processes that share the port"),
      .key("stamp", .boolean, true, "Whether each event carries its send time"),
      .key(
        "token_size",
        ScenarioDefinition.varying("size", .integer(1...1_048_576), .number(0...1_048_576, above: true)), 5,
        "Characters of a token's text, about, its leading space included"),
      .key(
        "text", .word(MockText.allCases.map(\.rawValue)), "latin",
        "What the text is made of; mixed has CJK, emoji, combining marks and escapes"),
      .key("events_per_write", .integer(1...10_000), 1, "Events that are put into one write"),
      .key("tokens_per_event", .integer(1...1_000), 1, "Tokens that one event carries"),
      .key("reasoning_tokens", .integer(0...1_000_000), 0, "Reasoning tokens before the visible ones"),
      .key("tool_call", .boolean, false, "Whether the answer is a tool call in place of text"),
      .key(
        "replay_buffer", .integer(0...10_000_000), nil, "Past events that /events can replay; default: all"),
      .key(
        "replay", .text(1...4_096), nil, "A recording by ssebench record, served in place of made-up streams",
        example: "recording.jsonl"),
      .key(
        "addresses", .integer(1...64), 1,
        "Loopback addresses to listen on, so that one destination's ports do not run out"),
    ])

  static let wukongFault = Shape(
    name: "wukongim_fault",
    fields: [
      .key("kind", .word(WuKongFault.kinds), nil, "What goes wrong", required: true),
      .key("probability", .number(0...1), 1, "Drawn from the seed at each chance"),
      .key("for", .duration(), nil, "Length of delays and age of stale histories; default 100 ms"),
    ])

  private static func kind(_ kinds: FaultKind...) -> Field.Condition {
    Field.Condition(key: "kind", values: kinds.map(\.rawValue))
  }

  private static let everyKind = FaultKind.allCases.map(\.rawValue)

  static let fault = Shape(
    name: "fault",
    fields: [
      .key("kind", .word(everyKind), nil, "What goes wrong", required: true),
      .key(
        "at",
        .tagged(
          "fault_at",
          [
            .key(
              "event", .integer(1...1_000_000_000), nil,
              "Before this event of the session, counted from 1 over its connections"),
            .key("byte", .integer(0...Int.max), nil, "Before this byte of a response's body"),
            .key("time", .duration(), nil, "After the response began"),
            .key("run_time", .duration(), nil, "After the mock started"),
          ]), nil, "Where"),
      .key(
        "connection", .either([.integer(1...1_000_000), .word(["any"])]), "any",
        "Which connection of a session, from 1"),
      .key(
        "sessions",
        .either([.word(["all"]), .number(0...1), .list(.integer(0...1_000_000_000), 1...100_000)]), "all",
        "Which sessions: all, a share of them, or a list"),
      .key("times", .either([.integer(1...1_000_000), .word(["always"])]), 1, "How often in one session; a loop: always", unless: "loop"),
      .key("probability", .number(0...1), 1, "Drawn from the seed at each chance"),

      .key("for", .duration(), nil, "How long; default: for ever", when: kind(.stall, .restart, .down)),
      .key("comments", .boolean, false, "Whether comments go on during a stall", when: kind(.stall)),
      .key("bytes", .integer(1...1_048_576), 1, "So many bytes at a time", when: kind(.drip)),
      .key("every", .duration(), "10ms", "So often", when: kind(.drip)),
      .key(
        "inside", .word(Fault.Inside.allCases.map(\.rawValue)), "scalar", "What the cut goes through",
        when: kind(.cut)),
      .key(
        "by", .integer(-1_000_000_000...1_000_000_000), 1,
        "Bytes by which the stated length is too long, or too short", when: kind(.length)),
      .key("n", .integer(1...1_000_000), 1, "How many events", when: kind(.replay, .skip)),
      .key("value", .either([.text(0...1_000), .integer(0...Int.max)]), "", "The text after retry:", when: kind(.retry)),
      .key("code", .integer(100...999), 503, "The status code", when: kind(.status)),
      .key("retry_after", .either([.text(0...1_000), .integer(0...Int.max)]), nil, "The Retry-After header", when: kind(.status)),
      .key("body", .text(0...1_048_576), nil, "The body of the answer", when: kind(.status)),
      .key("to", .text(1...4_096), nil, "Where to", when: kind(.redirect), unless: "loop"),
      .key("loop", .boolean, nil, "To itself, without end", when: kind(.redirect)),
      .key("keep", .integer(0...10_000_000), 0, "Events kept for replay", when: kind(.shortBuffer)),
      .key(
        "per_s", .number(0...1_000_000, above: true), 100, "Connections accepted per second",
        when: kind(.slowStart)),
    ],
    exclusive: [("to", "loop")])
}
