// The mode `whatwg` against the vectors, at every split.

import CPlatform
import Primitives
import Streams
import Testing

@Suite struct WHATWGTests {
  @Test(arguments: SSEVector.all)
  func vector_holdsAtEverySplit(_ vector: SSEVector) {
    let settings = ParserSettings(.whatwg)
    let input = vector.input
    func check(_ cuts: [Int], _ comment: String) {
      let outcome = parse(input, settings, cuts: cuts)
      if !vector.isMet(by: outcome) {
        Issue.record("\(vector.id) cut \(comment): \(outcome.events.prefix(5)), id \(outcome.lastEventID), retry \(String(describing: outcome.retry))")
      }
    }

    check([], "nowhere")
    if input.count <= 1 << 16 {
      check(Array(0..<input.count), "everywhere")
      for cut in stride(from: 0, through: input.count, by: input.count > 4096 ? 37 : 1) { check([cut], "at \(cut)") }
    }
    var random = SeededRandom(seed: 3, purpose: "whatwg cuts")
    for round in 0..<(input.count > 1 << 16 ? 20 : 50) {
      let count = Int.random(in: 1...8, using: &random)
      let cuts = (0..<count).map { _ in Int.random(in: 0...input.count, using: &random) }.sorted()
      check(cuts, "\(cuts) (round \(round))")
    }
  }
}
