import Foundation
import Primitives
import TestSupport
import Testing

/// The command line itself: help, usage errors, the manual page and the completions, all from one table.
@Suite struct CommandLineTests {
  /// The names that `ssebench --help` lists.
  private func commands(_ scene: Scene) throws -> [String] {
    let overview = try scene.run("--help").output
    let list = try #require(overview.range(of: "Commands:\n")).upperBound
    return overview[list...].drop { $0 == "\n" }.split(separator: "\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
      .compactMap { $0.split(separator: " ").first.map(String.init) }
  }

  @Test func helpOfEveryCommand_OpensWithAnExample() throws {
    let scene = try Scene()
    let names = try commands(scene)

    #expect(names.count >= 10 && names.first == "run")
    for name in names {
      let help = try scene.run(name, "--help")
      #expect(help.code == 0 && help.errors.isEmpty, "\(name)")
      let lines = help.output.split(separator: "\n")
      #expect(["Example:", "Examples:"].contains(lines.first), "\(name)")
      #expect(lines.dropFirst().first?.contains("ssebench \(name)") == true, "\(name)")
      #expect(help.output.contains("Usage: ssebench \(name)"), "\(name)")
      #expect(try scene.run("help", name).output == help.output, "\(name)")
    }
  }

  @Test func helpOfValidate_IsThis() throws {
    let scene = try Scene()

    #expect(
      try scene.run("validate", "--help").output == """
        Examples:
          ssebench validate Scenarios/quickstart.json
              says whether the scenario is valid, else what to fix, and where
          ssebench validate *.json --set load.sessions=10
              checks several, each with one key set

        Check scenarios: every problem at once, no traffic.

        Usage: ssebench validate SCENARIO.json… [FLAGS]

        Flags:
          --set KEY.PATH=VALUE  Set one key of the scenario; the value is JSON, else a string (repeatable)
          --seed N              The seed in place of the scenario's
          -h, --help            Print this help and end

        Exit code 0 when all are valid; 65 not JSON, too large or too deep; 66 missing or unreadable; 78 not a valid scenario.

        """)
  }

  static let wrong: [(words: [String], says: [String])] = [
    ([], ["Usage: ssebench"]), (["rnu"], ["unknown command 'rnu'", "run", "--help"]),
    (["run", "--qiet"], ["unknown flag '--qiet'", "--quiet", "run --help"]), (["run", "--out"], ["--out needs a value"]),
    (["run", "a.json", "--out", "x", "--out", "y"], ["--out stands twice"]), (["run", "--quiet=yes", "a.json"], ["takes no value"]),
    (["run"], ["no scenario"]), (["validate"], ["expects SCENARIO.json"]), (["plan", "a.json", "b.json"], ["plan"]),
    (["schema", "scenaro"], ["scenario"]), (["completions", "tcsh"], ["bash", "zsh", "fish"]),
    (["run", "a.json", "--session", "x"], ["--session", "whole number"]), (["run", "a.json", "--seed", "-1"], ["--seed", "whole number"]),
    (["run", "a.json", "b.json", "--out", "x"], ["--out", "one"]), (["run", "a.json", "--shard", "3/2"], ["--shard"]),
    (["run", "a.json", "--out", "x/{shard}"], ["--out", "{shard}"]), (["run", "a.json", "--clock", "nearby"], ["--clock", "URL"]),
    (["run", "a.json", "--start-at", "tomorrow"], ["--start-at", "tomorrow"]),
    (["run", "--endpoint", "http://127.0.0.1:1/", "-H", "no colon"], ["--header", "Name: value"]),
  ]

  @Test(arguments: wrong.indices) func wrongWords_AreAUsageErrorOnStderr(_ index: Int) throws {
    let (words, says) = Self.wrong[index]
    let scene = try Scene()

    let result = try BuiltProgram.run(words, in: scene.folder)

    #expect(result.code == 64, "\(words): \(result.errors)")
    #expect(result.output.isEmpty, "stdout is for results")
    for word in says { #expect(result.errors.contains(word), "\(words): '\(word)' is missing in: \(result.errors.prefix(300))") }
  }

  @Test func version_SaysNumberAndBuild() throws {
    let output = try Scene().run("--version").output

    #expect(output.wholeMatch(of: /ssebench \d+\.\d+\.\d+\S* \((release|debug)\)\n/) != nil, "\(output)")
  }

  @Test func manualPage_NamesEveryCommandAndFlag() throws {
    let scene = try Scene()
    let page = try scene.run("man").output

    #expect(page.hasPrefix(".TH SSEBENCH 1"))
    for name in try commands(scene) { #expect(page.contains("ssebench \(name.replacing("-", with: "\\-"))"), "\(name)") }
    #expect(page.contains("\\-\\-set KEY.PATH=VALUE") && page.contains("EXIT STATUS"))
  }

  @Test(arguments: ["bash", "zsh", "fish"]) func completions_NameEveryCommandAndAreAScript(_ shell: String) throws {
    let scene = try Scene()
    let script = try scene.run("completions", shell)

    #expect(script.code == 0)
    for name in try commands(scene) { #expect(script.output.contains(name), "\(name)") }
    // Where the shell is there, it must at least read it.
    let program = "/bin/\(shell)"
    guard FileManager.default.isExecutableFile(atPath: program) else { return }
    try scene.folder.write(script.output, to: "script")
    let check = Process()
    check.executableURL = URL(fileURLWithPath: program)
    check.arguments = ["-n", scene.folder.path("script")]
    try check.run()
    check.waitUntilExit()
    #expect(check.terminationStatus == 0)
  }

  @Test func starterFile_IsAScenarioThatIsValid() throws {
    let scene = try Scene()

    #expect(try scene.run("init", "first.json").code == 0)
    #expect(try scene.run("validate", "first.json").code == 0)
    let again = try scene.run("init", "first.json")
    #expect(again.code == 73 && again.errors.contains("exists"))
  }

  @Test func everyScenarioOfTheRepository_IsValid() throws {
    let folder = BuiltProgram.repository + "/Scenarios"
    let scene = try Scene()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }

    #expect(names.contains("quickstart.json"))
    for name in names.sorted() {
      // Values that a user would have in the environment.
      let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
      var environment: [String: String] = [:]
      for match in text.matches(of: /\$\{([A-Z_0-9]+)\}/) { environment[String(match.output.1)] = "a value to check with" }
      let result = try scene.run("validate", folder + "/" + name, environment: environment)
      #expect(result.code == 0, "\(result.errors)")
    }
  }
}
