// `ssebench run` with the api wukongim: its figures, and the same over TLS.

import Foundation
import Primitives
import TestSupport
import Testing

@Suite struct WuKongRunTests {
  /// A mock on a free port, and a relay with TLS in front of it; both end with the test.
  private struct SecureMock {
    private let program: RunningProgram
    private let relay: TLSRelay
    /// The relay's.
    var port: Int { relay.port }

    init(in folder: TemporaryFolder) throws {
      let program = try BuiltProgram.start(["mock", "--api", "wukongim", "--listen", "127.0.0.1:0"], in: folder)
      self.program = program
      var url: String?
      _ = eventually {
        url = program.outputSoFar.split(separator: "\n").first.flatMap {
          try? JSONReader.read(String($0))["listening"]?.asString
        }
        return url != nil
      }
      let port = try #require(url?.split(separator: ":").last.flatMap { Int($0) }, "\(program.errorsSoFar)")
      relay = try TLSRelay(to: port, in: folder)
    }

    func end() {
      relay.end()
      program.signal(SIGTERM)
    }
  }

  private static let load =
    #""wukongim": { "channels": 2, "readers": 10, "producers": 2, "replies": 4, "deltas": 60, "interval": "1ms", "kill": { "times": 3 } }"#

  private static func scenario(_ endpoint: String) -> String {
    """
    {
      "name": "wukongim", "endpoint": { "api": "wukongim"\(endpoint) }, \(load),
      "client": { "timeouts": { "connect": "5s" } },
      "gates": [ "wukongim.wrong_texts == 0", "wukongim.histories == wukongim.connects" ]
    }
    """
  }

  /// Each figure that a run must have: latencies of appends, fan-outs and recoveries, gaps, duplicates, drops, bytes.
  @Test func aRun_HasItsFigures() throws {
    let scene = try Scene()

    let result = try scene.run(scenario: Self.scenario(#", "mock": { "api": "wukongim" }"#))

    #expect(isDone(result.code), "\(result.output) \(result.errors)")
    let variant = try scene.variant()
    let figures = try #require(variant["wukongim"])
    for key in ["append_ms", "fan_out_ms"] {
      #expect(
        try #require(figures[key]?["count"]?.asInt) > 100 && #require(figures[key]?["p50"]?.asDouble) > 0,
        "\(key)")
    }
    let recovery = try #require(variant["recovery"]?["time_ms"])
    #expect(try #require(recovery["count"]?.asInt) >= 30 && #require(recovery["p50"]?.asDouble) > 0)
    for key in ["gaps", "duplicates", "overflow", "stale_histories", "undecodable", "covered"] {
      #expect(figures[key]?.asInt != nil, "\(key)")
    }
    // An event of a few units is some 400 bytes on the wire, its data encoded twice.
    #expect((200...2_000).contains(try #require(figures["bytes_per_event"]?.asDouble)))
    #expect(figures["kills"] == .integer(30) && figures["readers_completed"] == .integer(10))
    #expect(figures["histories"] == figures["connects"])
  }

  @Test(.enabled(if: TLSRelay.isPossible)) func overTLS_EveryTextIsWhole() throws {
    let scene = try Scene()
    let relay = try SecureMock(in: scene.folder)
    defer { relay.end() }

    let result = try scene.run(
      scenario: Self.scenario(
        #", "url": "https://other.test:\#(relay.port)", "tls": { "ca": "cert.pem" }, "resolve": ["other.test:\#(relay.port):127.0.0.1"]"#
      ))

    #expect(isDone(result.code), "\(result.output) \(result.errors)")
    let figures = try #require(try scene.variant()["wukongim"])
    #expect(figures["readers_completed"] == .integer(10) && figures["wrong_texts"] == .integer(0))
    #expect(figures["kills"] == .integer(30) && (figures["connects"]?.asInt ?? 0) >= 40)
    #expect(figures["histories"] == figures["connects"])
  }

  @Test(.enabled(if: TLSRelay.isPossible)) func certificateOfAnotherName_IsATLSFailure() throws {
    let scene = try Scene()
    let relay = try SecureMock(in: scene.folder)
    defer { relay.end() }
    func run(_ name: String, _ tls: String) throws -> ProgramResult {
      try scene.folder.write(
        Self.scenario(#", "url": "https://localhost:\#(relay.port)"\#(tls)"#), to: "\(name).json")
      return try scene.run("run", "\(name).json", "--out", name, limit: 45)
    }

    let mismatch = try run("mismatch", #", "tls": { "ca": "cert.pem" }"#)
    #expect(isCode(mismatch.code, 69), "\(mismatch.errors)")
    #expect(try scene.errors("mismatch") == ["tls": 10])
    #expect(
      try scene.folder.text("mismatch/report.md").contains("localhost"), "libcurl's words name the host")
    let unknown = try run("unknown", "")
    #expect(isCode(unknown.code, 69))
    #expect(try scene.errors("unknown") == ["tls": 10])
    let insecure = try run("insecure", #", "tls": { "insecure": true }"#)
    #expect(isDone(insecure.code), "\(insecure.output) \(insecure.errors)")
  }
}
