// One command as data: from this table come parsing, --help, the man page and the shell completions. Plain on purpose,
// so that an argument-parsing library could take its place.

import Primitives

/// A flag of a command.
struct Flag: Sendable {
  /// With its dashes, as typed: `--out`.
  var name: String
  /// A one-letter form, `-H`, where it is customary.
  var short: String?
  /// The name of its value in the help, `DIR`; nil for a switch.
  var value: String?
  /// What it does, in one sentence without a full stop.
  var help: String
  /// Whether it may stand several times.
  var repeats = false
  /// The only values allowed, where the list is closed; completions offer them.
  var choices: [String] = []
  /// Whether the value is a file or folder, for completions.
  var isPath = false
  /// Whether it takes every word up to the next flag: `--baseline RUN…`.
  var takesMany = false

  init(
    _ name: String, short: String? = nil, _ value: String? = nil, _ help: String, repeats: Bool = false,
    choices: [String] = [], isPath: Bool = false, takesMany: Bool = false
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.help = help
    self.repeats = repeats
    self.choices = choices
    self.isPath = isPath
    self.takesMany = takesMany
  }
}

/// A command: its words, its help and what runs it.
struct Command: Sendable {
  var name: String
  /// One line for the list of commands.
  var summary: String
  /// A command line to copy, and what it does; stands first in `--help`.
  var examples: [(line: String, does: String)]
  /// The positional part of the usage line, `SCENARIO.json…`; empty where there is none.
  var operands: String = ""
  /// How many operands are allowed.
  var operandCount: ClosedRange<Int> = 0...0
  var flags: [Flag] = []
  /// More for the help text: formats, meanings, exit codes.
  var discussion: String = ""
  var run: @Sendable (Invocation) throws -> ExitCode
}

/// What was typed, checked against the command's flags.
struct Invocation: Sendable {
  var operands: [String] = []
  private var given: [String: [String]] = [:]

  func has(_ flag: String) -> Bool { given[flag] != nil }
  func value(_ flag: String) -> String? { given[flag]?.last }
  func values(_ flag: String) -> [String] { given[flag] ?? [] }

  /// The value of a flag as a whole number within `range`; a usage error says which flag and what was found.
  func integer(_ flag: String, in range: ClosedRange<Int> = 0...Int.max) throws -> Int? {
    guard let text = value(flag) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      let limits = range.upperBound == Int.max ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
      throw CommandFailure(.usage, "\(flag): '\(text)' is not a whole number; expected \(limits)")
    }
    return number
  }

  /// Reads `words` by the command's table.
  static func parse(_ words: [String], for command: Command) throws -> Invocation {
    var invocation = Invocation()
    var index = 0
    var flagsOver = false
    let flags = command.flags + globalFlags
    while index < words.count {
      let word = words[index]
      index += 1
      if flagsOver || word == "-" || !word.hasPrefix("-") {
        invocation.operands.append(word)
        continue
      }
      if word == "--" {
        flagsOver = true
        continue
      }
      var name = word
      var attached: String?
      if word.hasPrefix("--"), let equals = word.firstIndex(of: "=") {
        name = String(word[..<equals])
        attached = String(word[word.index(after: equals)...])
      }
      guard let flag = flags.first(where: { $0.name == name || $0.short == name }) else {
        throw CommandFailure(
          .usage, "\(command.name): unknown flag '\(name)'\(suggestion(name, from: flags.map(\.name)))")
      }
      if invocation.has(flag.name) && !flag.repeats {
        throw CommandFailure(.usage, "\(flag.name) stands twice; once is enough")
      }
      if flag.value == nil {
        if attached != nil { throw CommandFailure(.usage, "\(flag.name) takes no value") }
        invocation.given[flag.name, default: []].append("")
      } else {
        guard let value = attached ?? (index < words.count ? words[index] : nil) else {
          throw CommandFailure(.usage, "\(flag.name) needs a value: \(flag.name) \(flag.value ?? "")")
        }
        if attached == nil { index += 1 }
        if !flag.choices.isEmpty && !flag.choices.contains(value) {
          throw CommandFailure(
            .usage,
            "\(flag.name): '\(value)' is not one of \(flag.choices.joined(separator: ", "))"
              + suggestion(value, from: flag.choices))
        }
        invocation.given[flag.name, default: []].append(value)
        while flag.takesMany, attached == nil, index < words.count, !words[index].hasPrefix("-") {
          invocation.given[flag.name, default: []].append(words[index])
          index += 1
        }
      }
    }
    if invocation.has("--help") { return invocation }
    if !command.operandCount.contains(invocation.operands.count) {
      let wanted =
        command.operandCount.upperBound == 0
        ? "takes no operand; found '\(invocation.operands[0])'"
        : "expects \(command.operands); found \(invocation.operands.count) operand(s)"
      throw CommandFailure(.usage, "\(command.name): \(wanted)")
    }
    return invocation
  }

  static let globalFlags = [
    Flag("--help", short: "-h", nil, "Print this help and end")
  ]
}

/// ` Did you mean 'x'?` where one of `candidates` is near to `word`, else nothing.
func suggestion(_ word: String, from candidates: [String]) -> String {
  guard let best = NearestWord.find(word, among: candidates) else { return "" }
  return "; did you mean '\(best)'?"
}
