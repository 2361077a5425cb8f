// A stream of the mock is recorded, served again from the recording, and recorded once more.

import Foundation
import Primitives
import TestSupport
import Testing

@Suite struct RecordCommandTests {
  /// A mock on a free port; ends with the test.
  private func mock(_ words: String..., in folder: TemporaryFolder) throws -> (program: RunningProgram, url: String) {
    let program = try BuiltProgram.start(["mock"] + words, in: folder)
    let deadline = Date().addingTimeInterval(30)
    while Date() < deadline {
      if let line = program.outputSoFar.split(separator: "\n").first, let url = try? JSONReader.read(String(line))["listening"]?.asString {
        return (program, url)
      }
      usleep(5_000)
    }
    throw NoMock(errors: program.errorsSoFar)
  }

  private struct NoMock: Error { var errors: String }

  /// The reads of a recording: time in ms, text.
  private func reads(_ name: String, _ folder: TemporaryFolder) throws -> [(at: Double, text: String)] {
    try folder.text(name).split(separator: "\n").dropFirst().compactMap { line in
      let value = try JSONReader.read(String(line))
      guard let at = value["t_ms"]?.asDouble, let text = value["data"]?.asString else { return nil }
      return (at, text)
    }
  }

  @Test func aRecording_ReplaysTheSameBytesAtTheSameTimes() throws {
    let folder = try TemporaryFolder()
    let first = try mock("--api", "sse", "--tokens", "8", "--first-token", "60ms", "--interval", "40ms", in: folder)
    let one = try BuiltProgram.run(["record", first.url + "/events?session=3", "--out", "one.jsonl"], in: folder)
    let second = try mock("--replay", "one.jsonl", in: folder)

    let two = try BuiltProgram.run(["record", second.url + "/events", "--out", "two.jsonl"], in: folder)

    first.program.signal(SIGTERM)
    second.program.signal(SIGTERM)
    #expect(one.code == 0 && two.code == 0, "\(one.errors) \(two.errors)")
    let original = try reads("one.jsonl", folder)
    let copy = try reads("two.jsonl", folder)
    #expect(original.count >= 2)
    #expect(original.map(\.text).joined() == copy.map(\.text).joined())
    #expect(try folder.text("one.jsonl").contains(#""end":"complete""#))
    // Replayed never earlier than recorded, but for the way from the request's first byte to the mock.
    if let last = original.last, let again = copy.last { #expect(again.at >= last.at - 20) }
    let url = try JSONReader.read(String(try folder.text("one.jsonl").prefix { $0 != "\n" }))["url"]?.asString
    #expect(url?.contains("session") == false)
  }

  @Test func headerValues_AreNotInTheFile() throws {
    let folder = try TemporaryFolder()
    let server = CaseServer([.stream("data: you sent s3cr3t-t0ken\n\n")])

    let program = try BuiltProgram.run(
      ["record", server.url, "--out", "r.jsonl", "-H", "Authorization: Bearer s3cr3t-t0ken"], in: folder)

    server.stop()
    #expect(program.code == 0)
    #expect(!(try folder.text("r.jsonl")).contains("s3cr3t"))
    #expect(try folder.text("r.jsonl").contains("you sent"))
  }

  @Test func anExistingFile_IsNeverWritten() throws {
    let folder = try TemporaryFolder()
    try folder.write("mine", to: "r.jsonl")

    let program = try BuiltProgram.run(["record", "http://127.0.0.1:9/", "--out", "r.jsonl"], in: folder)

    #expect(program.code == 73)
    #expect(try folder.text("r.jsonl") == "mine")
  }

  @Test func noStream_Is69_AndLeavesNoFile() throws {
    let folder = try TemporaryFolder()
    let server = CaseServer([.status("500 Broken", body: "no")])

    let program = try BuiltProgram.run(["record", server.url, "--out", "r.jsonl"], in: folder)

    server.stop()
    #expect(program.code == 69)
    #expect(!folder.exists("r.jsonl"))
  }
}
