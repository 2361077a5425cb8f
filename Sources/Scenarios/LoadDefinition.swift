// The keys of `load`: which model, and what each model needs.

import Primitives

enum LoadDefinition {
  private static let sweeps = ["sweep", "search"]
  private static let open = ["constant", "poisson", "gamma", "stages", "burst", "trace"]

  private static func model(_ models: String...) -> Field.Condition {
    Field.Condition(key: "model", values: models, tolerated: sweeps)
  }

  static let load = Shape(
    name: "load",
    fields: [
      .key(
        "model", .word(LoadModel.allCases.map(\.rawValue)), "closed",
        "closed: so many at a time; constant, poisson, gamma: so many per second; stages: ramps; burst: all at once; trace: a file; sweep, search: several loads"
      ),
      .key(
        "concurrency", .integer(1...1_000_000), nil, "closed: live sessions at a time; default: sessions",
        when: model("closed"), example: 10),
      .key(
        "sessions", .integer(1...1_000_000_000), nil, "Sessions in all, those of the warm-up included",
        when: .init(
          key: "model", values: ["closed", "constant", "poisson", "gamma", "stages", "trace"],
          tolerated: sweeps), example: 50),
      .key(
        "duration", .duration(positive: true), nil, "For how long sessions are started, after the warm-up",
        example: "60s"),
      .key(
        "ramp_up", .duration(), "0s", "closed: spreads the first starts evenly", when: model("closed"),
        example: "2s"),
      .key(
        "think_time", ScenarioDefinition.varyingTime, "0s",
        "closed: from the end of a session to the next start in its place", when: model("closed")),
      .key(
        "rate", .rate(), nil, "constant, poisson, gamma: session starts per second",
        when: model("constant", "poisson", "gamma"), example: "20/s"),
      .key(
        "cv", .number(0...100, above: true), 1,
        "gamma: coefficient of variation of the gaps; 1 is Poisson, above it is bursty", when: model("gamma")),
      .key(
        "stages", .list(.object(stage), 1...1_000), nil,
        "stages: ramps and plateaus, each linear from the rate of the one before, 0 at first",
        when: .init(key: "model", values: ["stages"]),
        example: .array([.object(["rate": "50/s", "for": "30s"]), .object(["rate": "50/s", "for": "1m"])])),
      .key(
        "burst", .object(burst), nil, "burst: all at one instant",
        when: .init(key: "model", values: ["burst"]),
        example: .object(["sessions": 100, "at": "1s"])),
      .key(
        "trace", .object(trace), nil, "trace: start times and sizes from a file",
        when: .init(key: "model", values: ["trace"]),
        example: .object(["file": "trace.csv", "format": "azure", "speed": 1])),
      .key(
        "sweep", .object(sweep), nil, "sweep: a list of loads in one run",
        when: .init(key: "model", values: ["sweep"]),
        example: .object(["key": "concurrency", "values": .array([10, 20, 50])])),
      .key(
        "search", .object(search), nil, "search: the highest load that meets the slo, by bisection",
        when: .init(key: "model", values: ["search"]),
        example: .object(["key": "rate", "from": "10/s", "to": "200/s", "tolerance": "5/s"])),
      .key(
        "max_live", .integer(1...1_000_000), nil,
        "Open loads: live sessions beyond which a start waits or is dropped; default: no bound",
        when: .init(key: "model", values: open, tolerated: sweeps), example: 1_000),
      .key(
        "beyond", .word(Load.Beyond.allCases.map(\.rawValue)), "queue",
        "Open loads: what happens to a start beyond max_live",
        when: .init(key: "model", values: open, tolerated: sweeps)),
      .key("drain", .duration(), "30s", "How long live sessions have to end when the time is over"),
      .key("workers", .integer(1...64), 1, "Worker processes, each a shard of the plan"),
    ])

  static let stage = Shape(
    name: "stage",
    fields: [
      .key("rate", .rate(positive: false), nil, "Reached at the end of the stage", required: true),
      .key("for", .duration(), nil, "How long the stage takes; 0s is a step", required: true),
    ])

  static let burst = Shape(
    name: "burst",
    fields: [
      .key("sessions", .integer(1...1_000_000), nil, "How many", required: true),
      .key("at", .duration(), "0s", "When, after the run's start"),
    ])

  static let trace = Shape(
    name: "trace",
    fields: [
      .key("file", .text(1...4_096), nil, "Relative to the scenario's folder", required: true),
      .key(
        "format", .word(TraceFormat.allCases.map(\.rawValue)), "csv",
        "csv and jsonl: at_s or at_ms, input_tokens, output_tokens; azure, burstgpt and mooncake as published"
      ),
      .key("speed", .number(0...1_000_000, above: true), 1, "2 is twice as fast"),
    ])

  private static let base = Field.key(
    "base", .word(["closed", "constant", "poisson", "gamma"]), nil,
    "The model of each load; default: poisson where the key is load.rate, else closed", example: "poisson")

  static let sweep = Shape(
    name: "sweep",
    fields: [
      .key(
        "key", .text(1...200), nil, "A key path of the scenario; a key of load may stand without load.",
        required: true),
      .key(
        "values", .list(.anything, 1...1_000), nil,
        "What the key takes, one load after the other; a bare number of a rate is per second", required: true),
      base,
    ])

  static let search = Shape(
    name: "search",
    fields: [
      .key("key", .text(1...200), nil, "A key path with a number or a rate", required: true),
      .key("from", bound, nil, "A load that is expected to meet the slo", required: true),
      .key("to", bound, nil, "The highest load that is tried", required: true),
      .key("tolerance", bound, 1, "The search ends when it knows the answer to within this"),
      base,
    ])

  private static let bound = Kind.either([.number(0...1e9, above: true), .rate()])
}
