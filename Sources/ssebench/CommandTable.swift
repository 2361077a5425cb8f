// All commands, in the order in which the help lists them.

enum CommandTable {
  static let commands: [Command] = [
    CompareCommand.command,
    GateCommand.command,
    MergeCommand.command,
    ReportCommand.command,
    HistoryCommand.command,
    HelpCommands.manual,
    HelpCommands.completions,
  ]

  static func command(named name: String) -> Command? { commands.first { $0.name == name } }
}
