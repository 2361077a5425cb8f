// What is left to do where Foundation ends the process: on Linux its URLSession stops the whole program at some answers that are legal
// or merely cut (a trailer after the last chunk, a head that breaks off), and nothing can hold it. The program then becomes
// `ssebench report` over the run's own folder, so that what has been measured is not lost and the cause is said.

import Foundation

#if os(Linux)
enum FoundationFault {
  /// Read by the handler alone, so that it allocates nothing.
  nonisolated(unsafe) private static var program: UnsafeMutablePointer<CChar>?
  nonisolated(unsafe) private static var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  private static let message: StaticString = """
    ssebench: the fatal error above has ended the process. Foundation's URLSession on Linux ends it so at a trailer after the last chunk
    and at a head that is cut; the stacks curl and raw take such answers. What was measured until then follows.

    """

  /// Set for the program that takes over, so that it ends with 70 for the run.
  private static let mark = "SSEBENCH_ENDED_BY_FOUNDATION"
  static var isOver: Bool { getenv(mark) != nil }

  /// From now on, until the process ends.
  static func watch(folder: String) {
    guard arguments == nil, let own = CommandLine.arguments.first else { return }
    let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? own
    program = strdup(path)
    let words = [own, "report", folder]
    let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count + 1)
    for (index, word) in words.enumerated() { list[index] = strdup(word) }
    list[words.count] = nil
    arguments = list
    _ = message.utf8Start
    setenv(mark, "1", 1)
    for name in [SIGILL, SIGTRAP] {
      signal(name) { _ in
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
        signal(SIGILL, SIG_DFL)
        signal(SIGTRAP, SIG_DFL)
        _ = write(2, FoundationFault.message.utf8Start, FoundationFault.message.utf8CodeUnitCount)
        if let program = FoundationFault.program, let arguments = FoundationFault.arguments { execv(program, arguments) }
        _exit(70)
      }
    }
  }
}
#else
enum FoundationFault {
  static var isOver: Bool { false }
  static func watch(folder: String) {}
}
#endif
