// The chart of `bench`: nanoseconds an event, by mode, one group an input, on a logarithmic scale; a mark shows memchr on the same bytes.

import Foundation
import Streams

enum BenchChart {
  private static let colours: [ParserMode: String] = [
    .whatwg: "#1b6ca8", .dataOnly: "#4fa3d1", .eventsource: "#c8553d", .eventsourceDataOnly: "#e39774", .lines: "#7a9e7e",
    .ndjson: "#8e7dbe", .custom: "#b8a15a",
  ]

  static func svg(_ rows: [BenchRow], _ limits: [BenchLimit]) -> String {
    let shown = rows.filter { $0.decoder == nil && $0.nanosecondsPerEvent != nil }
    var groups: [(input: String, chunk: Int)] = []
    for row in shown where !groups.contains(where: { $0.input == row.input && $0.chunk == row.chunkBytes }) {
      groups.append((row.input, row.chunkBytes))
    }
    let bar = 12, left = 170, width = 900
    let scale = 560.0 / 7
    // From 1 ns to 10 s, seven of ten decades; the rest is cut off at the edge.
    func x(_ nanoseconds: Double) -> Double { Double(left) + min(560, max(0, log10(max(1, nanoseconds)) * scale)) }
    var body = ""
    var y = 50
    for group in groups {
      let cells = shown.filter { $0.input == group.input && $0.chunkBytes == group.chunk }
      body += text(8, y + 10, "\(group.input), \(group.chunk == 0 ? "whole" : "reads of \(group.chunk)")", weight: "bold")
      let top = y
      for cell in cells {
        let time = cell.nanosecondsPerEvent ?? 1
        body +=
          "<rect x=\"\(left)\" y=\"\(y)\" width=\"\(number(max(1, x(time) - Double(left))))\" height=\"\(bar - 2)\" fill=\"\(colours[cell.parser] ?? "#888")\"><title>\(cell.parser.rawValue): \(BenchReport.short(time)) ns/event</title></rect>\n"
        body += text(Int(x(time)) + 6, y + 9, "\(cell.parser.rawValue) \(BenchReport.short(time))", size: 10)
        y += bar
      }
      if let limit = limits.first(where: { $0.input == group.input && $0.chunkBytes == group.chunk }), let first = cells.first {
        let at = number(x(first.bytesPerEvent / limit.memchrGigabytesPerSecond))
        body += "<line x1=\"\(at)\" x2=\"\(at)\" y1=\"\(top - 2)\" y2=\"\(y)\" stroke=\"#222\" stroke-dasharray=\"3 2\"/>\n"
      }
      y += 14
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(y + 20)" font-family="system-ui, sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      \(text(8, 20, "Nanoseconds of CPU an event, by parser mode; shorter is better", weight: "bold"))\
      \(text(8, 36, "Logarithmic; dashed: memchr for a line feed over the same bytes", size: 11))\(body)</svg>

      """
  }

  private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

  private static func text(_ x: Int, _ y: Int, _ content: String, size: Int = 12, weight: String = "normal") -> String {
    let escaped = content.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    return "<text x=\"\(x)\" y=\"\(y)\" font-size=\"\(size)\" font-weight=\"\(weight)\">\(escaped)</text>\n"
  }
}
