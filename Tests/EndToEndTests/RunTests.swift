import Foundation
import Primitives
import TestSupport
import Testing

/// Whole runs against the mock: the files, the counts, and the flags that change a run.
@Suite struct RunTests {
  // MARK: The folder

  @Test func smallRun_LeavesEveryFileAndLosesNothing() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small)

    #expect(isDone(result.code), "\(result.errors)")
    let files = Set(scene.folder.files(under: "out"))
    for name in ["report.md", "report.html", "summary.json", "summary.csv", "sessions.csv", "timeseries.csv", "scenario.json"] {
      #expect(files.contains(name), "\(name)")
    }
    #expect(files.contains { $0.hasSuffix(".hlog") })
    let variant = try scene.variant()
    #expect(variant["sessions"]?["completed"] == 10 && variant["sessions"]?["failed"] == 0)
    #expect(variant["tokens"]?["count"] == 160 && variant["tokens"]?["source"] == "usage")
    #expect(try scene.errors().isEmpty)
    #expect(try scene.rows("out/sessions.csv").count == 10)
    #expect(result.output.contains("out/report.md"), "it says where the report is")
  }

  static let apis = ["sse", "openai-chat", "openai-completions", "openai-responses", "anthropic-messages", "gemini", "ollama"]

  @Test(arguments: apis, ["curl", "raw"]) func everyAPI_CompletesOnTheMock(_ api: String, _ stack: String) throws {
    let scene = try Scene()

    let result = try scene.run(
      scenario: Scene.small, "--set", "endpoint.mock.api=\(api)", "--set", "client.stack=\(stack)", "--set", "load.sessions=4")

    #expect(isDone(result.code), "\(result.errors) \(result.output)")
    #expect(try scene.variant()["sessions"]?["completed"] == 4)
    #expect(try scene.variant()["tokens"]?["count"] == 64)
    #expect(try scene.errors().isEmpty)
  }

  @Test func everyNumberOfTheReport_IsInTheSummary() throws {
    let scene = try Scene()
    let scenario = """
      {
        "name": "numbers",
        "endpoint": { "mock": { "api": "openai-chat", "tokens": 12, "first_token": "4ms", "interval": "2ms" } },
        "load": { "model": "closed", "concurrency": 5, "sessions": 70 },
        "compare": { "client.parser": ["whatwg", "data-only"] },
        "measure": { "repeats": 1, "memory": true },
        "gates": [ "errors_ratio <= 0", "ttft_ms.p50 < 60000" ]
      }
      """
    let result = try scene.run(scenario: scenario)
    #expect(isDone(result.code), "\(result.errors)")
    var known: [Double] = []
    Self.collect(try scene.summary(), into: &known)

    let cells = try Self.numerals(of: scene.folder.text("out/report.md"))

    #expect(cells.count > 100, "the scan found hardly any numbers: has the report changed its form?")
    for (text, line) in cells {
      let number = try #require(Double(text))
      let decimals = text.split(separator: ".", omittingEmptySubsequences: false).dropFirst().first?.count ?? 0
      let tolerance = 0.500_001 * pow(10, -Double(decimals))
      #expect(known.contains { abs($0 - number) <= tolerance }, "\(text) stands in no place of summary.json: \(line)")
    }
  }

  /// Every number of a document, those inside its sentences too.
  private static func collect(_ value: JSONValue, into known: inout [Double]) {
    switch value {
    case .integer, .number: value.asDouble.map { known.append($0) }
    case .string(let text): known += text.split { !"0123456789.".contains($0) }.compactMap { Double($0) }
    case .array(let values): for value in values { collect(value, into: &known) }
    case .object(let object): for pair in object.pairs { collect(pair.value, into: &known) }
    default: break
    }
  }

  /// The cells of tables that are numbers, and the numbers at the ends of chart lines.
  private static func numerals(of report: String) -> [(text: String, line: String)] {
    var found: [(String, String)] = []
    func isNumber(_ text: Substring) -> Bool {
      !text.isEmpty && text.allSatisfy { "0123456789.-".contains($0) } && Double(text) != nil
    }
    for line in report.split(separator: "\n") {
      var words: [Substring] = []
      if line.hasPrefix("|") {
        words = line.split(separator: "|").flatMap { $0.split(separator: " ") }
      } else if line.contains("█") || line.contains("▏"), let last = line.split(separator: " ").last {
        words = [last]
      }
      for word in words {
        let bare = word.drop { $0 == "*" }.prefix { $0 != "*" }
        if isNumber(bare) { found.append((String(bare), String(line))) }
      }
    }
    return found
  }

  // MARK: Flags

  @Test func seed_DecidesThePlanAndStandsInTheReport() throws {
    let scene = try Scene()
    let scenario = """
      { "name": "open", "load": { "model": "poisson", "rate": "50/s", "duration": "2s" } }
      """
    try scene.folder.write(scenario, to: "open.json")

    let one = try scene.run("plan", "open.json", "--json", "--seed", "1")
    let again = try scene.run("plan", "open.json", "--json", "--seed", "1")
    let other = try scene.run("plan", "open.json", "--json", "--seed", "2")

    #expect(one.code == 0 && one.output == again.output)
    #expect(one.output != other.output)
    let run = try scene.run(scenario: Scene.small, "--seed", "777")
    #expect(isDone(run.code))
    #expect(try scene.summary()["run"]?["seed"].map { $0.asInt == 777 || $0.asString == "777" } == true)
  }

  @Test func set_ChangesOneKeyAndIsChecked() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small, "--set", "load.sessions=3", "--set", "name=three of them", "--name", "named")

    #expect(isDone(result.code), "\(result.errors)")
    #expect(try scene.variant()["sessions"]?["completed"] == 3)
    #expect(try scene.summary()["run"]?["name"] == "named")
    for (value, code) in [("load.sesions=3", 78), ("load.sessions=many", 78), ("load.sessions", 64)] as [(String, Int32)] {
      let wrong = try scene.run("validate", "scenario.json", "--set", value)
      #expect(wrong.code == code, "\(value): \(wrong.errors)")
      #expect(wrong.errors.contains("load.ses"), "\(wrong.errors)")
    }
  }

  @Test func session_RunsThatOneAlone() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small, "--session", "7")

    #expect(isDone(result.code), "\(result.errors)")
    #expect(try scene.variant()["sessions"]?["started"] == 1)
    let header = try #require(scene.folder.text("out/sessions.csv").split(separator: "\n").first).split(separator: ",")
    let column = try #require(header.firstIndex(of: "session"))
    #expect(try scene.rows("out/sessions.csv").map { $0[column] } == ["7"])
  }

  @Test func budget_EndsTheRunBeforeItIsPassed() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small, "--set", "budget.requests=4")

    #expect(isDone(result.code), "\(result.errors)")
    #expect(try scene.variant()["sessions"]?["started"]?.asInt ?? 99 <= 4)
    #expect(try scene.summary()["warnings"]?.asArray?.contains { $0["code"] == "budget_spent" } == true)
  }

  @Test func manyLiveSessionsElsewhere_NeedAYes() throws {
    let scene = try Scene()
    try scene.folder.write(Scene.foreign("http://no-such-host.invalid/v1", sessions: 51), to: "far.json")

    let asked = try scene.run("run", "far.json", "--out", "out")
    #expect(asked.code == 64, "\(asked.errors)")
    #expect(asked.errors.contains("51") && asked.errors.contains("no-such-host.invalid") && asked.errors.contains("--yes"))
    #expect(!scene.folder.exists("out"))

    let confirmed = try scene.run("run", "far.json", "--out", "out", "--yes")
    #expect(isCode(confirmed.code, 69), "\(confirmed.errors)")
    // So many lookups at once may outlast the connect timeout.
    let errors = try scene.errors()
    #expect(errors.values.reduce(0, +) == 51 && Set(errors.keys).isSubset(of: ["dns", "timeout_connect"]), "\(errors)")
  }

  @Test func flagsAlone_AreAScenario() throws {
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil {
        connection.send(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n")
        return
      }
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      "run", "--endpoint", server.url, "--api", "openai-chat", "--concurrency", "2", "--sessions", "6", "--max-tokens", "8", "--out", "out",
      "-H", "X-Mine: 1")

    #expect(isDone(result.code), "\(result.errors)")
    #expect(try scene.variant()["sessions"]?["completed"] == 6)
    // What a run leaves is a scenario again.
    #expect(try scene.run("validate", "out/scenario.json").code == 0)
  }

  @Test func lostGate_IsExitCodeOne() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small, "--set", #"gates=["errors_ratio <= 0","ttft_ms.p50 < 0.001"]"#)

    #expect(result.code == 1 || result.code == 3, "\(result.errors)")
    let gates = try #require(try scene.summary()["gates"]?.asArray)
    #expect(gates.map { $0["held"] } == [true, false])
    #expect(scene.folder.exists("out/junit.xml"))
  }

  @Test func worstOfSeveralScenarios_IsTheExitCode() throws {
    let scene = try Scene()
    try scene.folder.write(Scene.small, to: "good.json")
    try scene.folder.write(Scene.foreign("http://no-such-host.invalid/"), to: "bad.json")

    let result = try scene.run("run", "bad.json", "good.json", "--quiet")

    #expect(result.code == 69 || result.code == 3, "\(result.errors)")
    #expect(scene.folder.files(under: "Reports").filter { $0.hasSuffix("summary.json") }.count == 2)
  }

  // MARK: What is printed

  @Test func json_IsOneDocumentAndTheSummary() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small, "--json")

    #expect(isDone(result.code))
    #expect(try JSONReader.read(result.output) == scene.summary())
  }

  @Test func quiet_PrintsNothing() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small, "--quiet")

    #expect(isDone(result.code))
    #expect(result.output.isEmpty && result.errors.isEmpty)
  }

  @Test func noTerminal_MeansNoPanelAndNoColour() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.small)

    #expect(!(result.output + result.errors).contains("\u{1B}"))
  }

  // MARK: Limits of the load

  @Test(arguments: [1, 2, 7], ["drop", "queue"]) func maxLive_IsNotPassed(_ most: Int, _ beyond: String) throws {
    let scene = try Scene()

    let result = try scene.run(
      scenario: """
        {
          "name": "bounded",
          "endpoint": { "mock": { "api": "openai-chat", "tokens": 5, "first_token": "50ms", "interval": "10ms" } },
          "load": { "model": "burst", "burst": { "sessions": 30 }, "max_live": \(most), "beyond": "\(beyond)" }
        }
        """)

    #expect(isDone(result.code), "\(result.errors)")
    let sessions = try #require(try scene.variant()["sessions"])
    #expect(sessions["peak_live"]?.asInt == most)
    #expect(sessions["started"]?.asInt == (beyond == "drop" ? most : 30))
    #expect(sessions["dropped"]?.asInt == (beyond == "drop" ? 30 - most : 0))
  }

  // MARK: Clients compared

  @Test func clientsCompared_AreRankedByWhatAnEventCosts() throws {
    let scene = try Scene()

    let result = try scene.run(
      scenario: """
        {
          "name": "ranked",
          "endpoint": { "mock": { "api": "openai-chat", "tokens": 40, "first_token": "5ms", "interval": "2ms" } },
          "load": { "model": "closed", "concurrency": 5, "sessions": 5 },
          "compare": { "client.parser": ["whatwg", "data-only", "lines", "eventsource"] },
          "measure": { "repeats": 1 }
        }
        """)

    #expect(isDone(result.code), "\(result.errors)")
    let variants = try #require(try scene.summary()["variants"]?.asArray)
    var costs: [String: Double] = [:]
    var odd: [String: Double] = [:]
    for variant in variants {
      let name = try #require(variant["name"]?.asString)
      costs[name] = variant["instrument"]?["cpu_s_per_million_events"]?.asDouble
      odd[name] = variant["parser"]?["odd_streams_ratio"]?.asDouble
    }
    #expect(odd["whatwg"] == 0 && odd["data-only"] == 0)
    #expect(odd["lines"] ?? 0 > 0.1 && odd["eventsource"] ?? 0 > 0.1, "\(odd)")
    let report = try scene.folder.text("out/report.md")
    let table = try #require(report.components(separatedBy: "## Clients, the cheapest first").last)
    let order = table.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2).prefix(4)
      .map { String($0.split(separator: "|")[1]).trimmingCharacters(in: .whitespaces) }
    #expect(order == costs.sorted { $0.value < $1.value }.map(\.key), "\(order) \(costs)")
    #expect(try scene.folder.text("out/report.html").contains("Clients, the cheapest first"))
  }

  #if os(Linux)
  /// jemalloc is linked, and another allocator stands before it: no figure may be taken from counters that stand still.
  @Test func otherAllocator_LeavesMemoryUnmeasured() throws {
    let maps = try #require(try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps")).readToEnd())
    let libc = try #require(
      String(decoding: maps, as: UTF8.self).split(separator: "\n").lazy
        .compactMap { $0.split(separator: " ").last }.first { $0.hasPrefix("/") && $0.contains("/libc.so") })
    let scene = try Scene()

    let result = try scene.run(
      scenario: Scene.small, "--set", "measure.memory=true", environment: ["LD_PRELOAD": String(libc)])

    #expect(isDone(result.code), "\(result.errors)")
    let memory = try #require(try scene.variant()["memory"])
    #expect(memory["absent_because"]?.asString == "this process allocates without jemalloc")
    for key in ["per_session_bytes", "slope_bytes_per_token", "allocations_per_event", "peak_allocated_bytes"] {
      #expect(memory[key]?.asDouble == nil, "\(key)")
    }
  }
  #endif
}
