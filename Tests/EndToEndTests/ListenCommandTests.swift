// `ssebench listen` as it prints: each line in its form, and the exit codes.

import Foundation
import TestSupport
import Testing

/// What a run of `listen` printed.
private struct Listened {
  var status: Int32
  var output: String
  var errors: String

  init(_ words: [String]) throws {
    let result = try BuiltProgram.run(["listen"] + words, in: TemporaryFolder())
    (status, output, errors) = (result.code, result.output, result.errors)
  }

  /// Each line of the output as JSON.
  var objects: [[String: Any]] {
    output.split(separator: "\n").compactMap { (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any] }
  }
}

private func listen(_ words: String...) throws -> Listened { try Listened(words) }

@Suite(.serialized) struct ListenCommandTests {
  @Test(arguments: ["1\r\nX-Evil: 1", "1\n2"]) func idThatIsNoHeader_IsRefused(_ id: String) throws {
    let scene = try Scene()

    let result = try scene.run("listen", "http://127.0.0.1:9/", "--last-event-id", id)

    #expect(result.code == 64 && result.errors.contains("--last-event-id"), "\(result.code) \(result.errors)")
  }

  @Test func eachStateAndEvent_IsALineWithItsTime() throws {
    let server = CaseServer([.stream("id: 1\ndata: a \"b\"\n\n"), .stream("event: t\ndata: c\n\n")])

    let program = try listen(server.url, "--reconnect", "whatwg", "--retry", "20ms")

    server.stop()
    #expect(program.status == 0)
    let shown = program.objects.map { line -> String in
      if let state = line["state"] as? String { return state + ((line["reason"] as? String).map { ":" + $0 } ?? "") }
      return "\(line["event"] ?? "-")/\(line["data"] ?? "-")/\(line["id"] ?? "-")"
    }
    #expect(shown == [
      "connecting", "open", "message/a \"b\"/1", "waiting:end", "connecting", "open", "t/c/1", "waiting:end",
      "connecting", "closed:http_204",
    ])
    let times = program.objects.compactMap { ($0["t_ms"] as? NSNumber)?.doubleValue }
    #expect(times.count == shown.count && times == times.sorted())
    #expect(program.objects[1]["status"] as? Int == 200)
    #expect(program.objects[3]["delay_ms"] as? Double == 20)
  }

  @Test func withoutAPolicy_TheEndOfTheBodyIsTheEnd() throws {
    let server = CaseServer([.stream("data: a\n\n")])

    let program = try listen(server.url)

    server.stop()
    #expect(program.status == 0)
    #expect(program.objects.last?["reason"] as? String == "end")
    #expect(server.requests.count == 1)
  }

  @Test func neverOpen_Is69() throws {
    let server = CaseServer([.status("404 None", body: "no such stream")])

    let program = try listen(server.url)

    server.stop()
    #expect(program.status == 69)
    #expect(program.objects.last?["reason"] as? String == "http_4xx")
    #expect(program.objects.last?["status"] as? Int == 404)
  }

  @Test func aSecretHeader_ReachesTheServerAndNoOutput() throws {
    let server = CaseServer([.status("401 No", body: "bad token s3cr3t-t0ken")])

    let program = try listen(server.url, "-H", "Authorization: Bearer s3cr3t-t0ken")

    server.stop()
    #expect(server.requests.first?.header("authorization") == "Bearer s3cr3t-t0ken")
    #expect(!program.output.contains("s3cr3t") && !program.errors.contains("s3cr3t"))
  }

  @Test func data_IsPosted() throws {
    let server = CaseServer([.stream("data: a\n\n")])

    let program = try listen(server.url, "-d", "{\"q\":1}", "--parser", "data-only")

    server.stop()
    #expect(program.status == 0)
    #expect(server.requests.first?.line.hasPrefix("POST ") == true)
    #expect(server.requests.first?.body == "{\"q\":1}")
    #expect(server.requests.first?.header("content-type") == "application/json")
  }

  @Test func rawStack_SeesTheSame() throws {
    let answers: [CaseAnswer] = [.stream("id: 1\ndata: a\n\n"), .cut("data: b\n\ndata: c\n")]
    let raw = CaseServer(answers)
    let curl = CaseServer(answers)

    let first = try listen(raw.url, "--reconnect", "whatwg", "--retry", "20ms", "--stack", "raw")
    let second = try listen(curl.url, "--reconnect", "whatwg", "--retry", "20ms")

    raw.stop()
    curl.stop()
    func facts(_ program: Listened) -> [String] {
      program.objects.map { "\($0["state"] ?? "") \($0["data"] ?? "") \($0["id"] ?? "") \($0["reason"] ?? "")" }
    }
    #expect(facts(first) == facts(second))
    #expect(raw.requests.map { $0.header("last-event-id") } == curl.requests.map { $0.header("last-event-id") })
  }

  @Test(arguments: [["ftp://x/"], ["http://127.0.0.1:1/", "--retry", "soon"], ["http://127.0.0.1:1/", "-H", "nothing"]])
  func wrongUsage_Is64(_ words: [String]) throws {
    let program = try Listened(words)

    #expect(program.status == 64)
    #expect(program.output.isEmpty)
  }
}
