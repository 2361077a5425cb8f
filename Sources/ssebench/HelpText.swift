// A command's table entry becomes the text of `--help`, the man page (roff) and the completions of three shells.

enum HelpText {
  /// `ssebench --help`.
  static func overview() -> String {
    var text = """
      Example:
        ssebench run Scenarios/quickstart.json     200 live token streams on the built-in mock, and a report

      ssebench measures streaming endpoints: server-sent events and LLM token streams.

      Usage: ssebench COMMAND [OPERANDS] [FLAGS]

      Commands:

      """
    let width = (CommandTable.commands.map(\.name.count).max() ?? 0) + 2
    for command in CommandTable.commands {
      text += "  \(command.name.padded(to: width))\(command.summary)\n"
    }
    text += "\n`ssebench COMMAND --help` says more. `ssebench --version` prints version and build mode.\n"
    return text
  }

  /// `ssebench COMMAND --help`: an example first.
  static func help(_ command: Command) -> String {
    var text = command.examples.count == 1 ? "Example:\n" : "Examples:\n"
    for example in command.examples {
      text += "  \(example.line)\n      \(example.does)\n"
    }
    text += "\n\(command.summary).\n\nUsage: ssebench \(command.name)"
    if !command.operands.isEmpty { text += " \(command.operands)" }
    text += " [FLAGS]\n\nFlags:\n"
    let flags = command.flags + Invocation.globalFlags
    let width = min(34, (flags.map { form($0).count }.max() ?? 0) + 2)
    for flag in flags {
      let left = form(flag)
      var help = flag.help
      if !flag.choices.isEmpty { help += ": \(flag.choices.joined(separator: ", "))" }
      if flag.repeats { help += " (repeatable)" }
      text += left.count < width - 1 ? "  \(left.padded(to: width))\(help)\n" : "  \(left)\n  \("".padded(to: width))\(help)\n"
    }
    if !command.discussion.isEmpty { text += "\n\(command.discussion)\n" }
    return text
  }

  private static func form(_ flag: Flag) -> String {
    let short = flag.short.map { "\($0), " } ?? ""
    return "\(short)\(flag.name)\(flag.value.map { " \($0)" } ?? "")"
  }

  /// The manual page, section 1, in roff.
  static func manualPage() -> String {
    func roff(_ text: String) -> String {
      text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        let escaped = line.map { $0 == "\\" ? "\\e" : $0 == "-" ? "\\-" : String($0) }.joined()
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
      }.joined(separator: "\n")
    }
    var page = """
      .TH SSEBENCH 1 "" "ssebench \(Version.number)" "User Commands"
      .SH NAME
      ssebench \\- load tests and benchmarks for server\\-sent events and LLM token streams
      .SH SYNOPSIS
      .B ssebench
      .I COMMAND
      [OPERANDS] [FLAGS]
      .SH COMMANDS

      """
    for command in CommandTable.commands {
      page += ".SS ssebench \(roff(command.name)) \(roff(command.operands))\n\(roff(command.summary)).\n.PP\n.nf\n"
      for example in command.examples { page += "\(roff(example.line))\n    \(roff(example.does))\n" }
      page += ".fi\n"
      for flag in command.flags {
        page += ".TP\n.B \(roff(form(flag)))\n\(roff(flag.help))\n"
      }
      if !command.discussion.isEmpty { page += ".PP\n.nf\n\(roff(command.discussion))\n.fi\n" }
    }
    page += ".SH EXIT STATUS\n.nf\n\(roff(exitCodes))\n.fi\n"
    return page
  }

  static let exitCodes = """
    0    done, and every gate held
    1    done, but a gate failed, a regression was found, or no session completed
    3    done, but the measurement is not to be trusted, or two runs cannot be compared
    64   the command line is wrong
    65   bad data in a file
    66   an input is missing or unreadable
    69   no session could connect
    70   a fault of ssebench
    73   an output cannot be created, or exists
    74   an I/O error while running
    78   an invalid scenario or gates, or an unset ${NAME}
    130  interrupted; what was measured so far is reported
    """

  /// A completion script for `bash`, `zsh` or `fish`.
  static func completions(for shell: String) -> String {
    switch shell {
    case "bash": bashCompletions()
    case "zsh": zshCompletions()
    default: fishCompletions()
    }
  }

  private static func bashCompletions() -> String {
    var cases = ""
    for command in CommandTable.commands {
      let flags = (command.flags + Invocation.globalFlags).map(\.name).joined(separator: " ")
      cases += "    \(command.name)) flags=\"\(flags)\" ;;\n"
    }
    var choices = ""
    var seen: Set<String> = []
    for command in CommandTable.commands {
      for flag in command.flags where !flag.choices.isEmpty && seen.insert("\(command.name) \(flag.name)").inserted {
        choices += "    \"\(command.name) \(flag.name)\") COMPREPLY=($(compgen -W \"\(flag.choices.joined(separator: " "))\" -- \"$word\")); return ;;\n"
      }
    }
    return """
      # bash completion for ssebench
      _ssebench() {
        local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}" flags=""
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(CommandTable.commands.map(\.name).joined(separator: " ")) --help --version" -- "$word"))
          return
        fi
        case "$command $before" in
      \(choices)  esac
        case "$command" in
      \(cases)  esac
        case "$word" in
          -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
          *) COMPREPLY=($(compgen -f -- "$word")) ;;
        esac
      }
      complete -o filenames -F _ssebench ssebench

      """
  }

  private static func zshCompletions() -> String {
    func quoted(_ text: String) -> String {
      text.replacing("'", with: "'\\''").replacing("[", with: "\\[").replacing("]", with: "\\]").replacing(":", with: "\\:")
    }
    var text = "#compdef ssebench\n_ssebench() {\n  if (( CURRENT == 2 )); then\n    local -a commands=(\n"
    for command in CommandTable.commands { text += "      '\(command.name):\(quoted(command.summary))'\n" }
    text += "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n"
    for command in CommandTable.commands {
      text += "    \(command.name)) _arguments '2:command:'"
      for flag in command.flags + Invocation.globalFlags {
        let repeats = flag.repeats ? "*" : ""
        let action = !flag.choices.isEmpty ? "(\(flag.choices.joined(separator: " ")))" : flag.isPath ? "_files" : ""
        let value = flag.value.map { ":\(quoted($0)):\(action)" } ?? ""
        text += " \\\n      '\(repeats)\(flag.name)[\(quoted(flag.help))]\(value)'"
      }
      text += " \\\n      '*:file:_files' ;;\n"
    }
    return text + "  esac\n}\ncompdef _ssebench ssebench\n"
  }

  private static func fishCompletions() -> String {
    func quoted(_ text: String) -> String { text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") }
    var text = "# fish completion for ssebench\n"
    for command in CommandTable.commands {
      text += "complete -c ssebench -n __fish_use_subcommand -a \(command.name) -d '\(quoted(command.summary))'\n"
      for flag in command.flags + Invocation.globalFlags {
        text += "complete -c ssebench -n '__fish_seen_subcommand_from \(command.name)' -l \(flag.name.dropFirst(2)) -d '\(quoted(flag.help))'"
        if flag.value != nil { text += flag.isPath ? " -r" : " -x" }
        if !flag.choices.isEmpty { text += " -a '\(flag.choices.joined(separator: " "))'" }
        text += "\n"
      }
    }
    return text
  }
}

extension String {
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
