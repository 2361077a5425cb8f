import Foundation
import Primitives
import TestSupport
import Testing

/// A value from the environment appears nowhere: not in a file of the run, not on stdout or stderr, in no spelling, also
/// when the server sends it back.
@Suite struct SecretTests {
  /// With everything that some format escapes.
  static let secret = #"sk-tok"en\with/odd+chars&ü=é 42"#

  /// Spellings of a text that a server might answer with.
  static func spellings(_ text: String) -> [String] {
    let json = JSONValue.string(text).text().dropFirst().dropLast()
    let unicode = text.utf16.map { String(format: "\\u%04x", $0) }.joined()
    let percent = text.utf8.map { String(format: "%%%02X", $0) }.joined()
    let form = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    let base64 = Data(text.utf8).base64EncodedString()
    let urlSafe = base64.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    let basic = Data("user:\(text)".utf8).base64EncodedString()
    return [text, String(json), unicode, percent, form, base64, urlSafe, basic, json.replacingOccurrences(of: "/", with: "\\/")]
  }

  /// What must stand nowhere: every spelling, and of each Base64 form the part that no neighbour changes.
  static func traces(_ secret: String) -> [String] {
    spellings(secret).map { String($0.dropFirst(2).dropLast(4)) } + [String(secret.prefix(12)), String(secret.suffix(12))]
  }

  private func expectNoTrace(of secret: String, _ scene: Scene, _ result: ProgramResult, sourceLocation: SourceLocation = #_sourceLocation) throws {
    var texts = [("stdout", result.output), ("stderr", result.errors)]
    for name in scene.folder.files(under: "out") { texts.append((name, try scene.folder.text("out/" + name))) }
    #expect(texts.count > 6, "the run left its files", sourceLocation: sourceLocation)
    for (name, text) in texts {
      for trace in Self.traces(secret) {
        #expect(!text.contains(trace), "\(name) holds '\(trace)'", sourceLocation: sourceLocation)
      }
    }
  }

  private func scenario(_ url: String, api: String = "openai-chat", more: String = "") -> String {
    Scene.foreign(url, api: api, endpoint: #", "headers": { "Authorization": "Bearer ${LLM_KEY}" }"#, more: more)
  }

  @Test func serverThatEchoesIt_GetsItIntoNoFile() throws {
    let server = try ScriptedServer { connection in
      guard let request = connection.readRequest() else { return }
      // It was sent: the test would prove nothing else.
      guard request.head.contains("Bearer \(Self.secret)") else {
        connection.send("HTTP/1.1 400 not sent\r\nContent-Length: 0\r\n\r\n")
        return
      }
      let body = Self.spellings(Self.secret).joined(separator: " | ")
      connection.send("HTTP/1.1 401 No\r\nContent-Type: text/\(Self.spellings(Self.secret)[5])\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
    defer { server.end() }

    for words in [["--json"], []] {
      let scene = try Scene()
      try scene.folder.write(scenario(server.url), to: "scenario.json")
      let result = try BuiltProgram.run(
        ["run", "scenario.json", "--out", "out"] + words, in: scene.folder, environment: ["LLM_KEY": Self.secret])

      #expect(isCode(result.code, 1), "\(result.errors)")
      #expect(try scene.errors() == ["http_4xx": 2])
      try expectNoTrace(of: Self.secret, scene, result)
      #expect(try scene.folder.text("out/scenario.json").contains("${LLM_KEY}"))
      #expect(try scene.folder.text("out/report.md").contains("LLM"), "the place of the value is shown")
    }
  }

  @Test func streamThatHoldsIt_GetsItIntoNoFile() throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      let json = JSONValue.string(Self.secret).text()
      connection.send(
        BadServerTests.head + "id: \(Self.secret)\ndata: {\"model\":\(json),\"choices\":[{\"delta\":{\"content\":\(json)}}]}\n\n"
          + "data: {\"error\":{\"message\":\(json)}}\n\ndata: [DONE]\n\n")
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(scenario: scenario(server.url), environment: ["LLM_KEY": Self.secret])

    #expect(try scene.errors() == ["stream_error": 2], "\(result.errors)")
    try expectNoTrace(of: Self.secret, scene, result)
  }

  @Test func eventIDThatIsTheSecret_StaysOutOfTheRecoveryFile() throws {
    // An id cannot hold a line end or NUL; this one has neither.
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(BadServerTests.head + "retry: 1\nid: \(Self.secret)\ndata: x\n\n")
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      scenario: scenario(server.url, api: "sse", more: #", "until": { "events": 4 }"#), "--set", "client.reconnect.policy=whatwg",
      environment: ["LLM_KEY": Self.secret])

    #expect(isDone(result.code), "\(result.errors)")
    #expect(scene.folder.exists("out/recovery.csv"))
    try expectNoTrace(of: Self.secret, scene, result)
  }

  /// Wherever a long answer is cut, no part of the secret is left over at the cut.
  @Test func secretAtTheCutOfALongAnswer_LeavesNoPart() throws {
    let secret = "abcdefghijklmnopqrstuvwxyz0123456789"
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      // Each connection puts it elsewhere, so that it straddles every cut that there may be.
      let body = String(repeating: "=", count: connection.number * 12) + secret + String(repeating: "=", count: 2_000)
      connection.send("HTTP/1.1 500 No\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    }
    defer { server.end() }

    for start in 0..<16 {
      let scene = try Scene()
      try scene.folder.write(scenario(server.url), to: "scenario.json")
      let result = try BuiltProgram.run(
        ["run", "scenario.json", "--out", "out", "--set", "load.sessions=3", "--set", "load.concurrency=1"], in: scene.folder,
        environment: ["LLM_KEY": secret])
      #expect(isCode(result.code, 1))
      for name in scene.folder.files(under: "out") {
        let text = try scene.folder.text("out/" + name)
        #expect(!text.contains("abcdef"), "run \(start), \(name): \(text.range(of: "abcdef").map { String(text[$0.lowerBound...].prefix(40)) } ?? "")")
      }
    }
  }

  @Test func errorBeforeTheRun_DoesNotSayIt() throws {
    let scene = try Scene()
    try scene.folder.write(
      #"{ "endpoint": { "url": "http://127.0.0.1:1/", "api": "${LLM_KEY}", "headers": { "X": "${LLM_KEY}" } }, "seed": "${LLM_KEY}" }"#,
      to: "bad.json")

    for command in ["validate", "run", "plan"] {
      let result = try scene.run(command, "bad.json", environment: ["LLM_KEY": Self.secret])
      #expect(result.code == 78)
      for trace in Self.traces(Self.secret) { #expect(!(result.output + result.errors).contains(trace), "\(command): \(result.errors)") }
    }
  }

  @Test func scenarioThatIsNamedForIt_DoesNotSayIt() throws {
    let scene = try Scene()
    try scene.folder.write(
      #"{ "name": "${LLM_KEY}", "endpoint": { "url": "http://127.0.0.1:1/", "api": "sse", "headers": { "X": "${LLM_KEY}" } }, "load": { "model": "closed", "sessions": 2 } }"#,
      to: "s.json")

    for words in [["plan", "s.json", "--json"], ["plan", "s.json"], ["validate", "s.json"], ["run", "s.json"]] {
      let result = try BuiltProgram.run(words, in: scene.folder, environment: ["LLM_KEY": Self.secret])
      for trace in Self.traces(Self.secret) { #expect(!(result.output + result.errors).contains(trace), "\(words): \(result.output)") }
    }
    let names = scene.folder.files(under: "Reports")
    #expect(names.count > 5)
    for name in names { #expect(!name.contains("tok"), "the folder is named for the value: \(name)") }
  }

  @Test func modelAskedFor_IsKeptOutOfTheWarning() throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(
        BadServerTests.head + "data: {\"model\":\"another\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n")
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      scenario: scenario(server.url, more: #", "request": { "model": "${LLM_KEY}" }"#), environment: ["LLM_KEY": Self.secret])

    #expect(try scene.folder.text("out/summary.json").contains("model_mismatch"), "\(result.errors)")
    try expectNoTrace(of: Self.secret, scene, result)
  }

  @Test func gateThatHoldsIt_DoesNotSayIt_AndLaterGatesKeepTheirPlaces() throws {
    let scene = try Scene()
    try scene.folder.write(
      #"{ "endpoint": { "mock": {} }, "gates": ["${LLM_KEY} < 1", 5, "errors_ratio = 1"] }"#, to: "bad.json")

    let result = try scene.run("validate", "bad.json", environment: ["LLM_KEY": Self.secret])

    #expect(result.code == 78)
    for place in ["gates.0", "gates.1", "gates.2"] { #expect(result.errors.contains(place), "\(place): \(result.errors)") }
    for trace in Self.traces(Self.secret) { #expect(!(result.output + result.errors).contains(trace), "\(result.errors)") }
  }

  @Test func headerOfTheCommandLine_GetsIntoNoFile() throws {
    let server = try ScriptedServer { connection in
      guard let request = connection.readRequest() else { return }
      let sent = request.head.split(separator: "\r\n").first { $0.hasPrefix("Authorization") } ?? "nothing"
      connection.send("HTTP/1.1 401 No\r\nContent-Length: \(sent.utf8.count)\r\n\r\n\(sent)")
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      "run", "--endpoint", server.url, "--api", "openai-chat", "--sessions", "1", "-H", "Authorization: Bearer sk-literal-0123456789",
      "--out", "out")

    #expect(try scene.errors() == ["http_4xx": 1], "\(result.errors)")
    for name in scene.folder.files(under: "out") {
      #expect(try !scene.folder.text("out/" + name).contains("literal-0123"), "\(name)")
    }
    #expect(!(result.output + result.errors).contains("literal-0123"))
    #expect(try scene.folder.text("out/scenario.json").contains("${AUTHORIZATION}"))
  }

  @Test func variableInAHeaderOfListen_IsReplaced() throws {
    let server = try ScriptedServer { connection in
      guard let request = connection.readRequest() else { return }
      connection.send(request.head.contains("X-Key: \(Self.plain)") ? "HTTP/1.1 204 Done\r\n\r\n" : "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")
    }
    defer { server.end() }
    let scene = try Scene()

    let unset = try scene.run("listen", server.url, "-H", "X-Key: ${LLM_KEY}")
    let set = try scene.run("listen", server.url, "-H", "X-Key: ${LLM_KEY}", environment: ["LLM_KEY": Self.plain])

    #expect(unset.code == 78)
    #expect(unset.errors.contains("LLM_KEY"))
    #expect(set.output.contains("204"), "\(set.output)\(set.errors)")
  }

  private static let plain = "sk-plain-0123456789"
}
