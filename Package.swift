// swift-tools-version: 6.2
// The targets stand in the order of the data's flow; Tests/LayeringTests holds who may import whom.

import PackageDescription

let swiftSettings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

/// One Swift target with the project's settings.
func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

/// The tests of one target.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies + ["TestSupport"], swiftSettings: swiftSettings)
}

let package = Package(
  name: "ssebench",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "ssebench", targets: ["ssebench"])],
  targets: [
    // The command: flags in, exit code out; the only place where everything meets.
    .executableTarget(
      name: "ssebench",
      dependencies: [
        "Scenarios", "Arrivals", "Engine", "Transports", "Streams", "Recording", "Analysis", "Reporting",
        "MockServing", "WuKongIM", "FoundationClients", "EventLoops", "Primitives", "CPlatform",
      ],
      swiftSettings: swiftSettings),
    // A scenario file becomes one checked, immutable Scenario, or a list of what to fix.
    target("Scenarios", ["Primitives"]),
    // A Scenario and a seed become a Plan: which session starts when, fixed before the run.
    target("Arrivals", ["Scenarios", "Primitives"]),
    // Requests out, timestamped bytes in.
    target("Transports", ["EventLoops", "Primitives", "CCurl", "CPlatform"]),
    // Bytes become SSE events become token deltas.
    target("Streams", ["Primitives", "CStreams", "CSimdjson"]),
    // Instants become session records, counters and histograms.
    target("Recording", ["Primitives", "CZlib"]),
    // Runs a Plan: sessions as state machines on worker threads, one loop each.
    target(
      "Engine",
      ["Scenarios", "Arrivals", "Transports", "Streams", "Recording", "WuKongIM", "EventLoops", "Primitives", "CPlatform"]),
    // Records become figures and warnings; two sets of figures become a comparison or a gate's verdict.
    target("Analysis", ["Recording", "Primitives"]),
    // Figures and verdicts become text, JSON, CSV and HTML; reports are read back; the archive of runs.
    target("Reporting", ["Analysis", "Recording", "Primitives", "CSQLite"]),
    // Servers that stream a script with known timing.
    target(
      "MockServing", ["EventLoops", "Scenarios", "Arrivals", "WuKongIM", "Recording", "Primitives", "CPlatform"]),
    // WuKongIM's frames, JSON-RPC, client and message projection; knows no socket.
    target("WuKongIM", ["Primitives", "CWslay"]),
    // Models of clients made with Foundation: URLSession and JSONDecoder.
    target("FoundationClients", ["Transports", "Streams", "EventLoops", "Primitives"]),
    // Readiness and timers: epoll or kqueue behind one loop.
    target("EventLoops", ["Primitives", "CPlatform"]),
    // Instants, durations, rates, the clock, seeded randomness, JSON values, checksums, the catalogue of figures.
    target("Primitives", ["CPlatform"]),

    // libcurl's variadic calls, with a type each.
    .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
    // What the importer cannot see: epoll, timerfd, mallctl, CRC-32C instructions.
    .target(name: "CPlatform", linkerSettings: [.linkedLibrary("jemalloc")]),
    // The 64-byte scan for line ends, in instructions that Swift cannot name.
    .target(name: "CStreams"),
    // simdjson behind plain C functions.
    .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CWslay", providers: [.apt(["libwslay-dev"])]),

    // The mock, a client and the workload of WuKongIM for tests with programs that no one here wrote.
    .executableTarget(
      name: "WuKongDriver",
      dependencies: [
        "Engine", "MockServing", "WuKongIM", "Transports", "EventLoops", "Recording", "Scenarios", "Primitives",
      ],
      path: "Tests/WuKongDriver", swiftSettings: swiftSettings),
    .target(
      name: "TestSupport", dependencies: ["Engine", "Recording", "Primitives"], path: "Tests/TestSupport", swiftSettings: swiftSettings),
    tests("PrimitivesTests", ["Primitives"]),
    tests("ScenariosTests", ["Scenarios", "Primitives"]),
    tests("ArrivalsTests", ["Arrivals", "Scenarios", "Primitives"]),
    tests("StreamsTests", ["Streams", "FoundationClients", "Primitives", "CPlatform"]),
    tests("TransportsTests", ["Transports", "EventLoops", "Primitives"]),
    tests("RecordingTests", ["Recording", "Primitives"]),
    tests(
      "EngineTests", ["Engine", "MockServing", "WuKongIM", "Transports", "Streams", "Recording", "Scenarios", "Primitives", "CPlatform"]),
    tests("AnalysisTests", ["Analysis", "Recording", "Primitives"]),
    tests("ReportingTests", ["Reporting", "Analysis", "Recording", "Primitives"]),
    tests("EventLoopsTests", ["EventLoops", "Primitives"]),
    tests("MockServingTests", ["MockServing", "WuKongIM", "Scenarios", "Arrivals", "Primitives"]),
    tests("WuKongIMTests", ["WuKongIM", "Primitives", "CPlatform"]),
    tests(
      "FoundationClientsTests",
      ["FoundationClients", "Engine", "Scenarios", "Transports", "Streams", "Recording", "EventLoops", "Primitives"]),
    tests("LayeringTests", []),
    .testTarget(
      name: "EndToEndTests", dependencies: ["ssebench", "TestSupport", "Primitives"], swiftSettings: swiftSettings),
  ],
  cLanguageStandard: .c17,
  cxxLanguageStandard: .cxx17
)
