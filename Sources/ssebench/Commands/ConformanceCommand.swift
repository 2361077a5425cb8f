// `ssebench conformance`: every parser mode against the vectors, cut in many ways. The standard's modes are held against the standard, the
// modes that stand for a library against what that library gave (recorded), the others against themselves, uncut; how far each is from
// the standard stands beside it.

import Foundation
import Primitives
import Streams

enum ConformanceCommand {
  static let command = Command(
    name: "conformance", summary: "Hold the parser modes against the vectors of the standard",
    examples: [
      ("ssebench conformance", "prints a matrix of features and modes, from Tests/Vectors"),
      ("ssebench conformance --parser whatwg --json", "prints each failure with its input, cut, expectation and result"),
    ],
    flags: [
      Flag("--vectors", "FILE", "The vectors, one JSON object a line (default: those of the repository)", isPath: true),
      Flag("--parser", "MODE", "A mode to test (default: all)", repeats: true, choices: ParserFlags.names),
      Flag("--json", nil, "Print one JSON document"),
    ],
    discussion: """
      Each body is parsed whole, byte by byte, cut in two at every place, and in seeded random parts; bodies over 64 KiB at 1,000 seeded
      places (fewer in the modes whose cost is quadratic). "wrong" differs from the standard uncut; "when cut" only for some cut. The
      exit code is 1 where a mode fails what it is held against.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let file = try invocation.value("--vectors") ?? defaultVectors()
    let vectors = try ConformanceVector.read(file)
    let records = try LibraryRecords.read(beside: file)
    let named = invocation.values("--parser").compactMap(ParserMode.init(rawValue:))
    let modes = named.isEmpty ? ParserMode.allCases : named
    let results = modes.map { ModeConformance($0, vectors, records) }
    if invocation.has("--json") {
      let document = JSONValue.object([
        "schema_version": .integer(1), "vectors": .integer(Int64(vectors.count)), "file": .string(file),
        "modes": .array(results.map(\.document)),
      ])
      Terminal.result(document.text() + "\n")
    } else {
      Terminal.result(table(results, vectors))
    }
    return results.allSatisfy { $0.failed == 0 } ? .success : .failed
  }

  /// In the current folder's repository, or installed beside the executable.
  private static func defaultVectors() throws -> String {
    let path = "Tests/Vectors/sse/sse-vectors.jsonl"
    var folders = [FileManager.default.currentDirectoryPath]
    var folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    for _ in 0..<4 {
      folders.append(folder.path)
      folders.append(folder.appending(path: "share/ssebench").path)
      folder = folder.deletingLastPathComponent()
    }
    for folder in folders {
      let candidate = folder + "/" + path
      if FileManager.default.fileExists(atPath: candidate) { return candidate }
    }
    throw CommandFailure(.noInput, "no vectors: \(path) is not below this folder; name a file with --vectors")
  }

  private static func table(_ results: [ModeConformance], _ vectors: [ConformanceVector]) -> String {
    var features: [String] = []
    for vector in vectors where !features.contains(vector.feature) { features.append(vector.feature) }
    let width = max(features.map(\.count).max() ?? 0, 22) + 2
    let column = (results.map(\.mode.rawValue.count).max() ?? 0) + 2
    func line(_ head: String, _ cells: [String]) -> String {
      var text = head.padded(to: width)
      for cell in cells { text += cell.padded(to: column) }
      while text.hasSuffix(" ") { text.removeLast() }
      return text + "\n"
    }
    var text = "Events as the standard wants them, passed of all, uncut and at every cut tried\n\n"
    text += line("feature", results.map(\.mode.rawValue))
    for feature in features {
      text += line(feature, results.map { "\($0.features[feature]?.passed ?? 0)/\($0.features[feature]?.of ?? 0)" })
    }
    text += line("all", results.map { "\($0.standardPassed)/\(vectors.count)" })
    text += line("wrong", results.map { String($0.standardWrong) })
    text += line("wrong only when cut", results.map { String($0.standardWrongWhenCut) })
    text += "\nHeld against what each mode stands for\n\n"
    text += line("held against", results.map(\.heldAgainst.rawValue))
    text += line("passed", results.map { "\($0.passed)/\($0.passed + $0.failed)" })
    text += line("failed", results.map { String($0.wrong) })
    text += line("failed only when cut", results.map { String($0.wrongWhenCut) })
    for result in results where !result.failures.isEmpty {
      text += "\n\(result.mode.rawValue) fails:\n"
      for failure in result.failures.prefix(20) { text += "  \(failure.id), cut \(failure.split)\n" }
      if result.failures.count > 20 { text += "  and \(result.failures.count - 20) more; --json lists them\n" }
    }
    return text
  }
}
