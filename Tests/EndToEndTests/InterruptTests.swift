import Foundation
import Primitives
import TestSupport
import Testing

/// Signals at several moments: what was measured is reported, and no mock stays behind.
@Suite struct InterruptTests {
  private enum Moment: String, CaseIterable, Sendable {
    /// The folder is there, hardly anything else.
    case atTheStart
    /// Sessions are live, none has been written yet.
    case whileSessionsAreLive
    /// A second has passed, and sessions have been written.
    case inFullSwing
  }

  private func start(_ scene: Scene, _ scenario: String = Scene.long) throws -> RunningProgram {
    try scene.folder.write(scenario, to: "scenario.json")
    return try BuiltProgram.start(["run", "scenario.json", "--out", "out"], in: scene.folder)
  }

  private func wait(for moment: Moment, _ scene: Scene, _ program: RunningProgram) throws {
    let reached = try eventually {
      switch moment {
      case .atTheStart: return scene.folder.exists("out/record.json")
      case .whileSessionsAreLive: return scene.folder.exists("out/record.json") && !program.children.isEmpty
      case .inFullSwing:
        guard scene.folder.exists("out/sessions.csv") else { return false }
        return try !scene.rows("out/sessions.csv").isEmpty
      }
    }
    #expect(reached, "\(moment) was never reached: \(program.errorsSoFar)")
  }

  @Test(arguments: Moment.allCases.map(\.rawValue), [SIGINT, SIGTERM])
  func signal_EndsInAPartialReport(_ name: String, _ signal: Int32) throws {
    let moment = try #require(Moment(rawValue: name))
    let scene = try Scene()
    let program = try start(scene)
    try wait(for: moment, scene, program)
    let mocks = program.children

    program.signal(signal)
    let result = try program.wait(limit: 60)

    #expect(result.code == 130, "\(result.errors)")
    #expect(!scene.folder.files(under: "out").contains { $0.hasSuffix(".part") })
    let report = try scene.folder.text("out/report.md")
    #expect(report.contains("Partial") && report.contains("interrupted"))
    let summary = try scene.summary()
    #expect(summary["verdict"] == "partial" && summary["run"]?["partial"] == true)
    for file in ["summary.csv", "sessions.csv", "timeseries.csv", "scenario.json"] { #expect(scene.folder.exists("out/" + file), "\(file)") }
    for mock in mocks { #expect(eventually { !isAlive(mock) }, "the mock \(mock) is still there") }
    if moment == .inFullSwing {
      #expect(!mocks.isEmpty)
      let completed = try scene.variant()["sessions"]?["completed"]?.asInt ?? 0
      #expect(completed > 0, "what had been measured is in the report")
      #expect(try scene.rows("out/sessions.csv").count >= completed)
    }
  }

  @Test func secondSignal_EndsAtOnce() throws {
    let scene = try Scene()
    let program = try start(scene)
    try wait(for: .inFullSwing, scene, program)
    let mocks = program.children

    program.signal(SIGINT)
    program.signal(SIGINT)
    let result = try program.wait(limit: 60)

    #expect(result.code == 130)
    for mock in mocks { #expect(eventually { !isAlive(mock) }) }
  }

  @Test func kill_TakesTheMockAlongAndLeavesWhatWasWritten() throws {
    let scene = try Scene()
    let program = try start(scene)
    try wait(for: .inFullSwing, scene, program)
    let mocks = program.children
    #expect(!mocks.isEmpty)

    program.signal(SIGKILL)
    let result = try program.wait(limit: 60)

    #expect(result.code == 137)
    // The mock ends with its parent; the contract's 2 s are many times what it takes on an idle machine.
    for mock in mocks { #expect(eventually(within: 10) { !isAlive(mock) }, "the mock \(mock) is still there") }
    #expect(try scene.rows("out/sessions.csv").count > 0)
    #expect(try JSONReader.read(try scene.folder.text("out/scenario.json"))["name"] == "long")
  }

  @Test func mockThatIsKilled_EndsTheRunWithAnExplanation() throws {
    let scene = try Scene()
    let program = try start(scene)
    try wait(for: .inFullSwing, scene, program)

    for mock in program.children { kill(mock, SIGKILL) }
    let result = try program.wait(limit: 90)

    #expect(result.code == 74, "\(result.output) \(result.errors)")
    #expect(try scene.folder.text("out/report.md").contains("mock"))
  }

  @Test func mockOfItsOwn_EndsWithSIGTERM() throws {
    let scene = try Scene()
    let program = try BuiltProgram.start(["mock", "--listen", "127.0.0.1:0"], in: scene.folder)
    #expect(eventually { program.outputSoFar.contains("\n") })
    let first = try JSONReader.read(String(program.outputSoFar.prefix { $0 != "\n" }))
    #expect(first["listening"]?.asString?.hasPrefix("http://127.0.0.1:") == true)

    program.signal(SIGTERM)

    #expect(try [0, 143].contains(program.wait(limit: 30).code))
  }
}
