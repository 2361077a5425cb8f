// The rows of `bench` as JSON, as a table, as Markdown and as a chart.

import Foundation
import Primitives
import Streams

struct BenchReport {
  var limits: [BenchLimit] = []
  var rows: [BenchRow] = []

  var document: JSONValue {
    func number(_ value: Double?) -> JSONValue { value.map { .number(($0 * 10_000).rounded() / 10_000) } ?? .null }
    return .object([
      "schema_version": .integer(1),
      "version": .string(Version.number), "build": .string(Version.build), "simdjson": .string(JSONEngine.name),
      "scan": .string(LineScan.current.rawValue),
      "limits": .array(
        limits.map {
          .object([
            "input": .string($0.input), "chunk_bytes": .integer(Int64($0.chunkBytes)),
            "memchr_gb_per_s": number($0.memchrGigabytesPerSecond), "memcpy_gb_per_s": number($0.memcpyGigabytesPerSecond),
          ])
        }),
      "rows": .array(
        rows.map { row in
          var object = JSONObject([
            ("input", .string(row.input)), ("parser", .string(row.parser.rawValue)),
            ("decoder", row.decoder.map { .string($0.rawValue) } ?? .null), ("chunk_bytes", .integer(Int64(row.chunkBytes))),
            ("gb_per_s", number(row.gigabytesPerSecond)), ("events_per_s", number(row.eventsPerSecond)),
            ("ns_per_event", number(row.nanosecondsPerEvent)), ("allocations_per_event", number(row.allocationsPerEvent)),
            ("checked", .bool(row.isChecked)),
          ])
          if let reason = row.skipped {
            object["skipped"] = .string(reason)
            if reason == "budget" {
              object["largest_bytes"] = row.largestBytes.map { .integer(Int64($0)) } ?? .null
              object["growth_exponent"] = number(row.growthExponent)
            }
          }
          return .object(object)
        }),
    ])
  }

  /// For people: one line a cell, with the ratio to memchr on the same reads.
  var table: String {
    var text = "memchr and memcpy, GB/s\n\n" + Self.aligned([["input", "read", "memchr", "memcpy"]] + limits.map(cells)) + "\n"
    text += "parsers and decoders; of memchr = rate against memchr's on the same reads\n\n"
    return text + Self.aligned([Self.heads] + rows.map(cells))
  }

  private static let heads = [
    "input", "parser", "decoder", "read", "GB/s", "M events/s", "ns/event", "allocs/event", "of memchr", "",
  ]

  private func cells(_ limit: BenchLimit) -> [String] {
    [limit.input, Self.read(limit.chunkBytes), Self.short(limit.memchrGigabytesPerSecond), Self.short(limit.memcpyGigabytesPerSecond)]
  }

  private func cells(_ row: BenchRow) -> [String] {
    let limit = limits.first { $0.input == row.input && $0.chunkBytes == row.chunkBytes }
    let ratio = row.gigabytesPerSecond.flatMap { rate in limit.map { rate / $0.memchrGigabytesPerSecond } }
    var note = ""
    if row.skipped == "check" { note = "not timed: its output is wrong" }
    if row.skipped == "budget" {
      note = "not timed: over 2 s; \(row.largestBytes ?? 0) bytes fitted"
      if let exponent = row.growthExponent { note += ", time grows as size^\(Self.short(exponent))" }
    }
    return [
      row.input, row.parser.rawValue, row.decoder?.rawValue ?? "–", Self.read(row.chunkBytes),
      Self.short(row.gigabytesPerSecond), Self.short(row.eventsPerSecond.map { $0 / 1e6 }), Self.short(row.nanosecondsPerEvent),
      Self.short(row.allocationsPerEvent), Self.short(ratio), note,
    ]
  }

  private static func read(_ chunk: Int) -> String { chunk == 0 ? "whole" : String(chunk) }

  /// Three digits that matter.
  static func short(_ value: Double?) -> String {
    guard let value else { return "–" }
    if value == 0 { return "0" }
    let digits = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : abs(value) >= 1 ? 2 : 3
    return String(format: "%.\(digits)f", value)
  }

  private static func aligned(_ rows: [[String]]) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() { line += cell.padded(to: widths[column] + 2) }
      while line.hasSuffix(" ") { line.removeLast() }
      return line + "\n"
    }.joined()
  }

  // MARK: files

  /// Makes the folder; one that exists is not written into.
  static func prepare(_ folder: String) throws {
    if mkdir(folder, 0o755) != 0 {
      throw CommandFailure(.cannotCreate, "\(folder): \(String(cString: strerror(errno))); --out wants a folder that does not exist yet")
    }
  }

  func write(to folder: String) throws {
    let files = [("bench.json", document.text(pretty: true)), ("bench.svg", BenchChart.svg(rows, limits)), ("bench.md", markdown)]
    for (name, text) in files {
      do {
        try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
      } catch {
        throw CommandFailure(.ioError, "\(folder)/\(name): \(error.localizedDescription)")
      }
    }
  }

  private var markdown: String {
    func list(_ rows: [[String]]) -> String {
      let lines = rows.map { "| " + $0.joined(separator: " | ") + " |\n" }
      return lines[0] + "|" + String(repeating: " --- |", count: rows[0].count) + "\n" + lines.dropFirst().joined()
    }
    return """
      # Parsers and decoders

      ssebench \(Version.number), \(Version.build) build; line ends by \(LineScan.current.rawValue), JSON by simdjson (\(JSONEngine.name)).
      CPU time of one thread, best of the rounds; every cell was checked before it was timed. GB/s are 10^9 bytes a second.

      ![events a second by parser and input](bench.svg)

      ## Limits: memchr for a line feed, and memcpy, on the same reads

      \(list([["input", "read", "memchr GB/s", "memcpy GB/s"]] + limits.map(cells)))
      ## Cells

      \(list([Self.heads] + rows.map(cells)))
      """
  }
}
