// SIGINT and SIGTERM become a count that the run looks at: the first ends it in order, the second at once.

import Foundation
import Synchronization

enum Interrupts {
  private static let count = Atomic<Int>(0)

  /// How many there have been since `watch`.
  static var seen: Int { count.load(ordering: .relaxed) }

  static func watch() {
    count.store(0, ordering: .relaxed)
    for name in [SIGINT, SIGTERM] {
      signal(name) { _ in
        // The second one does not wait for anything; 130 is what a shell says of SIGINT.
        if Interrupts.count.wrappingAdd(1, ordering: .relaxed).newValue > 1 { _exit(130) }
      }
    }
    // A file over RLIMIT_FSIZE is an error of `write`, not the end of the process.
    signal(SIGXFSZ, SIG_IGN)
  }
}
