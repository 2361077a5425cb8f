import Foundation
import Primitives
import TestSupport
import Testing

/// Servers that are not what they should be: each session ends within its limits, with its word, and the run with its
/// exit code.
@Suite struct BadServerTests {
  static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
  static let stacks = ["curl", "raw"]

  private func stack(_ name: String) -> String { #", "stack": "\#(name)""# }

  // MARK: No connection: 69

  @Test(arguments: stacks) func unknownHost_IsUnavailable(_ stack: String) throws {
    let scene = try Scene()

    let result = try scene.run(
      scenario: Scene.foreign("http://no-such-host.invalid/v1", client: self.stack(stack)))

    #expect(isCode(result.code, 69), "\(result.errors)")
    #expect(try scene.errors() == ["dns": 2])
    #expect(try scene.folder.text("out/report.md").contains("No session could connect"))
  }

  @Test(arguments: stacks) func closedPort_IsUnavailable(_ stack: String) throws {
    let server = try ScriptedServer { _ in }
    let url = server.url
    server.end()
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.foreign(url, client: self.stack(stack)))

    #expect(isCode(result.code, 69), "\(result.errors)")
    #expect(try scene.errors() == ["refused": 2])
  }

  @Test func certificateOfAnotherName_IsATLSFailure() throws {
    let openssl = "/usr/bin/openssl"
    guard FileManager.default.isExecutableFile(atPath: openssl) else {
      #expect(ProcessInfo.processInfo.environment["CI"] == nil, "no \(openssl): the setup installs it")
      return
    }
    let scene = try Scene()
    let server = try SecureServer(openssl, in: scene.folder)
    defer { server.end() }
    let url = "https://localhost:\(server.port)/"
    // s_server answers GET alone.
    func run(_ name: String, _ url: String, _ endpoint: String) throws -> ProgramResult {
      try scene.folder.write(Scene.foreign(url, api: "sse", sessions: 1, endpoint: endpoint), to: "\(name).json")
      return try scene.run("run", "\(name).json", "--out", name)
    }

    // The certificate is trusted and names other.test: only the name is wrong.
    let mismatch = try run("mismatch", url, #", "tls": { "ca": "cert.pem" }"#)
    #expect(isCode(mismatch.code, 69), "\(mismatch.errors)")
    #expect(try scene.errors("mismatch") == ["tls": 1])
    // Nobody vouches for it.
    let unknown = try run("unknown", url, "")
    #expect(isCode(unknown.code, 69))
    #expect(try scene.errors("unknown") == ["tls": 1])
    // With its own name and its own authority it is good: what comes is HTML, and that is another matter.
    let right = try run(
      "right", "https://other.test:\(server.port)/",
      #", "tls": { "ca": "cert.pem" }, "resolve": ["other.test:\#(server.port):127.0.0.1"]"#)
    #expect(isCode(right.code, 1), "\(right.errors)")
    #expect(try scene.errors("right") == ["content_type": 1])
    let insecure = try run("insecure", url, #", "tls": { "insecure": true }"#)
    #expect(isCode(insecure.code, 1))
    #expect(try scene.errors("insecure") == ["content_type": 1])
    // The second connection of a place takes up the TLS session of the first.
    try scene.folder.write(
      Scene.foreign(
        url, api: "sse", sessions: 2, endpoint: #", "tls": { "insecure": true }"#, client: #", "connections": "fresh""#),
      to: "twice.json")
    let twice = try scene.run("run", "twice.json", "--out", "twice", "--set", "load.concurrency=1")
    #expect(isCode(twice.code, 1), "\(twice.errors)")
    let connections = try #require(try scene.variant("twice")["connections"])
    #expect(connections["new"]?.asInt == 2 && connections["tls_resumed"]?.asInt == 1, "\(connections)")
  }

  // MARK: A connection, but no stream: 1

  @Test(arguments: stacks) func serverThatNeverAnswers_TimesOut(_ stack: String) throws {
    let server = try ScriptedServer { $0.hold() }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      scenario: Scene.foreign(server.url, client: self.stack(stack)), "--set", "client.timeouts.first_event=300ms")

    #expect(isCode(result.code, 1), "\(result.errors)")
    #expect(try scene.errors() == ["timeout_first_event": 2])
  }

  @Test func streamThatFallsSilent_TimesOut() throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(Self.head + "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
      connection.hold()
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.foreign(server.url), "--set", "client.timeouts.idle=300ms")

    #expect(isCode(result.code, 1))
    #expect(try scene.errors() == ["timeout_idle": 2])
  }

  @Test(arguments: stacks) func html_IsAWrongContentTypeWithAnExample(_ stack: String) throws {
    let page = "<html><body>Please <b>log in</b></body></html>"
    let server = try ScriptedServer.answering(
      "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)")
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.foreign(server.url, client: self.stack(stack)))

    #expect(isCode(result.code, 1))
    #expect(try scene.errors() == ["content_type": 2])
    let report = try scene.folder.text("out/report.md")
    #expect(report.contains("text/html") && report.contains("log in"))
    #expect(!report.contains("<b>"), "foreign text stays text")
  }

  @Test func endlessHTML_IsStillAWrongContentType() throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
      while connection.send("<p>on and on</p>") { usleep(5_000) }
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      scenario: Scene.foreign(server.url), "--set", "client.timeouts.first_event=500ms")

    #expect(isCode(result.code, 1))
    #expect(try scene.errors() == ["content_type": 2])
  }

  @Test(arguments: stacks) func bodyWithoutEnd_EndsAtTheTotalLimit(_ stack: String) throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(Self.head)
      while connection.send("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n") { usleep(2_000) }
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      scenario: Scene.foreign(server.url, client: self.stack(stack)), "--set", "client.timeouts.total=700ms")

    #expect(isCode(result.code, 1))
    #expect(try scene.errors() == ["timeout_total": 2])
    #expect(try scene.variant()["events"]?["count"]?.asInt ?? 0 > 0)
  }

  @Test(arguments: stacks) func lineOfAGigabyte_IsTooLargeAfterSixteenMebibytes(_ stack: String) throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(Self.head + "data: ")
      let block = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
      for _ in 0..<1024 where !connection.send(block) { return }
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.foreign(server.url, sessions: 1, client: self.stack(stack)))

    #expect(isCode(result.code, 1))
    #expect(try scene.errors() == ["too_large": 1])
    let bytes = try scene.variant()["bytes"]?["count"]?.asInt ?? 0
    #expect(bytes > 16 << 20 && bytes < 20 << 20, "\(bytes) bytes were taken")
  }

  @Test func redirectLoop_IsNamed() throws {
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil {
        connection.send("HTTP/1.1 307 Again\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
      }
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.foreign(server.url))

    #expect(isCode(result.code, 1))
    #expect(try scene.errors() == ["redirect_loop": 2])
  }

  static let responses: [(what: String, response: String, kind: String)] = [
    ("status 500", "HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops", "http_5xx"),
    ("status 429", "HTTP/1.1 429 Slow\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", "http_429"),
    ("status 401", "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "http_4xx"),
    ("no end marker", head + "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", "truncated"),
    ("error inside the stream", head + "data: {\"error\":{\"message\":\"out of memory\"}}\n\ndata: [DONE]\n\n", "stream_error"),
    ("no answer", "", "reset"), ("no HTTP", "hello\r\n\r\n", "protocol"),
    ("compressed unasked", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: x-own\r\n\r\nxx", "unsupported_encoding"),
  ]

  @Test(arguments: responses.indices, stacks) func wrongAnswer_HasItsWord(_ index: Int, _ stack: String) throws {
    let row = Self.responses[index]
    let server = try ScriptedServer.answering(row.response)
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.foreign(server.url, client: self.stack(stack)))

    #expect(isCode(result.code, 1), "\(row.what)")
    #expect(try scene.errors() == [row.kind: 2], "\(row.what)")
  }

  @Test func someFailures_AreAPassWithAWarning() throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      let token = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"
      connection.send(Self.head + token + (connection.number == 0 ? "" : "data: [DONE]\n\n"))
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(
      scenario: Scene.foreign(server.url, sessions: 4), "--set", "load.concurrency=1", "--json")

    #expect(isDone(result.code), "\(result.errors)")
    #expect(try scene.errors() == ["truncated": 1])
    #expect(try scene.summary()["warnings"]?.asArray?.contains { $0["code"] == "errors_seen" } == true)
  }

  #if os(Linux)
  /// Foundation's URLSession stops the program at such an answer; what was measured before must not be lost with it.
  @Test func answerThatEndsFoundation_LeavesAReport() throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Ty")
    }
    defer { server.end() }
    let scene = try Scene()

    let result = try scene.run(scenario: Scene.foreign(server.url, api: "sse", client: #", "stack": "urlsession""#))

    // A later Foundation may survive it; then the run has failed as any other.
    #expect(result.code == 70 || result.code == 1, "\(result.code) \(result.errors)")
    #expect(result.code != 70 || result.errors.contains("Foundation's URLSession on Linux ends it"))
    #expect(try scene.folder.text("out/report.md").contains("# "))
  }
  #endif
}
