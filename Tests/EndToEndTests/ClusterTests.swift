// Shards of one run as a cluster loses them: one killed, one with a full disk, one that never starts. What the others
// measured stays whole, and the merged run says who is missing.

import Foundation
import Primitives
import TestSupport
import Testing

@Suite struct ClusterTests {
  private static let scenario = """
    {
      "name": "cluster",
      "endpoint": { "mock": { "api": "openai-chat", "tokens": 40, "first_token": "10ms", "interval": "5ms" } },
      "load": { "model": "closed", "concurrency": 20, "sessions": 400 }
    }
    """

  /// Whole rows of a shard's sessions, by number.
  private func sessions(_ scene: Scene, _ folder: String) throws -> [String: Substring] {
    let text = try scene.folder.text(folder + "/sessions.csv")
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast()
    return Dictionary(uniqueKeysWithValues: lines.map { (String($0.split(separator: ",")[2]), $0) })
  }

  @Test func killedFullAndMissingShards_AreNamedAndNothingOfTheOthersIsLost() throws {
    let scene = try Scene()
    try scene.folder.write(Self.scenario, to: "scenario.json")
    func words(_ shard: Int) -> [String] { ["run", "scenario.json", "--shard", "\(shard)/4", "--out", "shards/{shard}", "--quiet"] }

    let killed = try BuiltProgram.start(words(1), in: scene.folder)
    let whole = try BuiltProgram.start(words(0), in: scene.folder)
    let full = try BuiltProgram.start(words(2), in: scene.folder, fileBlocks: 18)
    let hasRows = eventually {
      scene.folder.exists("shards/1/sessions.csv") && (try? sessions(scene, "shards/1").isEmpty) == false
    }
    killed.signal(SIGKILL)
    _ = try killed.wait()
    #expect(hasRows, "\(killed.errorsSoFar)")
    #expect(isDone(try whole.wait().code))
    #expect(try full.wait().code == 74)

    let merged = try scene.run("merge", "shards/0", "shards/1", "shards/2", "shards/3", "--out", "merged")

    #expect(merged.code == 74 || merged.code == 130, "\(merged.code): \(merged.errors)")
    let summary = try scene.summary("merged")
    #expect(summary["verdict"] == "partial")
    let reason = try #require(summary["verdict_reasons"]?[0]?.asString)
    for said in ["Shard 3 of 4 missing", "Shard 1:", "Shard 2:", "shards/3 could not be read"] {
      #expect(reason.contains(said), "\(reason)")
    }
    #expect(!reason.contains("Shard 0"))
    let all = try sessions(scene, "merged")
    #expect(try sessions(scene, "shards/0").count == 100)
    var count = 0
    for shard in 0...2 {
      let own = try sessions(scene, "shards/\(shard)")
      count += own.count
      for number in own.keys { #expect(all[number] != nil, "session \(number) of shard \(shard)") }
    }
    #expect(all.count == count)
    let started = try scene.variant("merged")["sessions"]?["started"]?.asInt
    #expect(started == count)
  }

  /// Of a budget and of a bound on live sessions each shard has its part, and a concurrency beyond this machine's
  /// descriptors may be asked of all shards together.
  @Test func shardsShareBudgetAndDescriptors() throws {
    let scene = try Scene()
    let scenario = """
      {
        "name": "share",
        "endpoint": { "mock": { "api": "openai-chat", "tokens": 2, "first_token": "1ms", "interval": "1ms" } },
        "load": { "model": "closed", "concurrency": 1000000, "sessions": 1000000 },
        "budget": { "requests": 30000 }
      }
      """
    try scene.folder.write(scenario, to: "scenario.json")

    let result = try scene.run("run", "scenario.json", "--shard", "99999/100000", "--out", "out", "--quiet")

    // No session completed, since none had a part of the budget.
    #expect(isCode(result.code, 1), "\(result.errors)")
    let variant = try scene.variant()
    #expect(variant["sessions"]?["planned"]?.asInt == 10)
    #expect(variant["sessions"]?["started"]?.asInt == 0, "30,000 requests of 100,000 shards: the first 30,000 have one each")
  }

  @Test func searchAndWuKongIM_AreNotCut() throws {
    let scene = try Scene()
    let search = """
      {
        "name": "search", "endpoint": { "mock": { "api": "openai-chat", "tokens": 2 } },
        "load": { "model": "search", "search": { "key": "concurrency", "from": 1, "to": 4, "tolerance": 1 }, "sessions": 10 },
        "slo": { "ttft_ms": 500 }
      }
      """

    let result = try scene.run(scenario: search, "--shard", "0/2")

    #expect(result.code == 78, "\(result.errors)")
    #expect(result.errors.contains("search"))
  }

  @Test func clockIsHeldAgainstAReference_AndAFalseOneIsFound() throws {
    let scene = try Scene()
    let mock = try BuiltProgram.start(["mock"], in: scene.folder)
    defer { mock.signal(SIGTERM) }
    #expect(eventually { mock.outputSoFar.contains("\n") })
    let url = try #require(try JSONReader.read(mock.outputSoFar)["listening"]?.asString)

    let result = try scene.run(
      scenario: Scene.small, "--clock", url + "/time", "--quiet", environment: ["SSEBENCH_TEST_CLOCK_OFFSET": "-3.25"])

    #expect(isDone(result.code), "\(result.errors)")
    let summary = try scene.summary()
    let clock = try #require(summary["machine"]?["clock"])
    let offset = try #require(clock["offset_ms"]?.asDouble)
    let uncertainty = try #require(clock["uncertainty_ms"]?.asDouble)
    #expect(abs(offset + 3_250) <= uncertainty)
    #expect(clock["source"] == "ssebench")
    #expect(summary["warnings"]?.asArray?.contains { $0["code"] == "clock_offset" } == true)
  }
}
