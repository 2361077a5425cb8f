// All commands, in the order in which the help lists them.

enum CommandTable {
  static let commands: [Command] = [
    RunCommand.command,
    InitCommand.command,
    ValidateCommand.command,
    PlanCommand.command,
    MockCommand.command,
    ParseCommand.command,
    ExtractCommand.command,
    ListenCommand.command,
    RecordCommand.command,
    TimelineCommand.command,
    ConformanceCommand.command,
    BenchCommand.command,
    CompareCommand.command,
    GateCommand.command,
    MergeCommand.command,
    ReportCommand.command,
    HistoryCommand.command,
    DoctorCommand.command,
    SelfTestCommand.command,
    SchemaCommand.command,
    HelpCommands.manual,
    HelpCommands.completions,
  ]

  static func command(named name: String) -> Command? { commands.first { $0.name == name } }
}
