// A file becomes its lines, one at a time, in memory that does not grow with the file. A last line without its line end
// was cut short by a kill and is told apart.

import Foundation
internal import Recording

package final class LineReader {
  private let path: String
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var at = 0
  private var isOver = false
  /// Whether the file ended inside a line.
  package private(set) var endsCutShort = false
  /// A line longer than this is no line of ours; it is skipped.
  private static let longestLine = 16 << 20

  package init(_ path: String) throws(ReportFileError) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw .cannotRead(path: path, errno: errno) }
  }

  deinit { close(descriptor) }

  /// The next piece of the file as it comes; nil at its end.
  func chunk() throws(ReportFileError) -> [UInt8]? {
    var piece = [UInt8](repeating: 0, count: 128 << 10)
    while true {
      let count = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        let code = errno
        if code == EINTR { continue }
        throw .cannotRead(path: path, errno: code)
      }
      return count == 0 ? nil : Array(piece[..<count])
    }
  }

  /// The next line without its end; nil after the last whole line.
  package func line() throws(ReportFileError) -> Substring? {
    var searched = at
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) {
        let stop = end > at && buffer[end - 1] == 0x0D ? end - 1 : end
        let line = String(decoding: buffer[at..<stop], as: UTF8.self)
        at = end + 1
        return line[...]
      }
      if isOver {
        endsCutShort = at < buffer.count
        return nil
      }
      buffer.removeFirst(at)
      at = 0
      searched = buffer.count
      if buffer.count > Self.longestLine {
        buffer = []
        searched = 0
      }
      if let piece = try chunk() { buffer.append(contentsOf: piece) } else { isOver = true }
    }
  }

  /// Passes over lines without looking at them; false where the file ended.
  func skip(lines: Int) throws(ReportFileError) -> Bool {
    var left = lines
    while left > 0 {
      if let end = buffer[at...].firstIndex(of: 0x0A) {
        at = end + 1
        left -= 1
        continue
      }
      guard !isOver, let piece = try chunk() else {
        isOver = true
        return false
      }
      buffer.removeFirst(at)
      at = 0
      buffer.append(contentsOf: piece)
      if buffer.count > Self.longestLine { buffer = [] }
    }
    return true
  }

  /// The size of the file in bytes.
  var size: Int {
    var information = stat()
    return fstat(descriptor, &information) == 0 ? Int(information.st_size) : 0
  }

  /// Hands on the rest of the file in pieces as they are, up to its last line end; what comes after that was cut short.
  func copyWholeLines(_ take: (ArraySlice<UInt8>) throws(ReportFileError) -> Void) throws(ReportFileError) {
    var tail = Array(buffer[at...])
    buffer = []
    at = 0
    while true {
      if let end = tail.lastIndex(of: 0x0A) {
        try take(tail[...end])
        tail.removeFirst(end + 1)
      }
      guard let piece = isOver ? nil : try chunk() else { break }
      tail.append(contentsOf: piece)
    }
    isOver = true
    endsCutShort = !tail.isEmpty
  }

  /// The next CSV record: lines are joined while a quote is open.
  package func record() throws(ReportFileError) -> [String]? {
    guard var text = try line() else { return nil }
    var joined = 0
    while !CSV.isWhole(text.utf8), joined < 1_000 {
      guard let more = try line() else {
        endsCutShort = true
        return nil
      }
      text = Substring("\(text)\n\(more)")
      joined += 1
    }
    return CSV.fields(text.utf8)
  }
}
