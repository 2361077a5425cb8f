// Traces in every layout, and hostile ones.

import Primitives
import Scenarios
import Testing

@Suite struct TraceTests {
  private func arrivals(_ text: String, _ format: String, file: String = "trace") throws -> [TraceArrival] {
    let folder = try FileTests.Folder()
    _ = try folder.write(file, text)
    let scenario =
      "{\"load\": {\"model\": \"trace\", \"trace\": {\"file\": \"\(file)\", \"format\": \"\(format)\"}}}"
    return try load(scenario, folder: folder.path).variants[0].scenario.load.trace?.arrivals ?? []
  }

  private func problem(_ text: String, _ format: String) -> String? {
    do {
      _ = try arrivals(text, format)
      return nil
    } catch {
      return (error as? ScenarioFailure)?.problems.map(\.found).joined(separator: "\n")
    }
  }

  private func arrival(_ ms: Double, _ input: Int?, _ output: Int?) -> TraceArrival {
    TraceArrival(at: .milliseconds(ms), inputTokens: input, outputTokens: output)
  }

  @Test func ownLayouts() throws {
    let expected = [arrival(0, 10, 20), arrival(250, nil, 5), arrival(1_000, 7, nil)]

    #expect(
      try arrivals("at_s,input_tokens,output_tokens\r\n5,10,20\r\n5.25,,5\r\n6,7,\r\n", "csv") == expected)
    #expect(try arrivals("output_tokens,at_ms,input_tokens\n20,100,10\n5,350,\n,1100,7", "csv") == expected)
    #expect(try arrivals("0,10,20\n0.25,,5\n1,7\n", "csv") == expected)
    #expect(
      try arrivals(
        "{\"at_s\": 0, \"input_tokens\": 10, \"output_tokens\": 20}\n{\"at_ms\": 250, \"output_tokens\": 5}\n\n{\"at_s\": 1, \"input_tokens\": 7}",
        "jsonl") == expected)
  }

  @Test func azureLayouts() throws {
    let older =
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n"
    let newer =
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-29 23:59:59.500000+00:00,5,6\n2024-03-01 00:00:00.500000+00:00,7,8\n2024-03-01 01:00:01.500000+01:00,9,1\n"

    #expect(try arrivals(older, "azure") == [arrival(0, 4808, 10), arrival(52, 3180, 8)])
    #expect(try arrivals(newer, "azure") == [arrival(0, 5, 6), arrival(1_000, 7, 8), arrival(2_000, 9, 1)])
  }

  @Test func burstGPTLayouts() throws {
    let older =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,API log\n"
    let newer =
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n0.5,1,2.25,\"Chat,GPT\",4,5,9,API log\n"

    #expect(try arrivals(older, "burstgpt") == [arrival(0, 472, 18), arrival(40_000, 1087, 230)])
    #expect(try arrivals(newer, "burstgpt") == [arrival(0, 4, 5)])
  }

  @Test func mooncakeLayout() throws {
    let text =
      "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, 47]}\n{\"timestamp\": 30535, \"input_length\": 6472, \"output_length\": 26, \"hash_ids\": []}\n"

    #expect(try arrivals(text, "mooncake") == [arrival(0, 6955, 52), arrival(3_053, 6472, 26)])
  }

  @Test func linesOutOfOrderAreSorted_EqualTimesKeepTheirOrder() throws {
    #expect(
      try arrivals("2,1\n0,2\n2,3\n1,4\n", "csv") == [
        arrival(0, 2, nil), arrival(1_000, 4, nil), arrival(2_000, 1, nil), arrival(2_000, 3, nil),
      ])
  }

  @Test func formatFollowsFromTheFilesName() throws {
    let folder = try FileTests.Folder()
    _ = try folder.write("t.jsonl", "{\"at_s\": 1}")

    let loaded = try load(#"{"load": {"model": "trace", "trace": {"file": "t.jsonl"}}}"#, folder: folder.path)

    #expect(loaded.variants[0].scenario.load.trace?.format == .jsonl)
  }

  @Test(arguments: [
    ("", "csv", "holds no arrival"), ("a,b\n1,2\n", "csv", "line 1"), ("at_s\nx\n", "csv", "line 2"),
    ("at_s\nnan\n", "csv", "line 2"),
    ("0,1\n0,-5\n", "csv", "line 2"), ("0,1e30\n", "csv", "line 1"), ("0\n1e9\n", "csv", "year"),
    ("0\n1e300\n", "csv", "line 2"), ("{}", "jsonl", "line 1"), ("[", "mooncake", "line 1"),
    ("{\"timestamp\": 1, \"input_length\": 1.5}", "mooncake", "line 1"),
    ("TIMESTAMP\n2023-13-16 18:17:03\n", "azure", "line 2"),
    ("TIMESTAMP\n2023-11-16\n", "azure", "line 2"), ("Time\n1\n", "burstgpt", "line 1"),
  ])
  func brokenTraceIsRefusedWithItsLine(_ text: String, _ format: String, _ found: String) {
    #expect(problem(text, format)?.contains(found) == true)
  }

  @Test func endlessLineIsRefused() {
    #expect(problem(String(repeating: "1", count: 5 << 20), "csv")?.contains("longer") == true)
    #expect(
      failure(#"{"load": {"model": "trace", "trace": {"file": "/dev/zero"}}}"#)?.problems.first?.found
        .contains("longer") == true)
  }

  @Test func randomTracesNeverCrash() {
    var random = SeededRandom(seed: 3)
    for format in ["csv", "jsonl", "azure", "burstgpt", "mooncake"] {
      for _ in 0..<150 {
        let bytes = (0..<Int.random(in: 0..<300, using: &random)).map { _ in
          Array("0123456789.,\n\"-:+ {}[]aeT\r\u{E9}".utf8).randomElement(using: &random)!
        }
        _ = problem("Timestamp,x\n" + String(decoding: bytes, as: UTF8.self), format)
      }
    }
  }

  @Test func badValueOfADistributionsFileIsRefused() throws {
    let folder = try FileTests.Folder()
    _ = try folder.write("gaps.txt", "20ms\n5\n")

    let problems = failure(
      valid(#""endpoint": {"mock": {"interval": {"trace": "gaps.txt"}}}"#), folder: folder.path)?.problems

    #expect(problems?.first?.found.contains("line 2") == true)
  }
}
