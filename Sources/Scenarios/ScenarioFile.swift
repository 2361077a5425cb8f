// A scenario file, or a document made from flags, becomes a LoadedScenario or the list of everything to fix.

package import Primitives

/// `KEY.PATH=VALUE`, as `--set` takes it.
package struct Override: Sendable {
  package var keyPath: String
  package var value: JSONValue

  package init(_ keyPath: String, _ value: JSONValue) {
    self.keyPath = keyPath
    self.value = value
  }

  /// The text of `--set`: the value is JSON, else a string. nil where there is no `=`.
  package init?(_ text: String) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else { return nil }
    let value = String(text[text.index(after: equals)...])
    self.init(String(text[..<equals]), (try? JSONReader.read(value)) ?? .string(value))
  }
}

/// What is wrong with a gate's text, given the names of the run's variants; nil when nothing is. Handed in, since this
/// target does not know the figures.
package typealias GateCheck = @Sendable (_ expression: String, _ variants: [String]) -> String?

package enum ScenarioFile {
  /// The largest file that is read.
  package static let largest = 16 << 20

  /// Reads a file; `-` is standard input. Relative paths inside it begin at its folder.
  package static func load(
    path: String, overrides: [Override] = [], endpoint: String? = nil, environment: [String: String],
    gateCheck: GateCheck? = nil
  ) throws(ScenarioFailure) -> LoadedScenario {
    let bytes = try FileText.read(path)
    let base = path.split(separator: "/").last.map(String.init) ?? path
    let name = base.hasSuffix(".json") ? String(base.dropLast(5)) : base
    return try load(
      text: bytes, file: path, name: name == "-" || name.isEmpty ? "run" : String(name.prefix(200)),
      folder: FileText.folder(of: path), overrides: overrides, endpoint: endpoint, environment: environment,
      gateCheck: gateCheck)
  }

  /// Reads a text that stands for a file.
  package static func load(
    text: some Sequence<UInt8>, file: String, name: String = "run", folder: String = "",
    overrides: [Override] = [],
    endpoint: String? = nil, environment: [String: String], gateCheck: GateCheck? = nil
  ) throws(ScenarioFailure) -> LoadedScenario {
    let bytes = Array(text)
    let document = try FileText.document(bytes, file: file)
    do throws(ScenarioFailure) {
      return try load(
        document: document, file: file, name: name, folder: folder, overrides: overrides, endpoint: endpoint,
        environment: environment, gateCheck: gateCheck)
    } catch {
      throw FileText.withLines(error, text: bytes, file: file)
    }
  }

  /// Checks a document that was made in memory, such as by `run --endpoint`.
  package static func load(
    document: JSONValue, file: String = "", name: String = "run", folder: String = "",
    overrides: [Override] = [],
    endpoint: String? = nil, environment: [String: String], gateCheck: GateCheck? = nil
  ) throws(ScenarioFailure) -> LoadedScenario {
    var source = ScenarioSource(
      file: file, name: name, folder: folder, variables: Variables(environment: environment),
      overrides: overrides)
    return try source.load(document, endpoint: endpoint, gateCheck: gateCheck)
  }
}

package enum MockFile {
  /// Reads a MOCK.json; `-` is standard input.
  package static func load(
    path: String, overrides: [Override] = [], environment: [String: String]
  ) throws(ScenarioFailure) -> MockSettings {
    try load(
      text: try FileText.read(path), file: path, folder: FileText.folder(of: path), overrides: overrides,
      environment: environment)
  }

  package static func load(
    text: some Sequence<UInt8>, file: String = "", folder: String = "", overrides: [Override] = [],
    environment: [String: String]
  ) throws(ScenarioFailure) -> MockSettings {
    let bytes = Array(text)
    let document = try FileText.document(bytes, file: file)
    do throws(ScenarioFailure) {
      var source = ScenarioSource(
        file: file, name: "", folder: folder, variables: Variables(environment: environment),
        overrides: overrides)
      return try source.mock(document)
    } catch {
      throw FileText.withLines(error, text: bytes, file: file)
    }
  }
}
