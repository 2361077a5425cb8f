import Foundation
import Streams
enum BenchCommand {
  static let bench = Command(
    name: "bench", summary: "Time parsers and decoders",
    examples: [("ssebench bench", "x")],
    run: { _ in
      if let only = ProcessInfo.processInfo.environment["ONLY"] {
        let parts = only.split(separator: ",").map(String.init)
        let input = BenchInput.builtIn(parts[0])!
        for _ in 0..<40 {
        let r = ParserBench.row(input, input.body(for: .whatwg), ParserSettings(.whatwg), decoder: DecoderKind(rawValue: parts[1]), chunkBytes: Int(parts[2])!, rounds: 15, foreign: nil)
        if parts.count > 3 { continue }
        print("ns", r.nanosecondsPerEvent ?? -1)
        return .success
        }
        return .success
      }
      for name in ["chat","tiny","large","mixed","unicode","comments","huge-8m"] {
       let input = BenchInput.builtIn(name)!
       for chunk in name.hasPrefix("huge") ? [1460] : [16384,128] {
        let body = input.body(for: .whatwg)
        let l = ParserBench.limit(input, body, chunkBytes: chunk, rounds: 5)
        let r = ParserBench.row(input, body, ParserSettings(.whatwg), decoder: nil, chunkBytes: chunk, rounds: 15, foreign: nil)
        print(name, chunk, "ns", r.nanosecondsPerEvent ?? -1, "gb/s", r.gigabytesPerSecond ?? -1, "memchr", l.memchrGigabytesPerSecond, "memcpy", l.memcpyGigabytesPerSecond, "alloc", r.allocationsPerEvent ?? -1, r.skipped ?? "")
        if input.api != nil { for d in [DecoderKind.simdjson, .scan, .none] {
        let r = ParserBench.row(input, body, ParserSettings(.whatwg), decoder: d, chunkBytes: chunk, rounds: 15, foreign: nil)
        print("   ", d, "ns", r.nanosecondsPerEvent ?? -1, "alloc", r.allocationsPerEvent ?? -1, r.skipped ?? "")
        } }
       }
      }
      return .success
    })
}
