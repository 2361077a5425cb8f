// `ssebench doctor`: what of this machine would spoil a run, before it does.

import Foundation
import Primitives
import Scenarios

enum DoctorCommand {
  static let command = Command(
    name: "doctor", summary: "Say what this machine can carry and what would fail",
    examples: [
      ("ssebench doctor", "looks at limits, ports, clock, CPU and libraries, and says what to do about each"),
      ("ssebench doctor Scenarios/scale/10000.json", "the same, and whether that scenario fits"),
    ],
    operands: "[SCENARIO.json]", operandCount: 0...1,
    flags: [Flag("--json", nil, "Print one JSON document"), .set],
    discussion: """
      Each finding is ok, note or problem, with its remedy. Nothing is sent anywhere. Exit code 0, or 1 when a problem would
      make the scenario (or any run) fail.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let loaded = try invocation.operands.first.map { try invocation.scenario($0) }
    let needs = loaded.map { DoctorNeeds($0) }
    let findings = DoctorRules.findings(.ofThisMachine(), needs)
    let fits = !findings.contains { $0.state == .problem }
    if invocation.has("--json") {
      Terminal.result(document(findings, needs, fits: fits).text(pretty: true))
    } else {
      Terminal.result(text(findings, needs, fits: fits))
    }
    return fits ? .success : .failed
  }

  private static func document(_ findings: [Finding], _ needs: DoctorNeeds?, fits: Bool) -> JSONValue {
    .object([
      "schema_version": .integer(1), "scenario": needs.map { .string($0.name) } ?? .null, "fits": .bool(fits),
      "findings": .array(
        findings.map { finding in
          .object([
            "code": .string(finding.code), "state": .string(finding.state.rawValue), "message": .string(finding.message),
            "remedy": finding.remedy.map { .string($0) } ?? .null,
          ])
        }),
    ])
  }

  private static func text(_ findings: [Finding], _ needs: DoctorNeeds?, fits: Bool) -> String {
    var text = ""
    for finding in findings {
      text += finding.state.rawValue.padding(toLength: 9, withPad: " ", startingAt: 0)
      text += finding.code.padding(toLength: 14, withPad: " ", startingAt: 0) + finding.message + "\n"
      if let remedy = finding.remedy { text += "                       → \(remedy)\n" }
    }
    if let needs {
      text += fits ? "\n\(Terminal.printable(needs.name)) fits on this machine.\n" : "\n\(Terminal.printable(needs.name)) would fail on this machine.\n"
    }
    return text
  }
}
