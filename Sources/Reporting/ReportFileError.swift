// What can go wrong with the files of a report, each with its place and a fix.

import Foundation

package enum ReportFileError: Error, Equatable, Sendable {
  /// A folder that exists is never written into.
  case exists(path: String)
  case cannotCreate(path: String, errno: Int32)
  /// While running: disk full, file size limit, quota, a broken mount.
  case cannotWrite(path: String, errno: Int32)
  case cannotRead(path: String, errno: Int32)
  /// A file that is not what it should be: not JSON, another schema version.
  case badData(path: String, problem: String)

  /// 73, 74, 66 or 65: CONTRACT, section 1.
  package var exitStatus: Int32 {
    switch self {
    case .exists, .cannotCreate: 73
    case .cannotWrite: 74
    case .cannotRead: 66
    case .badData: 65
    }
  }
}

extension ReportFileError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .exists(let path):
      "\(path) exists already and is never written into. Choose another with --out, or remove it."
    case .cannotCreate(let path, let code):
      "\(path) cannot be created: \(Self.text(code)). Choose another place with --out."
    case .cannotWrite(let path, let code):
      "\(path) cannot be written: \(Self.text(code)). What was written so far is kept; free space or choose another place with --out."
    case .cannotRead(let path, let code):
      "\(path) cannot be read: \(Self.text(code))."
    case .badData(let path, let problem):
      "\(path): \(problem)"
    }
  }

  private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
