// The schema and the decoder are made from one definition, and agree on every document: right, wrong or shipped.

import Foundation
import Primitives
import Scenarios
import Testing

@Suite struct SchemaTests {
  /// The top-level Scenarios/ folder.
  static let shipped = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Scenarios")

  static func shippedFiles() throws -> [String] {
    guard let files = FileManager.default.enumerator(atPath: shipped.path) else { return [] }
    return files.compactMap { $0 as? String }.filter {
      $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json")
    }.sorted()
  }

  /// The environment that shipped scenarios with secrets are checked in.
  static let environment = ["OPENAI_API_KEY": "sk-test-value", "ANTHROPIC_API_KEY": "sk-test-value"]

  @Test func shippedScenariosAreValid_ForSchemaAndDecoder() throws {
    let checker = SchemaChecker(SchemaWriter.scenario())
    let files = try Self.shippedFiles()

    #expect(files.contains("quickstart.json") && files.contains("smoke.json"))
    for file in files {
      let path = Self.shipped.appendingPathComponent(file).path
      let document = try JSONReader.read(Data(contentsOf: URL(fileURLWithPath: path)), extended: true)
      #expect(checker.accepts(document), "\(file)")
      #expect(throws: Never.self, "\(file)") {
        try ScenarioFile.load(path: path, environment: Self.environment)
      }
    }
  }

  @Test func quickstartIsTwoHundredStreams() throws {
    let scenario = try ScenarioFile.load(
      path: Self.shipped.appendingPathComponent("quickstart.json").path, environment: [:]
    ).variants[0].scenario

    #expect(scenario.load.model == .closed)
    #expect(scenario.load.concurrency == 200)
    #expect(scenario.load.sessions == 1_000)
    #expect(scenario.endpoint.mock?.tokens == .constant(128))
    #expect(scenario.endpoint.mock?.interval == .constant(20e6))
    #expect(scenario.endpoint.mock?.firstToken == .constant(200e6))
  }

  @Test func schemaFilesInTheRepository_AreWhatTheCommandPrints() throws {
    for (name, schema) in [("scenario", SchemaWriter.scenario()), ("mock", SchemaWriter.mock())] {
      let file = try String(
        contentsOf: Self.shipped.appendingPathComponent("\(name).schema.json"), encoding: .utf8)

      #expect(
        file == schema.text(pretty: true), "run: ssebench schema \(name) > Scenarios/\(name).schema.json")
    }
  }

  @Test func starterFileIsValid_ForSchemaAndDecoder() throws {
    let text = StarterFile.text()

    let document = try JSONReader.read(text, extended: true)

    #expect(SchemaChecker(SchemaWriter.scenario()).accepts(document))
    #expect(throws: Never.self) { try load(text) }
    // Each line that is commented out holds a key of the definition.
    for line in text.split(separator: "\n") {
      let trimmed = line.drop { $0 == " " }
      if trimmed.hasPrefix("// \"") { #expect(trimmed.contains("\":"), "\(line)") }
    }
  }

  @Test func documentAsUsedFollowsTheSchema() throws {
    let checker = SchemaChecker(SchemaWriter.scenario())
    for text in [
      valid(), valid(#""compare": {"client.parser": ["whatwg", "lines"]}"#), #"{"wukongim": {}}"#,
      valid(#""endpoint": {"url": "http://h"}"#),
    ] {
      #expect(try checker.accepts(load(text).document), "\(text)")
    }
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func schemaAndDecoderAgreeOnRandomDocuments(seed: UInt64) throws {
    let checker = SchemaChecker(SchemaWriter.scenario())
    var documents = SchemaDocuments(checker: checker, random: SeededRandom(seed: seed))
    var accepted = 0
    for round in 0..<1_500 {
      var document = documents.make()
      if round % 3 > 0 { document = documents.spoil(document) }

      let problems = decode(document)

      let isAccepted = checker.accepts(document)
      accepted += isAccepted ? 1 : 0
      let form = problems.filter { !$0.isRule }
      #expect(
        isAccepted == form.isEmpty,
        "seed \(seed), round \(round): \(form.map(\.description)) \(document.text())")
      if isAccepted != form.isEmpty { break }
    }
    #expect(accepted > 500)
    #expect(accepted < 1_400)
  }

  @Test func mockSchemaAndDecoderAgreeOnRandomDocuments() throws {
    let checker = SchemaChecker(SchemaWriter.mock())
    var documents = SchemaDocuments(checker: checker, random: SeededRandom(seed: 9))
    for round in 0..<1_500 {
      var document = documents.make()
      if round % 3 > 0 { document = documents.spoil(document) }

      var form: [ScenarioProblem] = []
      do throws(ScenarioFailure) {
        _ = try MockFile.load(text: document.text().utf8, environment: ["NAMED_VALUE": "http://value"])
      } catch {
        form = error.problems.filter { !$0.isRule }
      }
      let agrees = checker.accepts(document) == form.isEmpty
      #expect(agrees, "round \(round): \(form.map(\.description)) \(document.text())")
      if !agrees { break }
    }
  }

  private func decode(_ document: JSONValue) -> [ScenarioProblem] {
    do throws(ScenarioFailure) {
      _ = try ScenarioFile.load(document: document, environment: ["NAMED_VALUE": "http://value"])
      return []
    } catch {
      return error.problems
    }
  }
}
