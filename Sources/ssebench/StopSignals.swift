// SIGTERM and SIGINT as a byte in a pipe: all that a signal handler may do.

import Foundation

enum StopSignals {
  nonisolated(unsafe) private static var descriptor: Int32 = -1

  /// From now on both signals write one byte to `descriptor` in place of ending the process.
  static func write(to descriptor: Int32) {
    Self.descriptor = descriptor
    for name in [SIGTERM, SIGINT] {
      signal(name) { _ in
        var byte: UInt8 = 1
        _ = Foundation.write(StopSignals.descriptor, &byte, 1)
      }
    }
  }
}
