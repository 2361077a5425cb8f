// The flags that name a parser, for every command that has one.

import Streams

enum ParserFlags {
  static let names = ParserMode.allCases.map(\.rawValue)

  static let parser = Flag("--parser", "MODE", "How bytes become events", choices: names)

  /// The flags beside `--parser`.
  static let details = [
    Flag("--parser-variant", "NAME", "Of the eventsource modes: the library's later buffer fix", choices: ["pr49"]),
    Flag("--custom-record", "TEXT", "Of the custom mode: what ends a record (default: a line feed; \\n, \\r, \\t are known)"),
    Flag("--custom-field", "TEXT", "Of the custom mode: what stands between fields (default: |)"),
    Flag("--custom-fields", "LIST", "Of the custom mode: the fields in order (default: event,id,data)"),
    Flag("--line-limit", "BYTES", "Longest line taken (default: 16777216)"),
    Flag("--event-limit", "BYTES", "Largest event taken (default: 16777216)"),
  ]

  static func settings(_ invocation: Invocation, default usual: ParserMode = .whatwg) throws -> ParserSettings {
    let mode = invocation.value("--parser").flatMap(ParserMode.init(rawValue:)) ?? usual
    var custom = CustomFormat()
    if let text = invocation.value("--custom-record") { custom.record = unescaped(text) }
    if let text = invocation.value("--custom-field") { custom.field = unescaped(text) }
    if let text = invocation.value("--custom-fields") { custom.fields = text.split(separator: ",").map(String.init) }
    if custom.record.isEmpty { throw CommandFailure(.usage, "--custom-record: a separator cannot be empty") }
    if custom.field.isEmpty { throw CommandFailure(.usage, "--custom-field: a separator cannot be empty") }
    if custom.fields.isEmpty { throw CommandFailure(.usage, "--custom-fields: a record needs at least one field") }
    return ParserSettings(
      mode, hasBufferFix: invocation.value("--parser-variant") == "pr49", custom: custom,
      lineLimit: try invocation.integer("--line-limit", in: 1...ParserSettings.highestLimit) ?? ParserSettings.defaultLimit,
      eventLimit: try invocation.integer("--event-limit", in: 1...ParserSettings.highestLimit) ?? ParserSettings.defaultLimit)
  }

  private static func unescaped(_ text: String) -> String {
    text.replacing("\\n", with: "\n").replacing("\\r", with: "\r").replacing("\\t", with: "\t")
  }
}

extension ParserMode {
  /// Whether what comes out depends on how the bytes are cut.
  var dependsOnCuts: Bool { self == .eventsource || self == .eventsourceDataOnly }
}
