// A file's bytes, bounded: what is larger than the limit is refused without being read whole. `-` is standard input.

import Foundation

package enum BoundedFile {
  package enum Failure: Error, Equatable {
    case missing
    case folder
    /// With what the system says.
    case unreadable(String)
    case tooLarge

    /// What is wrong, without the file's name.
    package var message: String {
      switch self {
      case .missing: "there is no such file"
      case .folder: "is a folder, not a file"
      case .unreadable(let reason): "cannot be read: \(reason)"
      case .tooLarge: "is larger than allowed"
      }
    }
  }

  /// Reads a whole file of at most `limit` bytes.
  package static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    try chunks(of: path, limit: limit) {
      bytes.append(contentsOf: $0)
      return true
    }
    return bytes
  }

  /// Hands out a file's bytes in order, in pieces of at most 64 KiB, until `take` returns false.
  package static func chunks(
    of path: String, limit: Int, _ take: (UnsafeRawBufferPointer) -> Bool
  ) throws(Failure) {
    let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw failure(errno) }
    defer { if path != "-" { close(descriptor) } }

    var status = stat()
    if fstat(descriptor, &status) != 0 { throw failure(errno) }
    let type = status.st_mode & S_IFMT
    if type == S_IFDIR { throw .folder }
    if type == S_IFREG && Int(status.st_size) > limit { throw .tooLarge }

    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    defer { buffer.deallocate() }
    var total = 0
    while true {
      let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR { continue }
        throw failure(errno)
      }
      total += count
      if total > limit { throw .tooLarge }
      if !take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { return }
    }
  }

  static var currentFolder: String { FileManager.default.currentDirectoryPath }

  /// Why a file cannot be read; nil when it can.
  package static func check(_ path: String) -> Failure? {
    do throws(Failure) {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      if descriptor < 0 { throw failure(errno) }
      defer { close(descriptor) }
      var status = stat()
      if fstat(descriptor, &status) != 0 { throw failure(errno) }
      return status.st_mode & S_IFMT == S_IFDIR ? .folder : nil
    } catch {
      return error
    }
  }

  private static func failure(_ code: Int32) -> Failure {
    switch code {
    case ENOENT, ENOTDIR: .missing
    case EISDIR: .folder
    default: .unreadable(String(cString: strerror(code)))
    }
  }
}
