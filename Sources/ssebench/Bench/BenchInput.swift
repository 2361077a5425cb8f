// What `bench` feeds its parsers: seeded bodies made of payloads, in the framing that a mode reads. One for each branch of the hot path.

import Foundation
import Primitives
import Streams

/// A body to time, and what must come out of it.
struct BenchInput {
  var name: String
  /// The payload of each event; empty for a file.
  var payloads: [[UInt8]] = []
  /// A file's bytes, fed as they are.
  var file: [UInt8]?
  var style = Style.plain
  /// What its JSON is, for the decoders; nil where it has none.
  var api: StreamAPI?

  enum Style {
    /// `data: …` LF LF.
    case plain
    /// id, event, data in two lines, CRLF; a retry and a comment here and there.
    case mixed
    /// Many comments, few events.
    case comments
  }

  /// A huge event is fed in reads of 1,460 bytes unless told otherwise.
  var isHuge: Bool { name.hasPrefix("huge-") }

  static let builtInNames = [
    "chat", "tiny", "large", "mixed", "unicode", "comments", "huge-1m", "huge-2m", "huge-4m", "huge-8m",
  ]

  static func builtIn(_ name: String) -> BenchInput? {
    var random = SeededRandom(seed: 42, purpose: "bench input")
    let words = ["the", " quick", " brown", " fox", " jumps", " over", " a", " lazy", " dog", ".", " and", " then", " it", " waits"]
    func chunk(_ index: Int, _ text: String) -> [UInt8] {
      Array(
        """
        {"id":"chatcmpl-0001","object":"chat.completion.chunk","created":1700000000,"model":"example-chat-1",\
        "choices":[{"index":0,"delta":{"content":"\(text)"},"logprobs":null,"finish_reason":null}]}
        """.utf8)
    }
    switch name {
    case "chat":
      return BenchInput(
        name: name, payloads: (0..<320).map { chunk($0, words[Int.random(in: 0..<words.count, using: &random)]) },
        api: .openaiChat)
    case "unicode":
      let texts = ["你好", "\\u4f60\\u597d", "🌍🚀", "\\ud83c\\udf0d", "e\u{301}", "\\n\\n", "नमस्ते", "\\\"q\\\"", "東京都", " こんにちは"]
      return BenchInput(
        name: name, payloads: (0..<320).map { chunk($0, texts[Int.random(in: 0..<texts.count, using: &random)]) },
        api: .openaiChat)
    case "tiny":
      return BenchInput(name: name, payloads: (0..<3856).map { Array("tok\(100_000 + $0)".utf8) })
    case "large":
      return BenchInput(
        name: name,
        payloads: (0..<8).map { _ in (0..<16_384).map { _ in UInt8.random(in: 0x20...0x7E, using: &random) } })
    case "mixed":
      return BenchInput(
        name: name,
        payloads: (0..<900).map { Array("{\"n\":\($0),\"text\":\"word\"}\nsecond line \($0)".utf8) }, style: .mixed)
    case "comments":
      return BenchInput(name: name, payloads: (0..<100).map { Array("{\"n\":\($0)}".utf8) }, style: .comments)
    case "huge-1m", "huge-2m", "huge-4m", "huge-8m":
      let size = Int(name.dropFirst(5).dropLast())! << 20
      let line = (0..<997).map { _ in UInt8.random(in: 0x20...0x7E, using: &random) }
      return BenchInput(name: name, payloads: [(0..<size).map { line[$0 % line.count] }])
    default: return nil
    }
  }

  /// The body in the framing of `mode`.
  func body(for mode: ParserMode) -> [UInt8] {
    if let file { return file }
    var out: [UInt8] = []
    for (index, payload) in payloads.enumerated() {
      switch mode {
      case .ndjson:
        out += payload.map { $0 == 0x0A ? 0x20 : $0 } + [0x0A]
      case .custom:
        out += Array("message|\(index)|".utf8) + payload.map { $0 == 0x0A ? 0x20 : $0 } + [0x0A]
      default:
        switch style {
        case .plain: out += Array("data: ".utf8) + payload + [0x0A, 0x0A]
        case .mixed:
          if index % 50 == 0 { out += Array(": comment\r\nretry: \(1000 + index)\r\n".utf8) }
          out += Array("id: \(index)\r\nevent: delta\r\n".utf8)
          for line in payload.split(separator: 0x0A) { out += Array("data: ".utf8) + line + [0x0D, 0x0A] }
          out += [0x0D, 0x0A]
        case .comments:
          for _ in 0..<12 { out += Array(": keep-alive, nothing to see here\n\n".utf8) }
          out += Array("data: ".utf8) + payload + [0x0A, 0x0A]
        }
      }
    }
    return out
  }

  /// The data of each event that `mode` must give; nil where only the mode itself can tell.
  func expected(for mode: ParserMode) -> [[UInt8]]? {
    if file != nil { return nil }
    switch mode {
    case .whatwg, .dataOnly: return payloads
    case .ndjson, .custom: return payloads.map { $0.map { $0 == 0x0A ? 0x20 : $0 } }
    case .eventsource: return payloads
    case .eventsourceDataOnly, .lines: return style == .plain ? payloads : nil
    }
  }
}
