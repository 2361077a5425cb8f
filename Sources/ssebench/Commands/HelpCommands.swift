// `ssebench man` and `ssebench completions SHELL`: what `make install` puts in place.

enum HelpCommands {
  static let manual = Command(
    name: "man", summary: "Print the manual page",
    examples: [("ssebench man > ssebench.1", "writes the manual page in roff")],
    run: { _ in
      Terminal.result(HelpText.manualPage())
      return .success
    })

  static let completions = Command(
    name: "completions", summary: "Print a shell's completion script",
    examples: [("ssebench completions bash > /etc/bash_completion.d/ssebench", "installs the completions for bash")],
    operands: "bash|zsh|fish", operandCount: 1...1,
    run: { invocation in
      let shell = invocation.operands[0]
      guard ["bash", "zsh", "fish"].contains(shell) else {
        throw CommandFailure(.usage, "completions: '\(shell)' is not a shell we know; expected bash, zsh or fish")
      }
      Terminal.result(HelpText.completions(for: shell))
      return .success
    })
}
