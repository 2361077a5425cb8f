// Text with units, both ways.

import Primitives
import Scenarios
import Testing

@Suite struct UnitsTests {
  @Test(arguments: [
    ("200ms", 200_000_000), ("2.5s", 2_500_000_000), ("1m", 60_000_000_000), ("1h", 3_600_000_000_000),
    ("100us", 100_000),
    ("100µs", 100_000), ("7ns", 7), ("0s", 0), ("0.1s", 100_000_000), ("001s", 1_000_000_000),
  ])
  func durationsHaveUnits(_ text: String, _ nanoseconds: Int64) {
    #expect(Units.duration(text) == Nanoseconds(nanoseconds))
  }

  @Test(arguments: [
    "", "5", "-5s", "5 s", "5S", "s", ".5s", "5.s", "1.2.3s", "1e3s", "5sec", "nan", "infs", "9000h ",
    "99999999h", "5\u{0}s",
  ])
  func anythingElseIsNoDuration(_ text: String) {
    #expect(Units.duration(text) == nil)
  }

  @Test func sizesAndRatesHaveUnits() {
    #expect(Units.size("16KiB") == 16_384)
    #expect(Units.size("1MiB") == 1_048_576)
    #expect(Units.size("512B") == 512)
    #expect(Units.size("16KB") == nil)
    #expect(Units.rate("20/s") == 20)
    #expect(Units.rate("90/min") == 1.5)
    #expect(Units.rate("7200/h") == 2)
    #expect(Units.rate("20") == nil)
    #expect(Units.rate("/s") == nil)
  }

  @Test func durationTextReadsBack() {
    var random = SeededRandom(seed: 1)
    for _ in 0..<2_000 {
      let duration = Nanoseconds(
        Int64(random.next() % 10_000_000_000_000) / [1, 1_000, 1_000_000, 1_000_000_000].randomElement(
          using: &random)!)

      #expect(Units.duration(Units.text(duration)) == duration)
    }
  }
}
