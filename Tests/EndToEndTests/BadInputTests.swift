import Foundation
import TestSupport
import Testing

/// Input that cannot be right: each ends before any traffic, with the contract's exit code and a message that says where,
/// what, and what to do.
@Suite struct BadInputTests {
  static let wrong: [(what: String, scenario: String, code: Int32, says: [String])] = [
    ("unknown key", #"{ "laod": {} }"#, 78, ["bad.json:1", "laod", "load"]),
    ("unknown key, deep", "{\n  \"client\": {\n    \"parsr\": \"lines\"\n  }\n}", 78, ["bad.json:3", "client.parsr", "parser"]),
    ("wrong type", #"{ "load": { "concurrency": "ten" } }"#, 78, ["load.concurrency", "ten", "expected"]),
    ("negative duration", #"{ "client": { "timeouts": { "idle": "-5s" } } }"#, 78, ["client.timeouts.idle", "-5s", "expected"]),
    ("duration without unit", #"{ "client": { "timeouts": { "idle": "5" } } }"#, 78, ["client.timeouts.idle", "expected"]),
    ("word that is none of the list", #"{ "client": { "stack": "crul" } }"#, 78, ["client.stack", "crul", "curl"]),
    ("unset variable", #"{ "endpoint": { "url": "http://127.0.0.1:1/", "headers": { "A": "${NO_SUCH_NAME}" } } }"#, 78, ["endpoint.headers.A", "NO_SUCH_NAME", "not set", "export"]),
    ("gate that is none", #"{ "load": { "sessions": 1 }, "gates": [ "errors_ratio <= 0", "ttft_ms.p99 <" ] }"#, 78, ["bad.json", "gates.1", "ttft_ms.p99 <"]),
    ("gate on an unknown key", #"{ "load": { "sessions": 1 }, "gates": [ "tftt_ms.p99 < 5" ] }"#, 78, ["bad.json", "gates.0", "tftt_ms", "ttft_ms"]),
    ("not JSON", "{ \"load\": }", 65, ["bad.json:1", "column 11"]),
    ("empty file", "", 65, ["bad.json"]),
    ("recursive nesting", String(repeating: "{\"a\":", count: 100_000), 65, ["bad.json", "64"]),
    ("a list in place of an object", "[]", 78, ["bad.json", "object"]),
  ]

  @Test(arguments: wrong.indices, ["validate", "run"]) func wrongScenario_IsRefusedWithItsPlace(_ index: Int, _ command: String) throws {
    let row = Self.wrong[index]
    let scene = try Scene()
    try scene.folder.write(row.scenario, to: "bad.json")

    let result = try scene.run(command, "bad.json")

    #expect(result.code == row.code, "\(row.what): \(result.errors)")
    for word in row.says { #expect(result.errors.contains(word), "\(row.what): '\(word)' is missing in: \(result.errors.prefix(400))") }
    #expect(result.output.isEmpty, "stdout is for results")
    #expect(!scene.folder.exists("Reports"), "nothing was run, so nothing is written")
  }

  @Test func allProblems_AreNamedAtOnce() throws {
    let scene = try Scene()
    try scene.folder.write(
      "{\n \"laod\": {},\n \"client\": { \"timeouts\": { \"idle\": \"-5s\" }, \"stack\": 7 },\n \"seed\": \"x\"\n}", to: "bad.json")

    let result = try scene.run("validate", "bad.json")

    #expect(result.code == 78)
    for word in ["laod", "client.timeouts.idle", "client.stack", "seed"] { #expect(result.errors.contains(word)) }
    for line in result.errors.split(separator: "\n") { #expect(line.hasPrefix("bad.json:"), "\(line)") }
  }

  @Test func missingFileAndFolder_AreNoInput() throws {
    let scene = try Scene()

    for (path, says) in [("no-such.json", "no such file"), (".", "folder"), ("no-such/x.json", "no such file")] {
      for command in ["validate", "run", "plan"] {
        let result = try scene.run(command, path)
        #expect(result.code == 66, "\(command) \(path): \(result.errors)")
        #expect(result.errors.contains(path) && result.errors.contains(says), "\(result.errors)")
      }
    }
  }

  @Test func unreadableFile_IsNoInput() throws {
    let scene = try Scene()
    // Root may read everything that can be read, so for root it is a file whose reads fail.
    var path = "/proc/self/mem"
    if geteuid() != 0 {
      path = "locked.json"
      try scene.folder.write("{}", to: path)
      chmod(scene.folder.path(path), 0)
    }
    #if !os(Linux)
    if geteuid() == 0 { return }
    #endif

    let result = try scene.run("validate", path)

    #expect(result.code == 66, "\(result.errors)")
    #expect(result.errors.contains(path) && result.errors.contains("cannot be read"))
  }

  @Test func hugeFile_IsRefusedWithoutBeingReadWhole() throws {
    let scene = try Scene()
    let path = scene.folder.path("huge.json")
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    truncate(path, 100 << 20)

    for name in ["huge.json", "/dev/zero"] {
      let result = try scene.run("validate", name)
      #expect(result.code == 65, "\(result.errors)")
      #expect(result.errors.contains(name) && result.errors.contains("16MiB"), "\(result.errors)")
    }
  }

  // MARK: Outputs that cannot be

  @Test func outputThatCannotBeMade_IsRefusedBeforeAnyTraffic() throws {
    let scene = try Scene()
    try scene.folder.write(Scene.small, to: "small.json")
    try scene.folder.write("", to: "file")

    for out in ["file/run", "file", "/proc/no-such/run"] {
      let result = try scene.run("run", "small.json", "--out", out)
      #expect(result.code == 73, "\(out): \(result.errors)")
      #expect(result.errors.contains(out.hasPrefix("/proc") ? "/proc/no-such" : "file"), "\(result.errors)")
      #expect(result.output.isEmpty)
    }
  }

  @Test func existingFolder_IsNeverWrittenInto() throws {
    let scene = try Scene()
    try FileManager.default.createDirectory(atPath: scene.folder.path("out"), withIntermediateDirectories: true)

    let result = try scene.run(scenario: Scene.small)

    #expect(result.code == 73)
    #expect(result.errors.contains("out") && result.errors.contains("exist"))
    #expect(scene.folder.files(under: "out").isEmpty)
  }

  @Test func diskThatFillsUp_EndsTheRunAndSaysSo() throws {
    let scene = try Scene()
    let scenario = """
      {
        "name": "full",
        "endpoint": { "mock": { "api": "openai-chat", "tokens": 4, "first_token": "2ms", "interval": "1ms" } },
        "load": { "model": "closed", "concurrency": 8, "duration": "120s" }
      }
      """

    // The first files fit; the growing ones do not for long.
    let program = try { () throws -> RunningProgram in
      try scene.folder.write(scenario, to: "scenario.json")
      return try BuiltProgram.start(["run", "scenario.json", "--out", "out"], in: scene.folder, fileBlocks: 64)
    }()
    let result = try program.wait()

    #expect(result.code == 74, "\(result.output) \(result.errors)")
    #expect((result.output + result.errors).contains("out/"), "the file is named: \(result.output) \(result.errors)")
    #expect((result.output + result.errors).lowercased().contains("too large") || (result.output + result.errors).contains("EFBIG"))
    #expect(scene.folder.exists("out/sessions.csv"))
  }

  @Test func portThatIsTaken_IsSaid() throws {
    let server = try ScriptedServer { $0.hold() }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run("mock", "--listen", "127.0.0.1:\(server.port)")

    #expect(result.code == 73, "\(result.errors)")
    #expect(result.errors.contains("\(server.port)") && result.errors.contains("taken"), "\(result.errors)")
  }
}
