// The mock's script: the same for the same seed and session, of the size that was asked for, valid UTF-8.

import Arrivals
import Primitives
import Scenarios
import Testing

@Suite struct StreamScriptTests {
  static func script(
    seed: UInt64 = 42, session: Int = 7, maxTokens: Int? = nil,
    _ change: (inout MockSettings) -> Void = { _ in }
  ) -> StreamScript {
    var settings = MockSettings()
    change(&settings)
    return StreamScript(settings: settings, seed: seed, session: session, maxTokens: maxTokens)
  }

  @Test func sameSeedAndSession_GiveTheSameStream() {
    let settings = { (mock: inout MockSettings) in
      mock.text = .mixed
      mock.tokens = .uniform(low: 10, high: 200)
      mock.interval = .exponential(mean: 20e6)
      mock.tokenSize = .lognormal(median: 5, p99: 40)
    }
    let one = Self.script(settings)
    let two = Self.script(settings)
    let other = Self.script(session: 8, settings)

    #expect(one.tokens == two.tokens)
    #expect((0..<one.tokens).map(one.text) == (0..<two.tokens).map(two.text))
    #expect((0..<one.events).map(one.gap) == (0..<two.events).map(two.gap))
    #expect((0..<10).map(one.text) != (0..<10).map(other.text))
  }

  @Test func textOfAToken_DoesNotDependOnTheTokensBefore() {
    let script = Self.script { $0.text = .mixed }

    let backwards = (0..<50).reversed().map(script.text)

    #expect(backwards.reversed() == (0..<50).map(script.text))
  }

  @Test func maxTokens_BoundsTheStream_AndSaysSo() {
    #expect(Self.script(maxTokens: 5).tokens == 5)
    #expect(Self.script(maxTokens: 5).isCutShort)
    #expect(Self.script(maxTokens: 128).isCutShort == false)
    #expect(Self.script(maxTokens: 0).tokens == 0)
    #expect(Self.script(maxTokens: -3).tokens == 0)
  }

  @Test func reasoningTokens_StandBeforeTheVisibleOnes() {
    let script = Self.script(maxTokens: 12) {
      $0.tokens = .constant(10)
      $0.reasoningTokens = 5
    }

    #expect(script.tokens == 12)
    #expect(script.reasoningTokens == 5)
  }

  @Test func lastEvent_HoldsTheRestOfTheTokens() {
    let script = Self.script {
      $0.tokens = .constant(10)
      $0.tokensPerEvent = 4
    }

    #expect(script.events == 3)
    #expect(script.tokens(ofEvent: 2) == 8..<10)
  }

  @Test func latinTextIsASCII_OfAboutTheSizeAsked() {
    for wanted in [1, 2, 5, 20, 1_000] {
      let script = Self.script { $0.tokenSize = .constant(Double(wanted)) }

      let texts = (0..<500).map(script.text)

      let mean = Double(texts.map(\.utf8.count).reduce(0, +)) / 500
      #expect(texts.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } })
      #expect(abs(mean - Double(wanted)) <= 2, "wanted \(wanted), mean \(mean)")
    }
  }

  @Test func mixedTextIsValidUTF8_WithinTheCapacity() {
    let script = Self.script {
      $0.text = .mixed
      $0.tokenSize = .constant(64)
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: script.textCapacity, alignment: 1)
    defer { buffer.deallocate() }

    for token in 0..<2_000 {
      let count = script.writeText(of: token, into: buffer)
      #expect(String(validating: buffer[..<count], as: UTF8.self) != nil)
    }
  }

  @Test func hostileDistributions_StayInRange() {
    let script = Self.script {
      $0.tokens = .constant(.infinity)
      $0.firstToken = .constant(-5)
      $0.interval = .exponential(mean: .greatestFiniteMagnitude)
      $0.tokenSize = .constant(.nan)
    }

    #expect(script.tokens == 10_000_000)
    #expect(script.firstDelay == .zero)
    #expect(script.gap(before: 3) > .zero)
    #expect(script.text(of: 0).utf8.count == 1)
  }

  @Test func traceDistribution_GoesThroughItsValuesInOrder() {
    let script = Self.script { $0.interval = .trace(file: "gaps.txt", values: [1e6, 2e6, 3e6]) }

    let gaps = (1...6).map { script.gap(before: $0).milliseconds }

    #expect(gaps == [1, 2, 3, 1, 2, 3])
  }
}
