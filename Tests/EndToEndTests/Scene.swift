// A folder with scenario files, the built program, and what a run left behind: the words that these tests share.

import Foundation
import Primitives
import TestSupport
import Testing

struct Scene {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A small run against the mock: 10 sessions of 16 tokens.
  static let small = """
    {
      "name": "small",
      "endpoint": { "mock": { "api": "openai-chat", "tokens": 16, "first_token": "5ms", "interval": "2ms" } },
      "load": { "model": "closed", "concurrency": 5, "sessions": 10 }
    }
    """

  /// A run that would take minutes, for those who end it early.
  static let long = """
    {
      "name": "long",
      "endpoint": { "mock": { "api": "openai-chat", "tokens": 100, "first_token": "10ms", "interval": "5ms" } },
      "load": { "model": "closed", "concurrency": 10, "duration": "300s" }
    }
    """

  /// A scenario for one URL, with limits short enough for a test.
  static func foreign(
    _ url: String, api: String = "openai-chat", sessions: Int = 2, endpoint: String = "", client: String = "", more: String = ""
  ) -> String {
    """
    {
      "name": "foreign",
      "endpoint": { "url": "\(url)", "api": "\(api)"\(endpoint) },
      "load": { "model": "closed", "concurrency": \(sessions), "sessions": \(sessions) },
      "client": { "timeouts": { "connect": "10s", "first_event": "20s", "idle": "20s", "total": "40s" }\(client) }\(more)
    }
    """
  }

  func run(
    _ words: String..., environment: [String: String] = [:], fileBlocks: Int? = nil, limit: Double = 90
  ) throws -> ProgramResult {
    try BuiltProgram.run(words, in: folder, environment: environment, fileBlocks: fileBlocks, limit: limit)
  }

  /// Writes `scenario` and runs it into the folder `out`.
  func run(
    scenario: String, _ words: String..., environment: [String: String] = [:], fileBlocks: Int? = nil
  ) throws -> ProgramResult {
    try folder.write(scenario, to: "scenario.json")
    return try BuiltProgram.run(
      ["run", "scenario.json", "--out", "out"] + words, in: folder, environment: environment, fileBlocks: fileBlocks)
  }

  func summary(_ run: String = "out") throws -> JSONValue { try JSONReader.read(try folder.text(run + "/summary.json")) }

  /// The first variant of a run.
  func variant(_ run: String = "out") throws -> JSONValue { try #require(try summary(run)["variants"]?[0]) }

  /// How many sessions failed, by kind; kinds without any are left out.
  func errors(_ run: String = "out") throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for (kind, count) in try variant(run)["errors"]?.asObject?.pairs ?? [] {
      if let count = count.asInt, count > 0 { counts[kind] = count }
    }
    return counts
  }

  /// The rows of a CSV file without its header.
  func rows(_ name: String) throws -> [[String]] {
    try folder.text(name).split(separator: "\n").dropFirst().map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
  }
}

/// `wanted`, or 3 where this machine was too busy for figures to be trusted, which goes first: no test here is about
/// figures.
func isCode(_ code: Int32, _ wanted: Int32) -> Bool { code == wanted || code == 3 }
func isDone(_ code: Int32) -> Bool { isCode(code, 0) }

/// Turns until `isTrue` or about `seconds` have passed; whether it came true.
func eventually(within seconds: Double = 30, _ isTrue: () throws -> Bool) rethrows -> Bool {
  let deadline = Date().addingTimeInterval(seconds)
  while Date() < deadline {
    if try isTrue() { return true }
    usleep(10_000)
  }
  return try isTrue()
}
