// What a person sees: stdout for results, stderr for everything else. Colour and live lines only on a terminal and
// never with NO_COLOR.

import Foundation

enum Terminal {
  /// Writes a result to stdout, whole.
  static func result(_ text: String) {
    write(text, to: 1)
  }

  /// Writes a line to stderr.
  static func note(_ text: String) {
    write(text + "\n", to: 2)
  }

  static var errorIsTerminal: Bool { isatty(2) == 1 }

  static var usesColour: Bool {
    errorIsTerminal && ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        return
      }
      bytes = bytes.dropFirst(count)
    }
  }
}
