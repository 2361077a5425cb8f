// `ssebench parse`: bytes in, one JSON object an event out.

import Foundation
import Streams

enum ParseCommand {
  static let command = Command(
    name: "parse", summary: "Print the events of a stream, one JSON object a line",
    examples: [
      ("curl -sN https://host/events | ssebench parse", "shows what the standard makes of a stream"),
      ("ssebench parse body.txt --parser lines --split bytes", "shows what URLSession.bytes.lines makes of it, byte by byte"),
    ],
    operands: "[FILE|-]", operandCount: 0...1,
    flags: [
      ParserFlags.parser,
      Flag("--split", "HOW", "How the bytes are cut into reads: whole, bytes, a size, or random:SEED (default: whole)"),
    ] + ParserFlags.details,
    discussion: """
      Each event is {"event":…,"data":…,"id":…}, where id is the last event id; the last line is
      {"end":{"last_event_id":…,"retry_ms":…,"bytes":…,"events":…}}. Modes that stand for a library print null for what it leaves out, and
      "other" and "time" where it has them; lines and ndjson have data alone. Bytes that are not UTF-8 come out as U+FFFD.
      A line or an event over its limit ends the command with 65, after the events before it.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let settings = try ParserFlags.settings(invocation)
    let split = try Split(invocation.value("--split") ?? "whole")
    let input = try InputBytes(invocation.operands.first ?? "-")
    var parser = StreamParser(settings)
    var printer = EventPrinter()
    do {
      try input.forEachRead(split, wholeMatters: settings.mode.dependsOnCuts) { read in
        try parser.feed(read, into: &printer)
        if printer.out.failure != nil { throw OutputGone() }
      }
      try parser.finish(into: &printer)
    } catch let error as StreamError {
      try printer.out.finish()
      throw CommandFailure(.data, "\(invocation.operands.first ?? "-"): \(error)")
    } catch is OutputGone {
      try printer.out.finish()
      return .success
    }
    printer.out.write(#"{"end":{"last_event_id":"#)
    printer.out.writeJSON(parser.lastEventID)
    printer.out.write(
      ",\"retry_ms\":\(parser.retry.map(String.init) ?? "null"),\"bytes\":\(parser.bytes),\"events\":\(parser.events)}}\n")
    try printer.out.finish()
    return .success
  }

  private struct OutputGone: Error {}
}

/// Prints events as `parse` does.
struct EventPrinter: EventSink, ~Copyable {
  var out = ResultWriter()
  /// Members that stand before the event's own, each with a comma behind it.
  var prefix = ""

  mutating func receive(_ event: EventSlices) {
    let isDataAlone = event.fields == .data && event.type.isEmpty && event.lastEventID.baseAddress == nil
    if isDataAlone {
      out.write("{")
      out.write(prefix)
      out.write(#""data":"#)
      out.writeJSON(event.data)
    } else {
      out.write("{")
      out.write(prefix)
      out.write(#""event":"#)
      write(event.type, event.fields.contains(.type))
      out.write(#","data":"#)
      write(event.data, event.fields.contains(.data))
      out.write(#","id":"#)
      write(event.lastEventID, event.fields.contains(.lastEventID))
      if event.fields.contains(.other) {
        out.write(#","other":{"#)
        var isFirst = true
        for name in event.other.split(separator: 0xFF, omittingEmptySubsequences: false) {
          if !isFirst { out.write(",") }
          isFirst = false
          out.writeJSON(UnsafeRawBufferPointer(rebasing: name))
          out.write(":\"\"")
        }
        out.write("}")
      }
      if event.fields.contains(.time) {
        out.write(#","time":"#)
        out.writeJSON(event.time)
      }
    }
    out.write("}\n")
  }

  private mutating func write(_ slice: UnsafeRawBufferPointer, _ isThere: Bool) {
    if isThere { out.writeJSON(slice) } else { out.write("null") }
  }
}
