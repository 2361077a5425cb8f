// A file's bytes and its JSON, with the failures that come before any key is looked at.

import Primitives

enum FileText {
  static func read(_ path: String) throws(ScenarioFailure) -> [UInt8] {
    do throws(BoundedFile.Failure) {
      return try BoundedFile.read(path, limit: ScenarioFile.largest)
    } catch {
      let expected =
        error == .tooLarge ? "at most \(Units.sizeText(ScenarioFile.largest))" : "a readable file"
      throw ScenarioFailure(
        error == .tooLarge ? .badData : .unreadable, [problem(path, error.message, expected)])
    }
  }

  static func folder(of path: String) -> String {
    guard path != "-", let slash = path.lastIndex(of: "/") else { return "" }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  static func document(_ bytes: [UInt8], file: String) throws(ScenarioFailure) -> JSONValue {
    if bytes.count > ScenarioFile.largest {
      throw ScenarioFailure(
        .badData, [problem(file, "is larger than allowed", "at most \(Units.sizeText(ScenarioFile.largest))")]
      )
    }
    do throws(JSONSyntaxError) {
      return try JSONReader.read(bytes, extended: true)
    } catch {
      var problem = problem(
        file, "column \(error.column): \(error.message)",
        error.isTooDeep
          ? "at most \(JSONReader.maximumDepth) levels" : "JSON; comments and trailing commas are allowed")
      problem.line = error.line
      throw ScenarioFailure(.badData, [problem])
    }
  }

  /// The problems with the lines on which their keys stand.
  static func withLines(_ failure: ScenarioFailure, text: [UInt8], file: String) -> ScenarioFailure {
    let lines = KeyLines(text)
    var failure = failure
    for index in failure.problems.indices where failure.problems[index].file == file {
      failure.problems[index].line = lines.line(of: failure.problems[index].keyPath)
    }
    failure.problems = failure.problems.enumerated().sorted {
      ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset)
    }.map(\.element)
    return failure
  }

  private static func problem(_ file: String, _ found: String, _ expected: String) -> ScenarioProblem {
    ScenarioProblem(file: file, "", found, expected: expected)
  }
}
