// A folder for one test, gone with its last reference.

import Foundation

package final class TemporaryFolder: Sendable {
  private let root: String

  package init() throws {
    root = NSTemporaryDirectory() + "/ssebench-tests-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  /// A path inside it; the folder itself for the empty name.
  package func path(_ name: String) -> String { name.isEmpty ? root : root + "/" + name }

  /// Writes a file and gives its name back.
  @discardableResult package func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    return name
  }

  package func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path(name))), as: UTF8.self)
  }

  package func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  /// The names of all files below `name`, relative to it.
  package func files(under name: String) -> [String] {
    (FileManager.default.enumerator(atPath: path(name))?.allObjects as? [String] ?? []).sorted()
  }
}
