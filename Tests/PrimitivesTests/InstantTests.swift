import Primitives
import Testing

@Suite struct InstantTests {
  @Test func conversions_RoundToTheNearestNanosecond() {
    #expect(Nanoseconds.seconds(1.5).value == 1_500_000_000)
    #expect(Nanoseconds.milliseconds(0.000_000_4).value == 0)
    #expect(Nanoseconds.milliseconds(0.000_000_6).value == 1)
    #expect(Nanoseconds.milliseconds(-2).value == -2_000_000)
    #expect(Nanoseconds(1_234_567).milliseconds == 1.234567)
    #expect(Nanoseconds(2_500_000_000).seconds == 2.5)
  }

  @Test func distanceAndSum_AreInverse() {
    let a = Instant(nanoseconds: 1_000)
    let b = Instant(nanoseconds: 250)

    #expect(a - b == Nanoseconds(750))
    #expect(b - a == Nanoseconds(-750))
    #expect(b + (a - b) == a)
    #expect(b < a)
  }

  /// Needs the real clock: asserts order alone.
  @Test func clock_NeverGoesBack() {
    var last = Instant.now()

    for _ in 0..<10_000 {
      let now = Instant.now()
      #expect(now >= last)
      last = now
    }
  }
}
