// Recordings: what is written reads back, what is no recording is refused with its line, and the mock serves one as it
// was.

import Foundation
import MockServing
import Primitives
import Scenarios
import Testing

@Suite struct RecordedStreamTests {
  static func sample() -> RecordedStream {
    var recording = RecordedStream()
    recording.url = "https://host/v1/chat/completions"
    recording.headers = [("content-type", "text/event-stream"), ("x-request-id", "7")]
    recording.reads = [
      .init(at: .milliseconds(1), bytes: Array("data: a\n\n".utf8)),
      .init(at: .milliseconds(2), bytes: [0xE2, 0x80]),
      .init(at: .milliseconds(3.25), bytes: [0xA6, 0x0A, 0x0A]),
    ]
    recording.end = "complete"
    return recording
  }

  static func text(_ recording: RecordedStream) -> [UInt8] {
    var text = recording.headLine + recording.reads.map(RecordedStream.line).joined()
    if let end = recording.end { text += RecordedStream.endLine(at: .milliseconds(4), end) }
    return Array(text.utf8)
  }

  @Test func whatIsWritten_ReadsBack() throws {
    #expect(try RecordedStream.read(Self.text(Self.sample()), file: "r.jsonl") == Self.sample())
  }

  @Test func bytesThatAreNoText_GoThroughBase64() throws {
    for count in 0...9 {
      let bytes = (0..<count).map { UInt8(0xF8 + $0 % 8) }
      var recording = RecordedStream()
      recording.url = "u"
      recording.reads = [.init(at: .zero, bytes: bytes)]

      #expect(try RecordedStream.read(Self.text(recording), file: "").reads == recording.reads)
    }
  }

  @Test(arguments: [
    ("", "empty"), ("{}", "line 1"),
    (#"{"format":"ssebench-recording","version":2,"status":200}"#, "version"),
    (
      "{\"format\":\"ssebench-recording\",\"version\":1,\"status\":200}\n{\"t_ms\":-1,\"data\":\"\"}",
      "line 2"
    ),
    (
      "{\"format\":\"ssebench-recording\",\"version\":1,\"status\":200}\n{\"t_ms\":2,\"data\":\"\"}\n{\"t_ms\":1,\"data\":\"\"}",
      "line 3"
    ),
    (
      "{\"format\":\"ssebench-recording\",\"version\":1,\"status\":200}\n{\"t_ms\":2,\"data_b64\":\"!\"}",
      "line 2"
    ),
    ("{\"format\":\"ssebench-recording\",\"version\":1,\"status\":200}\n{\"t_ms\":", "line 2"),
  ])
  func whatIsNoRecording_IsRefusedWithItsPlace(text: String, part: String) {
    do {
      _ = try RecordedStream.read(Array(text.utf8), file: "r.jsonl")
      Issue.record("accepted: \(text)")
    } catch MockError.badRecording(let file, let reason) {
      #expect(file == "r.jsonl")
      #expect(reason.contains(part))
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test func mock_ServesTheRecordingAsItWas() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(
      "recording-\(UUID().uuidString).jsonl")
    try Data(Self.text(Self.sample())).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let mock = try RunningMock { $0.replay = file.path }
    let begin = Instant.now()

    let connection = try mock.connect()
    connection.send(RunningMock.chat())
    let answer = try connection.answer()
    connection.send(RunningMock.chat())

    #expect(answer.headers["x-request-id"] == "7")
    #expect(answer.body == Self.sample().reads.flatMap(\.bytes))
    #expect(answer.end == .proper)
    #expect(Instant.now() - begin >= .milliseconds(3.25))
    #expect(try connection.answer().body == answer.body)
  }

  @Test func recordingThatWasCutOff_IsServedWithoutItsEnd() throws {
    var recording = Self.sample()
    recording.end = nil
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(
      "recording-\(UUID().uuidString).jsonl")
    try Data(Self.text(recording)).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let mock = try RunningMock { $0.replay = file.path }

    #expect(try mock.exchange(RunningMock.chat()).end == .closed)
  }
}

@Suite struct FleetAnswerTests {
  @Test func answersOfSeveralProcesses_BecomeOne() throws {
    let one = try JSONReader.read(
      #"{"stats":{"events":3,"cpu_s":0.5,"faults":{"fin":1},"pace":{"max_ns":5,"counts":[[1,2],[7,1]]}}}"#)
    let two = try JSONReader.read(
      #"{"stats":{"events":4,"cpu_s":0.25,"faults":{"rst":2,"fin":1},"pace":{"max_ns":3,"counts":[[7,4]]}}}"#)

    let merged = FleetAnswer.merge([one, two])

    let expected =
      #"{"stats":{"events":7,"cpu_s":0.75,"faults":{"fin":2,"rst":2},"pace":{"max_ns":5,"counts":[[1,2],[7,5]]}}}"#
    #expect(merged.text() == expected)
  }

  @Test func highestNumberAndLatestClose_Count() throws {
    let sent = FleetAnswer.merge([
      try JSONReader.read(#"{"sent":{"1":5,"2":9}}"#), try JSONReader.read(#"{"sent":{"1":7}}"#),
    ])

    #expect(sent.text() == #"{"sent":{"1":7,"2":9}}"#)
  }
}
