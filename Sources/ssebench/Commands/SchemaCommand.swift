// `ssebench schema NAME`: the JSON Schema of a file that users write or read.

import Analysis
import Primitives
import Scenarios

enum SchemaCommand {
  /// Each schema by its name.
  static let schemas: [(name: String, make: @Sendable () -> JSONValue)] = [
    ("scenario", { SchemaWriter.scenario() }),
    ("mock", { SchemaWriter.mock() }),
    ("summary", { SummarySchema.document }),
  ]

  static let command = Command(
    name: "schema", summary: "Print a JSON Schema",
    examples: [
      (
        "ssebench schema scenario > scenario.schema.json",
        "lets an editor complete and check scenarios by their \"$schema\" key"
      )
    ],
    operands: schemas.map(\.name).joined(separator: "|"), operandCount: 1...1,
    discussion:
      "Draft 2020-12. It knows keys, types and ranges; `ssebench validate` knows the rules between keys as well.",
    run: { invocation in
      let name = invocation.operands[0]
      guard let schema = schemas.first(where: { $0.name == name }) else {
        let names = schemas.map(\.name)
        throw CommandFailure(
          .usage,
          "schema: '\(name)' is not a schema; expected \(names.joined(separator: ", "))\(suggestion(name, from: names))"
        )
      }
      Terminal.result(schema.make().text(pretty: true))
      return .success
    })
}
