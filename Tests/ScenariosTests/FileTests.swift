// Files that are no scenario end in a typed failure, whatever is in them.

import Foundation
import Primitives
import Scenarios
import Testing

@Suite struct FileTests {
  /// A folder of its own, removed at the end.
  final class Folder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("ssebench-\(UUID().uuidString)")
      .path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ name: String, _ text: String) throws -> String {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
      return "\(path)/\(name)"
    }
  }

  private func kind(_ path: String) -> ScenarioFailure.Kind? {
    do throws(ScenarioFailure) {
      _ = try ScenarioFile.load(path: path, environment: [:])
      return nil
    } catch {
      return error.kind
    }
  }

  @Test func missingFileAndFolderAreUnreadable() throws {
    let folder = try Folder()

    #expect(kind("\(folder.path)/none.json") == .unreadable)
    #expect(kind(folder.path) == .unreadable)
    #expect(kind("\(folder.path)/none.json/x") == .unreadable)
  }

  @Test func hundredMegabytesAreRefusedUnread() throws {
    let folder = try Folder()
    let path = try folder.write("large.json", "{")
    #expect(truncate(path, 100 << 20) == 0)

    #expect(kind(path) == .badData)
    #expect(kind("/dev/zero") == .badData)
  }

  @Test func textThatIsNoJSON_NamesLineAndColumn() throws {
    let refusal = try #require(failure("{\n  \"load\": 5 5\n}"))

    #expect(refusal.kind == .badData)
    #expect(refusal.description.hasPrefix("test.json:2: column 13:"))
  }

  @Test func nestingBeyond64IsRefused() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      let deep = String(repeating: open, count: 200_000) + "1" + String(repeating: close, count: 200_000)
      let endless = String(repeating: open, count: 200_000)

      #expect(failure("{\"request\": {\"body\": \(deep)}}")?.kind == .badData)
      #expect(failure(endless)?.kind == .badData)
    }
    let allowed = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
    #expect(failure(valid("\"request\": {\"body\": \(allowed)}")) == nil)
  }

  @Test(arguments: ["", "5", "[]", "null", "\"text\"", "\u{FEFF}"])
  func documentThatIsNoObjectIsRefused(_ text: String) {
    #expect(failure(text) != nil)
  }

  @Test func keyTwiceIsRefused() {
    #expect(failure(#"{"load": {"sessions": 1}, "load": {"sessions": 2}}"#)?.kind == .badData)
  }

  @Test func randomBytesNeverCrash() {
    var random = SeededRandom(seed: 11)
    let seedText = Array(
      valid(
        #""endpoint": {"mock": {"faults": [{"kind": "cut", "at": {"byte": 5}}]}}, "compare": {"seed": [1, 2]}"#
      ).utf8)
    for round in 0..<5_000 {
      var bytes =
        round % 2 == 0
        ? (0..<Int.random(in: 0..<200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        : seedText
      for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }

      _ = try? ScenarioFile.load(text: bytes, file: "x", environment: [:])
      _ = try? MockFile.load(text: bytes, environment: [:])
    }
  }

  @Test func endlessProblemsAreBounded() throws {
    let keys = (0..<100_000).map { "\"k\($0)\": 1" }.joined(separator: ",")

    let refusal = try #require(failure("{\(keys)}"))

    #expect(refusal.problems.count <= 2_000)
  }

  @Test func nameIsTheFilesName_AndPathsBeginAtItsFolder() throws {
    let folder = try Folder()
    _ = try folder.write("lengths.txt", "# tokens\n5\n7\n\n9\n")
    let path = try folder.write(
      "My load.json", valid(#""endpoint": {"mock": {"tokens": {"trace": "lengths.txt"}}}"#))

    let loaded = try ScenarioFile.load(path: path, environment: [:])

    #expect(loaded.name == "My load")
    #expect(
      loaded.variants[0].scenario.endpoint.mock?.tokens
        == .trace(file: "\(folder.path)/lengths.txt", values: [5, 7, 9]))
  }
}
