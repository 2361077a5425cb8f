// The entry: words in, exit code out. Finds the command, prints help, and turns failures into one line on stderr.

import Foundation

@main
struct SSEBench {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    // A parent may have blocked signals in the thread that started us; Ctrl-C must work all the same.
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    // A file size limit then shows as EFBIG where the file is written.
    signal(SIGXFSZ, SIG_IGN)
    exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
  }

  /// One invocation; what `main` does but for ending the process.
  static func run(_ words: [String]) -> ExitCode {
    guard let name = words.first else {
      Terminal.note(HelpText.overview())
      return .usage
    }
    switch name {
    case "--help", "-h", "help":
      if words.count > 1, let command = CommandTable.command(named: words[1]) {
        Terminal.result(HelpText.help(command))
      } else {
        Terminal.result(HelpText.overview())
      }
      return .success
    case "--version":
      Terminal.result("ssebench \(Version.number) (\(Version.build))\n")
      return .success
    default: break
    }
    guard let command = CommandTable.command(named: name) else {
      Terminal.note(
        "ssebench: unknown command '\(name)'"
          + suggestion(name, from: CommandTable.commands.map(\.name)) + "\nRun 'ssebench --help' for the list.")
      return .usage
    }
    do {
      let invocation = try Invocation.parse(Array(words.dropFirst()), for: command)
      if invocation.has("--help") {
        Terminal.result(HelpText.help(command))
        return .success
      }
      return try command.run(invocation)
    } catch let failure as CommandFailure {
      Terminal.note("ssebench: \(failure.message)")
      if failure.code == .usage { Terminal.note("Run 'ssebench \(command.name) --help' for the flags.") }
      return failure.code
    } catch {
      Terminal.note("ssebench: \(error)")
      return .software
    }
  }
}
