// `ssebench extract`: a stream of one API in, the answer that it carries out, as one JSON object.

import Foundation
import FoundationClients
import Primitives
import Streams

enum ExtractCommand {
  static let command = Command(
    name: "extract", summary: "Print the answer that a stream carries: text, reasoning, tool calls, usage, errors",
    examples: [
      ("ssebench extract chat.sse --api openai-chat", "puts the tokens of a recorded stream together"),
      ("ssebench extract log.ndjson --api ollama --decoder foundation", "does it with JSONDecoder"),
    ],
    operands: "[FILE|-]", operandCount: 0...1,
    flags: [
      Flag("--api", "API", "The API that the stream speaks", choices: StreamAPI.allCases.map(\.rawValue)),
      Flag("--parser", "MODE", "How bytes become events (default: whatwg; ndjson for ollama)", choices: ParserFlags.names),
      Flag("--decoder", "NAME", "What reads the JSON (default: simdjson)", choices: DecoderKind.allCases.map(\.rawValue)),
      Flag("--split", "HOW", "How the bytes are cut into reads: whole, bytes, a size, or random:SEED (default: whole)"),
    ] + ParserFlags.details,
    discussion: """
      Prints one JSON object. text is that of choice 0, texts has all; the chunk counts are events that carry text that is not empty;
      finish_reason is in the provider's own word; usage is the last report, null where nothing was said; error is the first error object
      of the stream; terminal_seen says whether the API's end marker came.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    guard let api = invocation.value("--api").flatMap(StreamAPI.init(rawValue:)) else {
      throw CommandFailure(
        .usage, "--api is missing; expected one of \(StreamAPI.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let settings = try ParserFlags.settings(invocation, default: api.usualParser)
    let decoder = invocation.value("--decoder").flatMap(DecoderKind.init(rawValue:)) ?? .simdjson
    let split = try Split(invocation.value("--split") ?? "whole")
    let input = try InputBytes(invocation.operands.first ?? "-")
    let scratch = ExtractorScratch(foreignDecoder: FoundationDecoder())
    var parser = StreamParser(settings)
    var sink = ReadingSink(reader: ResponseReader(api: api, decoder: decoder, scratch: scratch))
    do {
      try input.forEachRead(split, wholeMatters: settings.mode.dependsOnCuts) { try parser.feed($0, into: &sink) }
      try parser.finish(into: &sink)
    } catch let error as StreamError {
      throw CommandFailure(.data, "\(invocation.operands.first ?? "-"): \(error)")
    }
    var out = ResultWriter()
    out.write(document(sink.reader).text() + "\n")
    try out.finish()
    return .success
  }

  static func document(_ reader: ResponseReader) -> JSONValue {
    func text(_ value: String?) -> JSONValue { value.map(JSONValue.string) ?? .null }
    func count(_ value: Int?) -> JSONValue { value.flatMap { $0 >= 0 ? .integer(Int64($0)) : nil } ?? .null }
    let usage: JSONValue =
      reader.usage.map {
        .object([
          "input": count($0.input), "output": count($0.output), "total": count($0.total), "reasoning": count($0.reasoning),
          "cached": count($0.cached),
        ])
      } ?? .null
    let error: JSONValue =
      reader.error.map {
        .object([
          "message": text($0.message), "type": text($0.type),
          "code": $0.code.map { (try? JSONReader.read($0)) ?? .string($0) } ?? .null,
        ])
      } ?? .null
    return .object([
      "api": .string(reader.api.rawValue),
      "events": .integer(Int64(reader.events)),
      "text": .string(reader.texts[0]),
      "texts": .array(reader.texts.map(JSONValue.string)),
      "content_chunks": .integer(Int64(reader.contentChunks)),
      "reasoning": .string(reader.reasoning),
      "reasoning_chunks": .integer(Int64(reader.reasoningChunks)),
      "refusal": .string(reader.refusal),
      "refusal_chunks": .integer(Int64(reader.refusalChunks)),
      "tool_calls": .array(
        reader.toolCalls.map {
          .object([
            "index": .integer(Int64($0.index)), "id": text($0.id), "name": text($0.name), "arguments": .string($0.arguments),
          ])
        }),
      "tool_chunks": .integer(Int64(reader.toolChunks)),
      "finish_reason": text(reader.finishReasons[0]),
      "finish_reasons": .array(reader.finishReasons.map(text)),
      "usage": usage,
      "error": error,
      "terminal_seen": .bool(reader.terminal != nil),
      "terminal": text(reader.terminal),
      "model": text(reader.model),
      "first_content_event": count(reader.firstContentEvent),
      "first_output_event": count(reader.firstOutputEvent),
      "undecodable": .integer(Int64(reader.undecodable)),
    ])
  }
}

private struct ReadingSink: EventSink {
  var reader: ResponseReader
  mutating func receive(_ event: EventSlices) { reader.read(event) }
}
