// A run's folder becomes its summary again: from `summary.json`, or, where a run was killed or the file is of another
// version, from the rows and logs that it left. What cannot be shown is said.

import Foundation
package import Analysis
internal import Primitives
internal import Recording

package struct StoredRun: Sendable {
  package let folder: String
  package let summary: Summary
  /// What is missing, damaged or of another version, in sentences.
  package let problems: [String]
  /// Whether the summary was made again from rows and logs.
  package let isRebuilt: Bool

  /// Opens a run by its folder, or by the path of its `summary.json`.
  package static func open(_ path: String) throws(ReportFileError) -> StoredRun {
    var folder = path
    while folder.count > 1 && folder.hasSuffix("/") { folder.removeLast() }
    if folder.hasSuffix("/summary.json") { folder = String(folder.dropLast("/summary.json".count)) }
    if folder == "summary.json" { folder = "." }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else {
      throw .cannotRead(path: folder, errno: ENOENT)
    }
    guard isFolder.boolValue else { throw .cannotRead(path: folder, errno: ENOTDIR) }

    var problems: [String] = []
    do throws(ReportFileError) {
      let tree = try JSONDocument.read("\(folder)/summary.json")
      if let version = tree["schema_version"]?.asInt {
        let isWhole = tree["variants"]?.asArray.map { !$0.isEmpty && $0.allSatisfy { $0["name"]?.asString != nil } } ?? false
        if version == Summary.schemaVersion, isWhole {
          return StoredRun(folder: folder, summary: Summary(tree: tree), problems: problems, isRebuilt: false)
        }
        problems.append(
          version == Summary.schemaVersion
            ? "summary.json has no variants with names. The figures are made again from the run's rows."
            : "summary.json has schema version \(version); this ssebench knows \(Summary.schemaVersion). The figures are made again from the run's rows where they can be, else shown as they stand."
        )
        if let record = try? RunRecovery.record(folder, problems: &problems) {
          return StoredRun(folder: folder, summary: Summary(record), problems: problems, isRebuilt: true)
        }
        guard isWhole else {
          throw .badData(path: "\(folder)/summary.json", problem: problems.joined(separator: " "))
        }
        return StoredRun(folder: folder, summary: Summary(tree: tree), problems: problems, isRebuilt: false)
      }
      problems.append("summary.json has no schema_version, so it is no summary of ssebench.")
    } catch {
      problems.append("\(error)")
    }
    let record = try RunRecovery.record(folder, problems: &problems)
    return StoredRun(folder: folder, summary: Summary(record), problems: problems, isRebuilt: true)
  }
}
