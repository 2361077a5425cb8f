import Engine
import Testing

/// A view that is updated at most once in 16 ms, on a clock that the test moves.
struct KeptTextTests {
  /// Plays tokens at fixed gaps and lets every frame fall due; the view's text at the end.
  private func play(_ tokens: [String], gap: Int64) -> KeptText {
    let kept = KeptText()
    var now: Int64 = 1_000_000_000
    for (index, token) in tokens.enumerated() {
      let due = Int64(index) * gap + 1_000_000_000
      while let frame = kept.nextPublish, frame <= due { kept.publish(at: frame) }
      now = due
      Array(token.utf8).withUnsafeBytes { _ = kept.coalesce($0, at: now) }
      if index == 0 { #expect(kept.shown == token) }
    }
    kept.flush()
    return kept
  }

  @Test func aThousandTokensASecondForTwoSeconds_AreAtMost126Updates() {
    let tokens = (0..<2000).map { "t\($0) " }

    let kept = play(tokens, gap: 1_000_000)

    #expect(kept.publishes <= 126)
    #expect(kept.publishes >= 120)
    #expect(kept.shown == tokens.joined())
  }

  @Test func twentyTokensASecond_AreAnUpdateEach() {
    let tokens = (0..<40).map { "t\($0) " }

    let kept = play(tokens, gap: 50_000_000)

    #expect(kept.publishes == 40)
    #expect(kept.shown == tokens.joined())
  }

  @Test func textThatWaits_IsDueAFrameAfterTheLastUpdate() {
    let kept = KeptText()
    Array("a".utf8).withUnsafeBytes { _ = kept.coalesce($0, at: 1000) }
    let began = Array("b".utf8).withUnsafeBytes { kept.coalesce($0, at: 2000) }
    let again = Array("c".utf8).withUnsafeBytes { kept.coalesce($0, at: 3000) }

    #expect(began)
    #expect(!again)
    #expect(kept.nextPublish == 1000 + KeptText.frame)
    #expect(kept.shown == "a")
    kept.publish(at: 1000 + KeptText.frame)
    #expect(kept.shown == "abc")
    #expect(kept.nextPublish == nil)
  }
}
