// Reads every import line of Sources/ and holds it against the table, so that the map of the targets cannot go stale.

import Foundation
import Testing

private let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent()

/// One import line.
struct ImportLine: CustomStringConvertible {
  var file: String
  var line: Int
  var target: String
  var module: String

  var description: String { "\(file):\(line): import \(module)" }
}

@Suite struct LayeringTests {
  @Test func everyImport_StandsInTheTable() throws {
    let lines = try importLines()

    let broken = lines.filter { line in
      guard let allowed = AllowedImports.table[line.target] else { return false }
      if PlatformModule.language.contains(line.module) || PlatformModule.c.contains(line.module) { return false }
      if PlatformModule.foundation.contains(line.module) { return !allowed.foundation }
      return !allowed.targets.contains(line.module)
    }

    #expect(lines.count > 100, "the scan found hardly any imports: has Sources/ moved?")
    for line in broken {
      Issue.record("\(line)\n  \(AllowedImports.advice(line.target, line.module)).")
    }
  }

  @Test func everySwiftTarget_StandsInTheTable() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: repository.appendingPathComponent("Sources").path)
    let swift = try folders.filter { try !swiftFiles(in: $0).isEmpty }

    #expect(Set(swift) == Set(AllowedImports.table.keys))
  }

  @Test func tableItself_HasNoCycle() {
    var order: [String] = []
    var left = AllowedImports.table.mapValues { $0.targets.intersection(AllowedImports.table.keys) }

    while let free = left.filter({ $0.value.isSubset(of: order) }).keys.sorted().first {
      order.append(free)
      left[free] = nil
    }

    #expect(left.isEmpty, "these import each other: \(left.keys.sorted())")
  }

  @Test func scanner_SeesAllFormsOfAnImport() {
    let text = """
      // import Comment
      import Plain
      package import Package
      internal import Internal // why
      @preconcurrency import Attribute
      @_exported public import struct Kind.Name
        import Indented
      let text = "import Text"
      """

    let modules = modules(of: text).map(\.module)

    #expect(modules == ["Plain", "Package", "Internal", "Attribute", "Kind", "Indented"])
  }

  // MARK: Reading

  private func swiftFiles(in target: String) throws -> [String] {
    let folder = repository.appendingPathComponent("Sources/\(target)").path
    let names = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
    return names.filter { $0.hasSuffix(".swift") }.sorted()
  }

  private func importLines() throws -> [ImportLine] {
    var lines: [ImportLine] = []
    for target in AllowedImports.table.keys.sorted() {
      for name in try swiftFiles(in: target) {
        let file = "Sources/\(target)/\(name)"
        let text = try String(contentsOf: repository.appendingPathComponent(file), encoding: .utf8)
        lines += modules(of: text).map { ImportLine(file: file, line: $0.line, target: target, module: $0.module) }
      }
    }
    return lines
  }

  private func modules(of text: String) -> [(line: Int, module: String)] {
    let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
    let levels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
      var words = line.split(separator: " ")[...]
      while let word = words.first, levels.contains(word) || word.hasPrefix("@") { words = words.dropFirst() }
      guard words.first == "import" else { return nil }
      words = words.dropFirst()
      if let word = words.first, kinds.contains(word) { words = words.dropFirst() }
      guard let path = words.first else { return nil }
      return (index + 1, String(path.prefix { $0 != "." }))
    }
  }
}
