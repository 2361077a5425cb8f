// A file or standard input as reads of bounded size, cut as a flag says. Knows nothing of what is in it.

import Foundation
import Primitives
import Streams

/// How a body is cut into reads.
enum Split {
  /// In one read where that matters and the body is at most 64 MiB; else in reads of 256 KiB.
  case whole
  case bytes(Int)
  case random(seed: UInt64)

  /// `whole`, `bytes`, a number, or `random:SEED`.
  init(_ text: String) throws {
    switch text {
    case "whole": self = .whole
    case "bytes": self = .bytes(1)
    default:
      if let size = Int(text), size >= 1, size <= Self.largest {
        self = .bytes(size)
      } else if text.hasPrefix("random:"), let seed = UInt64(text.dropFirst(7)) {
        self = .random(seed: seed)
      } else {
        throw CommandFailure(
          .usage, "--split: '\(text)' is no way to cut; expected whole, bytes, a size from 1 to \(Self.largest), or random:SEED")
      }
    }
  }

  static let largest = 64 << 20
}

/// An open file, or standard input.
struct InputBytes: ~Copyable {
  private let descriptor: Int32
  private let name: String

  /// `-` is standard input.
  init(_ name: String) throws {
    self.name = name
    if name == "-" {
      descriptor = 0
      return
    }
    descriptor = open(name, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw CommandFailure(.noInput, "\(name): \(String(cString: strerror(errno)))") }
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      close(descriptor)
      throw CommandFailure(.noInput, "\(name): is a directory; give a file, or - for standard input")
    }
  }

  deinit { if descriptor != 0 { close(descriptor) } }

  /// Fills `buffer` as far as the input goes; the count is less only at its end.
  private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var count = 0
    while count < buffer.count {
      let got = read(descriptor, buffer.baseAddress! + count, buffer.count - count)
      if got < 0 {
        if errno == EINTR { continue }
        throw CommandFailure(.noInput, "\(name): \(String(cString: strerror(errno)))")
      }
      if got == 0 { break }
      count += got
    }
    return count
  }

  /// Calls `body` with each read.
  func forEachRead(_ split: Split, wholeMatters: Bool, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let size =
      switch split {
      case .whole: wholeMatters ? Split.largest : 1 << 18
      case .bytes(let size): max(size, (1 << 16) / size * size)
      case .random: 1 << 16
      }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
    defer { buffer.deallocate() }
    var random: SeededRandom?
    if case .random(let seed) = split { random = SeededRandom(seed: seed, purpose: "split") }
    while true {
      let count = try fill(buffer)
      var at = 0
      while at < count {
        var length = count
        if case .bytes(let size) = split { length = size }
        if random != nil { length = 1 + Int(random!.next() >> (64 - (random!.next() % 13))) }
        let end = min(count, at + length)
        try body(UnsafeRawBufferPointer(rebasing: buffer[at..<end]))
        at = end
      }
      if count < size { return }
    }
  }
}

/// Results on their way to stdout, written in pieces of 64 KiB.
struct ResultWriter: ~Copyable {
  private var buffer: [UInt8] = []
  /// The errno of a write that failed; nothing is written after it.
  private(set) var failure: Int32?

  mutating func write(_ text: String) {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= 1 << 16 { flush() }
  }

  /// A JSON string of bytes that may not be UTF-8; bad parts become U+FFFD.
  mutating func writeJSON(_ bytes: UnsafeRawBufferPointer) {
    JSONText.write(bytes, to: &buffer)
    if buffer.count >= 1 << 16 { flush() }
  }

  mutating func flush() {
    var at = 0
    while at < buffer.count, failure == nil {
      let count = buffer[at...].withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        failure = errno
        break
      }
      at += count
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Ends a command: a reader that has gone away is no fault.
  mutating func finish() throws {
    flush()
    if let failure, failure != EPIPE {
      throw CommandFailure(.ioError, "stdout: \(String(cString: strerror(failure)))")
    }
  }
}
