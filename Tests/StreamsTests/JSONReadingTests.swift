// The walk over simdjson's structure against another strict reader of JSON, on texts that are broken in every way.

import Primitives
import Streams
import Testing

@Suite struct JSONReadingTests {
  private static let texts = [
    #"{"choices":[{"index":0,"delta":{"content":"a\n\u00e9\ud83d\ude00"},"logprobs":null,"finish_reason":"stop"}],"usage":{"a":-1.5e+3}}"#,
    #"{ "a" : [ ] , "b" : { } , "c" : [ 1 , 2.5 , -0 , 0.1e-7 , true , false , null , "x\\\"y" ] , "" : "\/\b\f\n\r\t" }"#,
    #"{"text":"{\"nested\":[1,2]}","deep":[[[[[[{"a":[{}]}]]]]]]}"#,
  ]

  /// Where the other reader has a rule of its own, nothing is compared.
  private static let ownRules = ["half of a surrogate", "stands twice", "too large"]

  @Test func brokenTexts_areRefusedAndWholeOnesTaken() {
    var random = SeededRandom(seed: 61, purpose: "json")
    let bits = Array("{}[]\",:\\ 0123456789.eE+-truefalsn/u\n\t\u{1}x".utf8)
    for index in 0..<20_000 {
      var bytes = Array(Self.texts[index % Self.texts.count].utf8)
      for _ in 0..<Int(random.next() % 4) {
        let at = Int(random.next() % UInt64(bytes.count))
        let bit = bits[Int(random.next() % UInt64(bits.count))]
        switch random.next() % 4 {
        case 0: bytes[at] = bit
        case 1: bytes.insert(bit, at: at)
        case 2: bytes.remove(at: at)
        default: bytes.removeLast(bytes.count - at)
        }
        if bytes.isEmpty { break }
      }
      guard bytes.first == UInt8(ascii: "{") else { continue }

      let isTaken = read(bytes)

      do throws(JSONSyntaxError) {
        _ = try JSONReader.read(bytes)
        #expect(isTaken, "index \(index): \(String(decoding: bytes, as: UTF8.self))")
      } catch {
        if error.isTooDeep || Self.ownRules.contains(where: { error.message.contains($0) }) { continue }
        #expect(!isTaken, "index \(index): \(error.message): \(String(decoding: bytes, as: UTF8.self))")
      }
    }
  }

  @Test func deepNesting_isRefusedNotFollowed() {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)).utf8)
    }

    #expect(read(nested(256)))
    #expect(!read(nested(257)))
    #expect(!read(nested(1_000_000)))
  }

  private func read(_ bytes: [UInt8]) -> Bool {
    var reader = ResponseReader(api: .openaiChat, decoder: .simdjson, scratch: ExtractorScratch())
    bytes.withUnsafeBytes {
      reader.read(EventSlices(data: $0, type: UnsafeRawBufferPointer(start: nil, count: 0), lastEventID: $0))
    }
    return reader.undecodable == 0
  }
}
