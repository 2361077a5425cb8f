// The flags of `bench` become its cells: which mode, decoder, input and read size.

import Foundation
import FoundationClients
import Primitives
import Streams

struct BenchPlan {
  struct Cell {
    var input: BenchInput
    var parser: ParserMode
    var decoder: DecoderKind?
    var chunk: Int
  }

  private(set) var cells: [Cell] = []
  private(set) var limits: [(input: BenchInput, chunk: Int)] = []
  let rounds: Int
  private let isCold: Bool
  private let hasBufferFix: Bool
  private let foreign = FoundationDecoder()

  init(_ invocation: Invocation) throws {
    rounds = try invocation.integer("--rounds", in: 1...1000) ?? 5
    isCold = invocation.has("--cold")
    hasBufferFix = invocation.value("--parser-variant") == "pr49"
    let api = invocation.value("--api").flatMap(StreamAPI.init(rawValue:))
    let names = invocation.values("--input")
    let inputs = try (names.isEmpty ? BenchInput.builtInNames : names).map { try Self.input($0, api) }
    let parsers = invocation.values("--parser").compactMap(ParserMode.init(rawValue:))
    let decoders = invocation.values("--decoder").compactMap(DecoderKind.init(rawValue:))
    let chunks = try invocation.values("--chunk").map { try Self.chunk($0) }
    for input in inputs {
      if input.api == nil, !decoders.isEmpty, !names.isEmpty {
        throw CommandFailure(.usage, "--decoder: '\(input.name)' holds no events of an API; for a file, name it with --api")
      }
      for chunk in chunks.isEmpty ? Self.usualChunks(input) : chunks {
        limits.append((input, chunk))
        for parser in parsers.isEmpty ? ParserMode.allCases : parsers {
          if decoders.isEmpty { cells.append(Cell(input: input, parser: parser, decoder: nil, chunk: chunk)) }
          guard input.api != nil else { continue }
          // Unless asked for, decoders are timed behind the standard's parser alone, at one read size.
          let isUsual = decoders.isEmpty && parsers.isEmpty && names.isEmpty
          let timed = isUsual ? (parser == .whatwg && chunk == 16_384 ? DecoderKind.allCases : []) : decoders
          for decoder in timed { cells.append(Cell(input: input, parser: parser, decoder: decoder, chunk: chunk)) }
        }
      }
    }
    if cells.isEmpty { throw CommandFailure(.usage, "bench: no cell is left; decoders need an input of an API: chat, unicode") }
  }

  private static func input(_ name: String, _ api: StreamAPI?) throws -> BenchInput {
    if let input = BenchInput.builtIn(name) { return input }
    var bytes: [UInt8] = []
    let file = try InputBytes(name)
    try file.forEachRead(.whole, wholeMatters: false) { read in
      bytes.append(contentsOf: read)
      if bytes.count > 1 << 30 { throw CommandFailure(.data, "\(name): more than 1 GiB; time a part of it") }
    }
    if bytes.isEmpty { throw CommandFailure(.data, "\(name): is empty; nothing to time") }
    return BenchInput(name: URL(filePath: name).lastPathComponent, file: bytes, api: api)
  }

  private static func chunk(_ text: String) throws -> Int {
    if text == "whole" || text == "0" { return 0 }
    guard let size = Int(text), size > 0 else {
      throw CommandFailure(.usage, "--chunk: '\(text)' is no read size; expected a number of bytes, or whole")
    }
    return size
  }

  private static func usualChunks(_ input: BenchInput) -> [Int] {
    if input.isHuge { return [1460] }
    return input.name == "chat" ? [1, 128, 1460, 16_384, 65_536, 0] : [1460, 16_384]
  }

  func body(_ input: BenchInput, _ mode: ParserMode) -> [UInt8] {
    let body = input.body(for: mode)
    return isCold ? ParserBench.coldBody(body, nanosecondsPerByte: 0.1) : body
  }

  func time(_ cell: Cell) -> BenchRow {
    let settings = ParserSettings(cell.parser, hasBufferFix: hasBufferFix)
    let body = cell.input.body(for: cell.parser)
    func row(_ body: [UInt8], _ rounds: Int) -> BenchRow {
      ParserBench.row(
        cell.input, body, settings, decoder: cell.decoder, chunkBytes: cell.chunk, rounds: rounds, foreign: foreign)
    }
    let warm = row(body, isCold ? 1 : rounds)
    guard isCold, warm.skipped == nil, let time = warm.nanosecondsPerEvent, cell.input.isHuge == false else { return warm }
    var cold = ParserBench.timeUnchecked(
      warm, ParserBench.coldBody(body, nanosecondsPerByte: time / warm.bytesPerEvent), settings, cell.input.api, rounds: rounds,
      foreign: foreign)
    cold.isChecked = true
    return cold
  }
}
