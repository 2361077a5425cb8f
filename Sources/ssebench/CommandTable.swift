// All commands, in the order in which the help lists them.

enum CommandTable {
  static let commands: [Command] = [
    MockCommand.command,
    TimelineCommand.command,
    HelpCommands.manual,
    HelpCommands.completions,
    DevCommand.command,
  ]

  static func command(named name: String) -> Command? { commands.first { $0.name == name } }
}
