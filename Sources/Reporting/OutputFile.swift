// Bytes become a file: buffered, appended as they come, whole lines at a time. An error is thrown once; after it the
// file takes nothing more, so that a full disk ends a run without a storm of errors. SIGXFSZ must be ignored by main.

import Foundation

package final class OutputFile {
  package let path: String
  private var descriptor: Int32
  /// Given back with each flush: what stayed would stand in the memory figures.
  private var buffer: [UInt8] = []
  private var hasFailed = false
  /// Written out when the buffer reaches this, or by `flush`.
  private static let bufferSize = 256 << 10

  /// Creates a file that must not exist yet.
  package init(creating path: String) throws(ReportFileError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    if descriptor < 0 {
      let code = errno
      throw code == EEXIST ? .exists(path: path) : .cannotCreate(path: path, errno: code)
    }
  }

  /// Opens a file or device that is there, for appending.
  package init(appending path: String) throws(ReportFileError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
    if descriptor < 0 { throw .cannotCreate(path: path, errno: errno) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  package func append(_ text: String) throws(ReportFileError) {
    if hasFailed { return }
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  func append(bytes: UnsafeBufferPointer<UInt8>) throws(ReportFileError) {
    if hasFailed { return }
    buffer.append(contentsOf: bytes)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  package func flush() throws(ReportFileError) {
    if hasFailed || buffer.isEmpty { return }
    var at = 0
    while at < buffer.count {
      let written = buffer.withUnsafeBytes { write(descriptor, $0.baseAddress! + at, $0.count - at) }
      if written < 0 {
        let code = errno
        if code == EINTR { continue }
        hasFailed = true
        buffer = []
        throw .cannotWrite(path: path, errno: code)
      }
      at += written
    }
    buffer = []
  }

  /// Flushes and closes. Errors of `close` count: network file systems report a full disk there.
  package func finish() throws(ReportFileError) {
    try flush()
    let result = close(descriptor)
    let code = errno
    descriptor = -1
    if result != 0 && !hasFailed { throw .cannotWrite(path: path, errno: code) }
  }

  /// Writes a whole file, in place of one that is there: first beside it, then moved over it, so that a reader or a kill
  /// sees the old or the new one.
  package static func replace(_ text: String, to path: String) throws(ReportFileError) {
    let temporary = "\(path).\(getpid()).part"
    unlink(temporary)
    let file = try OutputFile(creating: temporary)
    do {
      try file.append(text)
      try file.finish()
    } catch {
      unlink(temporary)
      if case .cannotWrite(_, let code) = error { throw .cannotWrite(path: path, errno: code) }
      throw error
    }
    if rename(temporary, path) != 0 {
      let code = errno
      unlink(temporary)
      throw .cannotWrite(path: path, errno: code)
    }
  }

  /// Adds to the end of a file, which is made where it is not there.
  package static func append(_ text: String, to path: String) throws(ReportFileError) {
    let made = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    if made < 0 { throw .cannotCreate(path: path, errno: errno) }
    close(made)
    let file = try OutputFile(appending: path)
    try file.append(text)
    try file.finish()
  }

  /// A whole file of at most `limit` bytes.
  package static func contents(_ path: String, limit: Int = 1 << 30) throws(ReportFileError) -> [UInt8] {
    let reader = try LineReader(path)
    var bytes: [UInt8] = []
    while let chunk = try reader.chunk() {
      bytes.append(contentsOf: chunk)
      if bytes.count > limit { throw .badData(path: path, problem: "larger than \(limit) bytes") }
    }
    return bytes
  }
}
