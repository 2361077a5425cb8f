// A value from the environment is found in a text however it was written there, and nothing else is.

import Foundation
import Primitives
import Scenarios
import Testing

@Suite struct SecretsTests {
  static let value = "sk-Ab/9+\"z\u{E9}\\ q"
  static let secrets = Secrets([("KEY", value)])

  @Test func plainValueIsReplaced() {
    #expect(Self.secrets.scrub("Bearer \(Self.value), again \(Self.value)") == "Bearer ${KEY}, again ${KEY}")
    #expect(Self.secrets.scrub("nothing here") == "nothing here")
    #expect(Secrets.none.scrub("x") == "x")
  }

  @Test(arguments: [
    #"sk-Ab/9+\"zé\\ q"#, #"sk-Ab\/9+\"z\u00e9\\ q"#, #"sk-Ab/9+\u0022z\u00E9\u005c q"#,
    #"sk-Ab/9+\\\"zé\\\\ q"#,
  ])
  func jsonFormsAreReplaced(_ form: String) {
    #expect(Self.secrets.scrub("{\"a\":\"\(form)\"}") == "{\"a\":\"${KEY}\"}")
  }

  @Test func jsonWrittenByUsIsReplaced() {
    let text = JSONValue.object(["error": .string("bad key \(Self.value)")]).text()

    #expect(Self.secrets.scrub(text) == #"{"error":"bad key ${KEY}"}"#)
  }

  @Test(arguments: ["sk-Ab%2F9%2B%22z%C3%A9%5C%20q", "sk-Ab%2f9%2b%22z%c3%a9%5c+q", "sk%2DAb/9+%22zé%5C%20q"])
  func percentFormsAreReplaced(_ form: String) {
    #expect(Self.secrets.scrub("/x?key=\(form)&y") == "/x?key=${KEY}&y")
  }

  @Test func htmlFormIsReplaced() {
    #expect(Self.secrets.scrub("<p>sk-Ab/9+&quot;zé\\ q</p>") == "<p>${KEY}</p>")
  }

  @Test func base64IsReplacedAtEveryAlignment() {
    var random = SeededRandom(seed: 7)
    for length in 4..<40 {
      let value = String(
        (0..<length).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789-_!~".randomElement(using: &random)! })
      let secrets = Secrets([("KEY", value)])
      for before in 0..<6 {
        for after in 0..<4 {
          let plain = Data(
            (String(repeating: "u", count: before) + value + String(repeating: "v", count: after)).utf8)
          let encoded = plain.base64EncodedString()
          let urlSafe = encoded.replacingOccurrences(of: "+", with: "-").replacingOccurrences(
            of: "/", with: "_")

          for text in [encoded, urlSafe] {
            let scrubbed = secrets.scrub("Basic \(text)")
            #expect(
              scrubbed.contains("${KEY}"), "value \(value), \(before) before, \(after) after: \(scrubbed)")
            // What is left of the value is less than one character of it on each side.
            #expect(scrubbed.count <= "Basic ${KEY}".count + (before + 2) / 3 * 4 + (after + 2) / 3 * 4 + 4)
          }
        }
      }
    }
  }

  @Test func longerOfTwoSecretsIsTakenFirst() {
    let secrets = Secrets([("SHORT", "token"), ("LONG", "token-and-more")])

    #expect(secrets.scrub("token-and-more, token") == "${LONG}, ${SHORT}")
  }

  @Test func documentIsScrubbedInKeysAndValues() {
    let secrets = Secrets([("KEY", "hidden")])

    #expect(secrets.scrub(json(#"{"hidden": ["a hidden b", 5]}"#)) == json(#"{"${KEY}": ["a ${KEY} b", 5]}"#))
  }

  @Test func hostileTextIsScrubbedInLinearTime() {
    let secrets = Secrets([("KEY", String(repeating: "\\", count: 40))])
    let text = [UInt8](repeating: UInt8(ascii: "\\"), count: 20_000)

    #expect(secrets.scrub(text).count < text.count)
  }

  @Test func valueReachesTheScenario_AndNeitherDocumentNorProblem() throws {
    let environment = ["API_KEY": "very-secret-value"]
    let text = valid(
      #""endpoint": {"url": "http://h/${API_KEY}", "headers": {"Authorization": "Bearer ${API_KEY}"}}, "request": {"body": {"a": ["${API_KEY}", "$${API_KEY}"]}}"#
    )

    let loaded = try load(text, environment: environment)

    let scenario = loaded.variants[0].scenario
    #expect(scenario.endpoint.headers[0].value == "Bearer very-secret-value")
    #expect(scenario.endpoint.url == "http://h/very-secret-value")
    #expect(scenario.request.body == json(#"{"a": ["very-secret-value", "${API_KEY}"]}"#))
    #expect(loaded.document.text().contains("very-secret-value") == false)
    #expect(loaded.secrets.scrub("echo very-secret-value") == "echo ${API_KEY}")
    let bad = failure(
      valid(
        #""client": {"parser": "${API_KEY}"}, "measure": {"stall": "${API_KEY}"}, "endpoint": {"url": "${API_KEY}"}"#
      ), environment: environment)
    #expect(bad?.problems.count == 3)
    #expect(bad?.description.contains("very-secret-value") == false)
  }

  @Test func unsetShortAndMalformedVariablesAreRefused() {
    #expect(failure(valid(#""name": "${NOT_SET}""#))?.kind == .invalid)
    #expect(refused(valid(#""name": "${NOT_SET}""#)) == ["name"])
    #expect(refused(valid(#""name": "${SHORT}""#), environment: ["SHORT": "abc"]) == ["name"])
    #expect(refused(valid(#""name": "${EMPTY}""#), environment: ["EMPTY": ""]) == ["name"])
    #expect(refused(valid(#""name": "${1X}""#)) == ["name"])
    #expect(refused(valid(#""name": "${OPEN""#)) == ["name"])
    #expect(refused(valid(#""name": "costs $5 {x} $${y}""#)) == [])
  }

  @Test func anyKindOfTextCanComeFromTheEnvironment() throws {
    let scenario = try load(
      valid(#""client": {"parser": "${PARSER_MODE}"}, "measure": {"stall": "${STALL_TIME}"}"#),
      environment: ["PARSER_MODE": "lines", "STALL_TIME": "2500ms"]
    ).variants[0].scenario

    #expect(scenario.client.parser == .lines)
    #expect(scenario.measure.stall == .seconds(2.5))
  }
}
