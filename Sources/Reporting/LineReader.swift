// A file becomes its lines, one at a time, in memory that does not grow with the file. A last line without its line end
// was cut short by a kill and is told apart.

import Foundation
internal import Recording

package final class LineReader {
  private let path: String
  private let descriptor: Int32
  private var bytes: UnsafeMutablePointer<UInt8>
  private var capacity = 128 << 10
  /// What is read and not yet handed on.
  private var at = 0
  private var end = 0
  private var isOver = false
  /// Whether the file ended inside a line.
  package private(set) var endsCutShort = false
  /// A line longer than this is no line of ours; it is skipped.
  private static let longestLine = 16 << 20

  package init(_ path: String) throws(ReportFileError) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw .cannotRead(path: path, errno: errno) }
    bytes = .allocate(capacity: capacity)
  }

  deinit {
    close(descriptor)
    bytes.deallocate()
  }

  /// The next piece of the file as it comes; nil at its end.
  func chunk() throws(ReportFileError) -> [UInt8]? {
    if at == end, try !fill() { return nil }
    defer { at = end }
    return Array(UnsafeBufferPointer(start: bytes + at, count: end - at))
  }

  /// Reads more behind what is there; false at the end of the file.
  private func fill() throws(ReportFileError) -> Bool {
    if isOver { return false }
    if at > 0 {
      memmove(bytes, bytes + at, end - at)
      end -= at
      at = 0
    }
    if end == capacity {
      if capacity >= Self.longestLine { end = 0 } else { grow() }
    }
    while true {
      let count = read(descriptor, bytes + end, capacity - end)
      if count > 0 {
        end += count
        return true
      }
      let code = errno
      if count < 0 && code == EINTR { continue }
      if count < 0 { throw .cannotRead(path: path, errno: code) }
      isOver = true
      return false
    }
  }

  private func grow() {
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity * 2)
    larger.update(from: bytes, count: end)
    bytes.deallocate()
    bytes = larger
    capacity *= 2
  }

  /// The next line's bytes without its end, valid until the next call; nil after the last whole line.
  func lineBytes() throws(ReportFileError) -> UnsafeBufferPointer<UInt8>? {
    var searched = 0
    while true {
      if let found = memchr(bytes + at + searched, 0x0A, end - at - searched) {
        let length = found.assumingMemoryBound(to: UInt8.self) - (bytes + at)
        let line = bytes + at
        at += length + 1
        let isCRLF = length > 0 && line[length - 1] == 0x0D
        return UnsafeBufferPointer(start: line, count: isCRLF ? length - 1 : length)
      }
      searched = end - at
      if try !fill() {
        endsCutShort = at < end
        return nil
      }
      // What was too long to be a line is gone.
      if end - at < searched { searched = 0 }
    }
  }

  /// The next line without its end; nil after the last whole line.
  package func line() throws(ReportFileError) -> Substring? {
    try lineBytes().map { String(decoding: $0, as: UTF8.self)[...] }
  }

  /// Passes over lines without looking at them; false where the file ended.
  func skip(lines: Int) throws(ReportFileError) -> Bool {
    for _ in 0..<lines { if try lineBytes() == nil { return false } }
    return true
  }

  /// The size of the file in bytes.
  var size: Int {
    var information = stat()
    return fstat(descriptor, &information) == 0 ? Int(information.st_size) : 0
  }

  /// Hands on the rest of the file in pieces as they are, up to its last line end; what comes after that was cut short.
  func wholeLines(_ take: (UnsafeBufferPointer<UInt8>) throws(ReportFileError) -> Void) throws(ReportFileError) {
    var more = true
    while more {
      var length = end - at
      while length > 0, bytes[at + length - 1] != 0x0A { length -= 1 }
      if length > 0 {
        try take(UnsafeBufferPointer(start: bytes + at, count: length))
        at += length
      }
      more = try fill()
    }
    endsCutShort = at < end
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
