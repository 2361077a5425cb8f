import Primitives
import TestSupport
import Testing

/// The ledger over whole runs: events of foreign servers, numbered by a rule, and what must not be claimed where the numbers are of no
/// use.
@Suite struct NumberedStreamTests {
  /// Runs one session against a server that sends these events and closes.
  private func run(_ events: [String], verify: String, more: String = "") throws -> (result: ProgramResult, scene: Scene) {
    let body = events.map { "\($0)\n\n" }.joined()
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\(body)")
    }
    defer { server.end() }
    let scene = try Scene()
    let gates = #", "gates": ["recovery.lost == 0"], "verify": \#(verify)\#(more)"#
    return (try scene.run(scenario: Scene.foreign(server.url, api: "sse", sessions: 1, more: gates)), scene)
  }

  private func counts(_ scene: Scene) throws -> [String] {
    let recovery = try #require(try scene.variant()["recovery"])
    return ["expected", "delivered", "lost", "undelivered", "duplicated", "reordered", "unnumbered"].map { recovery[$0]?.asInt.map(String.init) ?? "–" }
  }

  private func json(_ numbers: Int...) -> [String] { numbers.map { #"data: {"n":\#($0)}"# } }

  @Test func firstTwoSwapped_AreDeliveredAndReordered() throws {
    let (result, scene) = try run(json(12, 11, 13, 14), verify: #"{ "sequence": { "json": "n" } }"#)

    #expect(isDone(result.code), "\(result.errors)")
    #expect(try counts(scene) == ["4", "4", "0", "0", "0", "1", "0"])
  }

  @Test func numberingFromAnywhere_ExpectsWhatTheStreamHolds() throws {
    let (result, scene) = try run(json(1_764_547_200_000, 1_764_547_200_001, 1_764_547_200_003), verify: #"{ "sequence": { "json": "n" } }"#)

    #expect(isCode(result.code, 1), "\(result.errors)")
    #expect(try counts(scene) == ["4", "3", "1", "0", "0", "0", "0"])
  }

  @Test func expected_CountsFromTheFirstSeen() throws {
    let (_, scene) = try run(json(101, 102), verify: #"{ "sequence": { "json": "n" }, "expected": 5 }"#)

    #expect(try counts(scene) == ["5", "2", "3", "0", "0", "0", "0"])
  }

  @Test(arguments: [
    #"{ "sequence": { "json": "seq" } }"#, #"{ "sequence": "id" }"#, #"{ "sequence": { "regex": "seq=(\\d+)" } }"#,
  ])
  func ruleThatNeverMatches_MeasuresNothing(_ verify: String) throws {
    let (result, scene) = try run(json(1, 2, 5), verify: verify)

    #expect(isCode(result.code, 1), "\(result.errors)")
    #expect(try counts(scene) == ["–", "–", "–", "–", "–", "–", "0"])
    #expect(try scene.folder.text("out/report.md").contains("No event carried a number"))
    #expect(result.output.contains("not_measured") || result.output.contains("not measured"))
  }

  @Test func idsOfTimeAndCount_AreNoNumbers() throws {
    let events = (0..<6).map { "id: \(1_764_547_200 + $0 / 2):\($0 % 2)\ndata: x" }

    let (result, scene) = try run(events, verify: #"{ "sequence": "id" }"#)

    #expect(isCode(result.code, 1), "\(result.errors)")
    #expect(try counts(scene) == ["–", "–", "–", "–", "–", "–", "4"])
  }

  @Test func numberOutOfTheWorld_IsCountedAsSuch() throws {
    let events = json(1, 2) + [#"data: {"n":9000000000000000000}"#] + (3...30).flatMap { json($0) }

    let (result, scene) = try run(events, verify: #"{ "sequence": { "json": "n" } }"#)

    #expect(isDone(result.code), "\(result.errors)")
    #expect(try counts(scene) == ["30", "30", "0", "0", "0", "0", "1"])
    #expect(try scene.folder.text("out/report.md").contains("1 of 31 events had something else than a usable number"))
  }

  /// The mock sends more than the client waits for: what it did not wait for is not lost.
  @Test(arguments: ["replay", "foreign"]) func clientThatStopsItself_LosesNothing(_ kind: String) throws {
    let scene = try Scene()

    let result = try scene.run(scenario: """
      {
        "name": "stops",
        "endpoint": { "mock": { "api": "sse", "tokens": 20, "first_token": "1ms", "interval": "1ms",
          "faults": [ { "kind": "\(kind)", "at": { "event": 5 }, "n": 3 } ] } },
        "load": { "model": "closed", "concurrency": 2, "sessions": 4 },
        "until": { "events": 20 },
        "gates": [ "recovery.lost == 0", "recovery.undelivered > 0" ]
      }
      """.replacing(kind == "foreign" ? #", "n": 3"# : "\u{0}", with: ""))

    #expect(isDone(result.code), "\(result.output) \(result.errors)")
  }
}
