// `parse`, `extract`, `conformance` and `bench` as a user runs them: output, exit codes, bad input.

import Foundation
import Testing

@Suite struct StreamCommandTests {
  private struct Run {
    var output: String
    var error: String
    var code: Int32
  }

  /// The executable that was built beside the tests.
  private static let executable: URL? = {
    var folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    for _ in 0..<6 {
      let candidate = folder.appending(path: "ssebench")
      if FileManager.default.isExecutableFile(atPath: candidate.path), !candidate.hasDirectoryPath { return candidate }
      folder = folder.deletingLastPathComponent()
    }
    return nil
  }()

  private func run(_ words: [String], input: String = "") throws -> Run {
    try #require(Self.executable != nil, "ssebench was not built beside the tests")
    let process = Process()
    process.executableURL = Self.executable
    process.arguments = words
    let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
    (process.standardInput, process.standardOutput, process.standardError) = (stdin, stdout, stderr)
    try process.run()
    try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try stdin.fileHandleForWriting.close()
    let output = stdout.fileHandleForReading.readDataToEndOfFile()
    let error = stderr.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Run(
      output: String(decoding: output, as: UTF8.self), error: String(decoding: error, as: UTF8.self),
      code: process.terminationStatus)
  }

  @Test func parse_printsEventsAndTheEnd() throws {
    let result = try run(["parse"], input: "id: 1\ndata: a\ndata: \"b\"\n\nretry: 5\nevent: e\ndata\n\ndata: lost")

    #expect(
      result.output == """
        {"event":"message","data":"a\\n\\"b\\"","id":"1"}
        {"event":"e","data":"","id":"1"}
        {"end":{"last_event_id":"1","retry_ms":5,"bytes":59,"events":2}}

        """)
    #expect(result.code == 0)
  }

  @Test func parse_printsWhatALibraryLeavesOutAsNull() throws {
    #expect(
      try run(["parse", "--parser", "eventsource"], input: "foo\nid: 7\ntime: 1\n\n").output.hasPrefix(
        #"{"event":null,"data":null,"id":"7","other":{"foo":""},"time":"1"}"# + "\n"))
    #expect(try run(["parse", "--parser", "lines"], input: "data: a\n").output.hasPrefix(#"{"data":"a"}"# + "\n"))
  }

  @Test(arguments: ["whole", "bytes", "3", "random:9"])
  func parse_takesEverySplit(_ split: String) throws {
    let result = try run(["parse", "--split", split], input: "data: a\r\n\r\ndata: b\r\r")

    #expect(result.output.split(separator: "\n").count == 3)
  }

  @Test func badInput_hasItsExitCode() throws {
    let broken = FileManager.default.temporaryDirectory.appending(path: "ssebench-broken-\(UUID().uuidString).jsonl")
    try Data("{\"id\":\"a\",\"feature\":\"f\",\"input_b64\":\"\",\"expect\":[],\"last_event_id\":\"\"}\n{broken\n".utf8).write(to: broken)
    defer { try? FileManager.default.removeItem(at: broken) }

    #expect(try run(["parse", "/does/not/exist"]).code == 66)
    #expect(try run(["parse", "/"]).code == 66)
    #expect(try run(["extract", "/", "--api", "sse"]).code == 66)
    #expect(try run(["extract"]).code == 64)
    #expect(try run(["parse", "--split", "0"]).code == 64)
    #expect(try run(["parse", "--line-limit", "4"], input: "data: abc\n").code == 65)
    let vectors = try run(["conformance", "--vectors", broken.path])
    #expect(vectors.code == 65)
    #expect(vectors.error.contains(":2:"))
  }

  @Test(arguments: [
    (#"{"id":"b","feature":"f","input_b64":"","expect":[],"last_event_id":"","retry_ms":"x"}"#, "retry_ms"),
    (#"{"id":"b","feature":"f","input_b64":"","expect":[{"event":"e"}],"last_event_id":""}"#, "without data"),
    (#"{"id":"a","feature":"f","input_b64":"","expect":[],"last_event_id":""}"#, "earlier line"),
  ])
  func vectorThatCannotBe_IsNamedWithItsLine(_ line: String, _ word: String) throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let good = #"{"id":"a","feature":"f","input_b64":"","expect":[],"last_event_id":"","retry_ms":null}"#
    try Data("\(good)\n\(line)\n".utf8).write(to: file)

    let result = try run(["conformance", "--vectors", file.path])

    #expect(result.code == 65 && result.error.contains(":2:") && result.error.contains(word), "\(result.error)")
  }

  @Test func emptyAndInvalidInput_areFine() throws {
    #expect(try run(["parse"]).output == #"{"end":{"last_event_id":"","retry_ms":null,"bytes":0,"events":0}}"# + "\n")
    #expect(try run(["extract", "--api", "openai-chat"]).output.contains(#""terminal_seen":false"#))
  }

  @Test func bench_checksAndPrintsACell() throws {
    let result = try run(["bench", "--input", "tiny", "--parser", "whatwg", "--chunk", "1024", "--rounds", "1", "--json"])

    #expect(result.code == 0)
    #expect(result.output.contains(#""checked":true"#))
    #expect(result.output.contains(#""memchr_gb_per_s""#))
  }
}
