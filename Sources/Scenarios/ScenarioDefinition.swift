// The keys of a scenario, each with its kind, default, range and sentence: the one place from which decoding, defaults,
// the JSON Schema and the commented starter file come. The keys of the mock and of the load stand in files of their own.

import Primitives

enum ScenarioDefinition {
  static let version = 1

  /// A scenario file.
  static let scenario = Shape(
    name: "scenario",
    fields: [
      .key(
        "$schema", .text(0...1_000), nil, "Where an editor finds the schema; not read",
        example: "./scenario.schema.json"),
      .key(
        "name", .text(1...200), nil,
        "Free text; in file names it becomes a slug of a-z, 0-9 and -. Default: the file's name",
        example: "my-first-run"),
      .key("seed", .integer(0...Int.max), 42, "All randomness of plan and mock follows from it"),
      .key("endpoint", .object(endpoint), .object([:]), "The server: the built-in mock, or a URL"),
      .key("request", .object(request), .object([:]), "What is asked of the server"),
      .key("load", .object(LoadDefinition.load), nil, "When sessions start, and how many"),
      .key("client", .object(client), .object([:]), "The measuring client"),
      .key(
        "compare", .map(.list(.anything, 1...1_000)), nil,
        "Variants of one run: key paths of this file with the values that each takes; the cross product has at most 1,000",
        example: .object(["client.parser": .array(["whatwg", "lines"])])),
      .key("measure", .object(measure), .object([:]), "What is measured, and how often"),
      .key(
        "slo", .object(slo), .object([:]),
        "Limits on one session, in milliseconds; goodput counts the sessions that meet all"),
      .key(
        "gates", .list(.either([.text(1...1_000), .object(gate)]), 0...1_000), .array([]),
        "Limits on the run's figures; the exit code is 1 when one does not hold",
        example: .array(["errors_ratio <= 0.001"])),
      .key(
        "budget", .object(budget), .object([:]), "What the run may cost; it stops before it would pass one",
        example: .object(["requests": 1_000, "output_tokens": 200_000])),
      .key(
        "until", until, nil,
        "How a plain sse session ends; without it by a 204, or, without reconnects, at a clean end of the body",
        example: .object(["events": 100])),
      .key(
        "verify", .object(verify), nil,
        "Where a foreign server puts the number of an event, so that loss and order can be judged",
        example: .object(["sequence": .object(["json": "n"])])),
      .key(
        "wukongim", .object(wukongim), nil, "A WuKongIM run, in place of load; a session is one reader",
        example: .object(["channels": 10, "readers": 100, "producers": 10, "replies": 10, "deltas": 100])),
    ],
    exclusive: [("load", "wukongim")])

  static let endpoint = Shape(
    name: "endpoint",
    fields: [
      .key(
        "mock", .object(MockDefinition.mock), .object([:]),
        "The built-in mock, started for the run as a process of its own on loopback", unless: "url"),
      .key("url", .url, nil, "A server in place of the mock", example: "https://host/v1/chat/completions"),
      .key(
        "api", .word(API.allCases.map(\.rawValue)), nil,
        "What the server speaks; default sse, with the mock the mock's", example: "openai-chat"),
      .key(
        "headers", .map(.text(0...65_536)), .object([:]),
        "Request headers; one that is set here wins over ours",
        example: .object(["Authorization": "Bearer ${OPENAI_API_KEY}"])),
      .key(
        "http", .word(HTTPVersion.allCases.map(\.rawValue)), "auto",
        "The HTTP version; auto takes HTTP/2 where TLS offers it"),
      .key("tls", .object(tls), .object([:]), "How the server's certificate is checked"),
      .key(
        "resolve", .list(.text(1...1_000), 0...1_000), .array([]),
        "Addresses in place of DNS, in curl's form host:port:address"),
      .key("proxy", .text(1...1_000), nil, "A proxy's URL", example: "http://proxy:3128"),
      .key(
        "unix_socket", .text(1...1_000), nil, "A Unix domain socket to connect to in place of the URL's host",
        example: "/run/server.sock"),
      .key(
        "wait_ready", .duration(), nil,
        "How long to wait for the first answer below 500 before the run begins", example: "30s"),
      .key(
        "method", .word(["GET", "POST"]), nil,
        "Default: POST for LLM APIs and where there is a body, else GET", example: "POST"),
    ],
    exclusive: [("mock", "url"), ("mock", "unix_socket")])

  static let tls = Shape(
    name: "tls",
    fields: [
      .key(
        "ca", .text(1...4_096), nil, "A PEM file of certificate authorities in place of the system's",
        example: "ca.pem"),
      .key("cert", .text(1...4_096), nil, "A PEM file with a client certificate", example: "client.pem"),
      .key("key", .text(1...4_096), nil, "A PEM file with its key", example: "client.key"),
      .key("insecure", .boolean, false, "Skips the verification of the server"),
    ])

  static let request = Shape(
    name: "request",
    fields: [
      .key("model", .text(1...1_000), .string(RequestSettings().model), "The model's name", unless: "body"),
      .key(
        "prompt", .text(0...1_000_000), .string(RequestSettings().prompt), "The user's message",
        unless: "body"),
      .key(
        "max_tokens", .integer(1...10_000_000), nil,
        "The most tokens that an answer may have; default: the server's", example: 128),
      .key("body", .anything, nil, "Sent as it is, in place of model, prompt and max_tokens"),
    ],
    exclusive: [("body", "model"), ("body", "prompt"), ("body", "max_tokens")])

  static let client = Shape(
    name: "client",
    fields: [
      .key(
        "stack", .word(Stack.allCases.map(\.rawValue)), "curl",
        "The transport; raw is plain HTTP/1.1 for the highest loads"),
      .key(
        "fidelity", .word(Fidelity.allCases.map(\.rawValue)), "strict",
        "Faithful: the stacks and modes that stand for a library keep its faults"),
      .key("parser", .word(Parser.allCases.map(\.rawValue)), "whatwg", "How bytes become events"),
      .key(
        "parser_variant", .word(["pr49"]), nil,
        "With the eventsource modes: pr49 is the library's later buffer fix; default release 0.1.7",
        example: "pr49"),
      .key(
        "custom", .object(custom), nil, "The record format of the parser custom",
        example: .object(["record": "\n", "field": "|", "fields": .array(["event", "id", "data"])])),
      .key(
        "decoder", .word(Decoder.allCases.map(\.rawValue)), "simdjson",
        "How an event's JSON becomes tokens; with none, tokens and TTFT are not known"),
      .key(
        "consumer",
        .either([
          .word(["discard", "accumulate", "accumulate-string", "coalesce"]),
          .tagged(
            "consumer",
            [
              .key("slow", .duration(positive: true), nil, "Takes this long for each event"),
              .key("leak", .object(leak), nil, "Test only: keeps bytes of each token for ever"),
            ]),
        ]), "discard", "What the client does with the text; coalesce updates at most every 16 ms"),
      .key(
        "connections", .word(Connections.allCases.map(\.rawValue)), "reuse",
        "Whether a session may use a connection of an earlier one"),
      .key("timeouts", .object(timeouts), .object([:]), "When a session fails for lack of progress"),
      .key(
        "limits", .object(limits), .object([:]),
        "What a session may hold of one line and one event; beyond it the session fails as too_large"),
      .key(
        "reconnect", .object(reconnect), .object([:]),
        "What a session does when its connection ends before its time"),
      .key(
        "cancel", .object(cancel), nil, "A share of the sessions that the client gives up",
        example: .object(["share": .number(0.1), "after": .object(["tokens": 50])])),
      .key(
        "read_buffer", .size(1_024...524_288), nil,
        "The receive buffer of a connection; default: chosen by the load", example: "16KiB"),
    ])

  static let leak = Shape(
    name: "leak",
    fields: [
      .key("bytes", .integer(1...1_048_576), nil, "Bytes kept of each token", required: true),
      .key("one_in", .integer(1...1_000_000), 1, "In one of so many sessions"),
    ])

  static let custom = Shape(
    name: "custom",
    fields: [
      .key("record", .text(1...8), nil, "What ends a record, one to eight bytes", required: true),
      .key("field", .text(1...8), nil, "What separates its fields, one to eight bytes", required: true),
      .key(
        "fields", .list(.text(1...100), 1...64), nil,
        "The fields in order: event, id, data; any other is passed over", required: true),
    ])

  static let timeouts = Shape(
    name: "timeouts",
    fields: [
      .key("connect", .duration(positive: true), "10s", "To a ready connection, TLS included"),
      .key("first_event", .duration(positive: true), "60s", "Request sent to first event"),
      .key("idle", .duration(positive: true), "60s", "The longest time without a byte"),
      .key("total", .duration(positive: true), "300s", "The whole session, reconnects included"),
    ])

  static let limits = Shape(
    name: "limits",
    fields: [
      .key("line", .size(64...(1 << 30)), "16MiB", "The longest line"),
      .key("event", .size(64...(1 << 30)), "16MiB", "The largest event"),
    ])

  static let reconnect = Shape(
    name: "reconnect",
    fields: [
      .key(
        "policy", .word(Reconnect.Policy.allCases.map(\.rawValue)), "none",
        "whatwg: as a browser's EventSource; backoff: growing delays; restart: asks an LLM API again from the start"
      ),
      .key("retry", .duration(), "3s", "whatwg: the reconnection time until the server says another"),
      .key("base", .duration(), "1s", "backoff: the delay before the first try"),
      .key("factor", .number(1...100), 2, "backoff: by how much it grows"),
      .key("cap", .duration(), "30s", "backoff: what it grows to"),
      .key(
        "jitter", .number(0...1), nil,
        "The share of the delay that is random; default 0.5 for backoff, 0 for whatwg", example: .number(0.5)),
      .key(
        "tries", .integer(1...1_000_000), nil,
        "Tries in a row before the session fails; default no bound (whatwg), 5 (backoff)", example: 5),
      .key("reset_after", .duration(), "60s", "A connection open this long sets the count of tries back"),
      .key(
        "longest", .duration(), "300s", "The longest delay that a server's retry or Retry-After may ask for"),
    ])

  static let cancel = Shape(
    name: "cancel",
    fields: [
      .key("share", .number(0...1), nil, "The share of the sessions, 0 to 1", required: true),
      .key(
        "after",
        .tagged(
          "cancel_after",
          [
            .key("tokens", .integer(0...10_000_000), nil, "After so many tokens"),
            .key("time", .duration(), nil, "So long after the request was sent"),
          ]), nil, "When", required: true),
    ])

  static let measure = Shape(
    name: "measure",
    fields: [
      .key("warm_up", .duration(), "0s", "Sessions that start within this time are run and not counted"),
      .key(
        "repeats", .integer(1...100), nil, "How often the run is repeated; default 1, and 3 with compare",
        example: 1),
      .key("memory", .boolean, false, "Whether the client's memory is measured"),
      .key("stall", .duration(positive: true), "1s", "A gap longer than this is a stall"),
      .key(
        "priority", .word(Measure.Priority.allCases.map(\.rawValue)), "normal",
        "realtime asks the system for SCHED_FIFO"),
    ])

  static let slo = Shape(
    name: "slo",
    fields: [
      .key("ttft_ms", limit, nil, "Time to the first token", example: 500),
      .key("itl_ms", limit, nil, "The session's mean gap between tokens", example: 100),
      .key("max_gap_ms", limit, nil, "The session's longest gap", example: 1_000),
      .key("tpot_ms", limit, nil, "Time per output token after the first"),
      .key("e2e_ms", limit, nil, "Request sent to the end of the stream"),
    ])

  private static let limit = Kind.number(0...86_400_000, above: true)

  static let gate = Shape(
    name: "gate",
    fields: [
      .key("gate", .text(1...1_000), nil, "The expression", required: true),
      .key("abort_on_fail", .boolean, false, "Ends a hopeless run early"),
    ])

  static let budget = Shape(
    name: "budget",
    fields: [
      .key("requests", .integer(1...Int.max), nil, "Requests sent, reconnects included", example: 1_000),
      .key("output_tokens", .integer(1...Int.max), nil, "Tokens received", example: 200_000),
    ])

  static let until = Kind.tagged(
    "until",
    [
      .key("events", .integer(1...Int.max), nil, "After so many events"),
      .key("event", .text(1...1_000), nil, "At an event of this type"),
      .key("data", .text(0...65_536), nil, "At an event with this data"),
      .key("duration", .duration(positive: true), nil, "After this time"),
    ])

  static let verify = Shape(
    name: "verify",
    fields: [
      .key(
        "sequence",
        .either([
          .word(["id"]),
          .tagged(
            "sequence",
            [
              .key("json", .text(1...1_000), nil, "A path into the data, keys joined by dots"),
              .key(
                "regex", .text(1...1_000), nil, "An expression over the data with one group for the number"),
            ]),
        ]), nil, "Where the number stands", required: true),
      .key("first", .integer(Int.min...Int.max), nil, "The first number; default: the first one seen"),
      .key("expected", .integer(1...1_000_000_000_000), nil, "Events in all; default: not known"),
      .key(
        "checksum", .object(checksum), nil, "Where a foreign server puts a checksum, so that damage can be judged",
        example: .object(["crc32c": "crc", "of": "text"])),
    ])

  private static let checksum = Shape(
    name: "checksum",
    fields: [
      .key(
        "crc32c", .text(1...1_000), nil, "A path into the data to the CRC-32C in hexadecimal digits", required: true),
      .key("of", .text(1...1_000), nil, "A path to the string whose UTF-8 it is the checksum of", required: true),
    ])

  static let wukongim = Shape(
    name: "wukongim",
    fields: [
      .key("channels", .integer(1...1_000_000), 1, "Channels in all"),
      .key("channel_type", .integer(1...2), 2, "1 person, 2 group"),
      .key("readers", .integer(1...1_000_000), 10, "Sessions that read, over all channels"),
      .key("producers", .integer(1...10_000), 1, "Sessions that write"),
      .key("replies", .integer(1...10_000_000), 10, "Streamed messages in all"),
      .key("deltas", .integer(1...1_000_000), 100, "Pieces of one message"),
      .key(
        "delta_units", varying("units", .integer(1...65_536), .number(0...65_536, above: true)),
        .object(["uniform": .array([1, 8])]), "UTF-16 units of a piece, about"),
      .key("interval", varyingTime, "20ms", "Between two pieces"),
      .key(
        "kill",
        .object(
          Shape(
            name: "kill",
            fields: [
              .key("times", .integer(0...1_000), 0, "How often each reader is dropped at a random point")
            ])),
        .object([:]), "Readers that lose their connection"),
      .key(
        "rules", .word(WuKongIMLoad.Rules.allCases.map(\.rawValue)), "normative",
        "Which projection rules the readers follow"),
    ])

  /// A constant or a distribution over `base`; its parameters are of the kind `parameter`.
  static func varying(_ name: String, _ base: Kind, _ parameter: Kind) -> Kind {
    .either([
      base,
      .tagged(
        "varying_\(name)",
        [
          .key(
            "lognormal",
            .object(
              Shape(
                name: "lognormal_\(name)",
                fields: [
                  .key("median", parameter, nil, "Half of the values are below", required: true),
                  .key(
                    "p99", parameter, nil, "99 of 100 values are below; at least the median", required: true),
                ])), nil, "Log-normal by median and 99th percentile"),
          .key("uniform", .list(base, 2...2), nil, "Each value between the two is as likely"),
          .key(
            "exponential",
            .object(
              Shape(
                name: "exponential_\(name)",
                fields: [
                  .key("mean", parameter, nil, "The mean", required: true)
                ])), nil, "Exponential by its mean"),
          .key(
            "trace", .text(1...4_096), nil,
            "A file with one value a line, relative to this file, again from the start when used up"),
        ]),
    ])
  }

  static let varyingTime = varying("time", .duration(), .duration(positive: true))
}
