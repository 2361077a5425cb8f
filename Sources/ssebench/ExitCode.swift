// What the process tells its caller; CONTRACT section 1 of the manual lists the same values.

/// The exit status of a command.
enum ExitCode: Int32, Sendable {
  /// Done, and every gate held.
  case success = 0
  /// Done, but a gate failed, a regression was found, or no session completed.
  case failed = 1
  /// Done, but the measurement is not to be trusted, or two runs cannot be compared.
  case invalid = 3
  /// The command line is wrong.
  case usage = 64
  /// Bad data in a file: not JSON, over 16 MiB, nested deeper than 64.
  case data = 65
  /// An input is missing or cannot be read.
  case noInput = 66
  /// No session could connect.
  case unavailable = 69
  /// A fault of ours.
  case software = 70
  /// An output cannot be created, or exists already.
  case cannotCreate = 73
  /// An I/O error while running.
  case ioError = 74
  /// An invalid scenario or gates file, or an unset `${NAME}`.
  case configuration = 78
  /// Interrupted; what was measured so far is reported.
  case interrupted = 130

  /// Of several scenarios the worst counts, in this order.
  static func worst(_ codes: [ExitCode]) -> ExitCode {
    let order: [ExitCode] = [.interrupted, .ioError, .invalid, .unavailable, .failed]
    for code in order where codes.contains(code) { return code }
    return codes.first { $0 != .success } ?? .success
  }
}

/// A command that ends without a result: the sentence for stderr and the exit code.
struct CommandFailure: Error {
  var code: ExitCode
  /// Where, what, and what to do.
  var message: String

  init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }
}
