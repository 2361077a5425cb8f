// Judged gates become the same table on every page. A column that no gate fills is left out.

internal import Analysis
internal import Primitives

extension HTMLPage {
  mutating func gates(_ gates: [GateResult]) {
    guard !gates.isEmpty else { return }
    let hasVariants = gates.contains { $0.variant != nil }
    let hasIntervals = gates.contains { $0.interval != nil }
    let header =
      ["verdict", "gate"] + (hasVariants ? ["variant"] : []) + ["observed", "limit"]
      + (hasIntervals ? ["observed − limit, 95 %"] : []) + ["why"]
    heading("Gates", id: "gates")
    table(
      header,
      gates.map { gate -> [Cell] in
        var cells: [Cell] = [.held(gate.held), .code(gate.expression)]
        if hasVariants { cells.append(.text(gate.variant ?? "")) }
        cells.append(.number(gate.observed.map { Number.text($0) } ?? "–"))
        cells.append(.number(gate.limit.map { Number.text($0) } ?? "–"))
        if hasIntervals { cells.append(.number(GateTable.interval(gate))) }
        return cells + [.text(gate.reason ?? "")]
      }, caption: "Gates")
  }
}

extension MarkdownPage {
  mutating func gates(_ gates: [GateResult]) {
    let hasVariants = gates.contains { $0.variant != nil }
    let header = ["", "gate"] + (hasVariants ? ["variant"] : []) + ["observed", "limit", "why"]
    table(
      header,
      gates.map { gate in
        [gate.held == true ? "✅" : gate.held == false ? "❌" : "➖", "`\(Self.code(gate.expression))`"]
          + (hasVariants ? [Self.escaped(gate.variant ?? "")] : [])
          + [
            gate.observed.map { Number.text($0) } ?? "–", gate.limit.map { Number.text($0) } ?? "–",
            Self.escaped(gate.reason ?? ""),
          ]
      }, right: hasVariants ? [3, 4] : [2, 3])
  }
}

enum GateTable {
  static func interval(_ gate: GateResult) -> String {
    gate.interval.map { "\(Number.text($0.lowerBound)) to \(Number.text($0.upperBound))" } ?? "–"
  }
}
