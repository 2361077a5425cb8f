import Primitives
import Recording
import Testing

/// The judge of delivery against a model that keeps every number it has seen.
@Suite struct LedgerTests {
  /// Sets and sums, nothing clever.
  private struct Model {
    var seen: Set<Int64> = []
    var highest: Int64 = 0
    var delivered: Int64 = 0
    var duplicated: Int64 = 0
    var reordered: Int64 = 0
    var corrupted: Int64 = 0

    mutating func receive(_ number: Int64, isIntact: Bool) {
      if !isIntact { corrupted += 1 }
      if !seen.insert(number).inserted || number < 1 {
        duplicated += 1
        return
      }
      delivered += 1
      if number < highest { reordered += 1 }
      highest = max(highest, number)
    }

    var missing: Int64 { highest - delivered }
  }

  @Test func randomStreams_AreJudgedAsTheModelDoes() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)

    for _ in 0..<500 {
      var ledger = Ledger(first: 1)
      var model = Model()
      let span = Int64.random(in: 1...200, using: &random)
      for _ in 0..<Int.random(in: 0...300, using: &random) {
        let number = Int64.random(in: 1...span, using: &random)
        let isIntact = random.uniform() < 0.9
        ledger.receive(number, isIntact: isIntact)
        model.receive(number, isIntact: isIntact)
      }
      #expect(ledger.highest == model.highest, "seed \(seed)")
      #expect(ledger.delivered == model.delivered, "seed \(seed)")
      #expect(ledger.duplicated == model.duplicated, "seed \(seed)")
      #expect(ledger.reordered == model.reordered, "seed \(seed)")
      #expect(ledger.corrupted == model.corrupted, "seed \(seed)")
      #expect(ledger.missing == model.missing, "seed \(seed)")
    }
  }

  /// A plan with K faults of each kind must come out as K of each kind.
  @Test(arguments: [0, 1, 7, 50]) func plantedFaults_AreEachCounted(_ count: Int) {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let length: Int64 = 2_000
    // Every fault has ten numbers to itself, so that none touches another.
    var places = Array(0..<199).shuffled(using: &random).map { Int64($0) * 10 + 3 }
    func take() -> Set<Int64> {
      defer { places.removeFirst(count) }
      return Set(places.prefix(count))
    }
    let lost = take()
    let duplicated = take()
    let swapped = take()
    let corrupted = count <= 49 ? take() : []

    var ledger = Ledger(first: 1)
    var number: Int64 = 1
    while number <= length {
      if swapped.contains(number) {
        ledger.receive(number + 1, isIntact: true)
        ledger.receive(number, isIntact: true)
        number += 2
        continue
      }
      if !lost.contains(number) { ledger.receive(number, isIntact: !corrupted.contains(number)) }
      if duplicated.contains(number) { ledger.receive(number, isIntact: true) }
      number += 1
    }

    #expect(ledger.missing == Int64(lost.count), "seed \(seed)")
    #expect(ledger.duplicated == Int64(duplicated.count), "seed \(seed)")
    #expect(ledger.reordered == Int64(swapped.count), "seed \(seed)")
    #expect(ledger.corrupted == Int64(corrupted.count), "seed \(seed)")
    #expect(ledger.delivered == length - Int64(lost.count), "seed \(seed)")
    #expect(ledger.highest == length)
  }

  @Test func findings_SayWhatEachEventWas() {
    var ledger = Ledger(first: 1)

    #expect(ledger.receive(1, isIntact: true) == .new)
    #expect(ledger.receive(4, isIntact: true) == .new)
    #expect(ledger.missing == 2)
    #expect(ledger.receive(2, isIntact: true) == .reordered)
    #expect(ledger.receive(2, isIntact: true) == .duplicate)
    #expect(ledger.receive(4, isIntact: true) == .duplicate)
    #expect(ledger.receive(3, isIntact: true) == .reordered)
    #expect(ledger.missing == 0)
  }

  @Test func firstNumberUnknown_BeginsWithTheFirstSeen() {
    var ledger = Ledger(first: nil)
    #expect(ledger.isEmpty)

    ledger.receive(1_000, isIntact: true)
    ledger.receive(1_001, isIntact: true)
    ledger.receive(1_003, isIntact: true)

    #expect(ledger.missing == 1 && ledger.delivered == 3 && !ledger.isEmpty)
    // What lies long before the first one is not ours to miss.
    ledger.receive(5, isIntact: true)
    #expect(ledger.duplicated == 1)
  }

  @Test func firstTwoSwapped_AreReorderedAndNotRepeated() {
    var ledger = Ledger(first: nil)

    for number in [12, 11, 13, 14] as [Int64] { ledger.receive(number, isIntact: true) }

    #expect(ledger.delivered == 4 && ledger.reordered == 1 && ledger.duplicated == 0 && ledger.missing == 0)
    #expect(ledger.lowest == 11 && ledger.highest == 14)
  }

  @Test func numbersBelowTheFirstSeen_OpenGapsAndRepeat() {
    var ledger = Ledger(first: nil)

    for number in [10, 7, 7, 8, 11] as [Int64] { ledger.receive(number, isIntact: true) }

    #expect(ledger.delivered == 4 && ledger.reordered == 2 && ledger.duplicated == 1 && ledger.missing == 1)
    #expect(ledger.lowest == 7 && ledger.highest == 11)
    #expect(ledger.delivered + ledger.missing == ledger.highest - ledger.lowest + 1)
  }

  @Test func numberFarAway_WidensTheSpan() {
    var ledger = Ledger(first: nil)
    #expect(ledger.span(with: .max) == 0)
    ledger.receive(1_764_547_200_000, isIntact: true)

    #expect(ledger.span(with: 1_764_547_200_001) == 1)
    #expect(ledger.span(with: .min) > 1 << 40 && ledger.span(with: .max) > 1 << 40)
  }

  @Test func replayAfterAReconnect_IsDuplicatesAndThenNewEvents() {
    var ledger = Ledger(first: 1)
    for number in Int64(1)...50 { ledger.receive(number, isIntact: true) }

    for number in Int64(41)...100 { ledger.receive(number, isIntact: true) }

    #expect(ledger.duplicated == 10 && ledger.delivered == 100 && ledger.missing == 0 && ledger.reordered == 0)
  }

  @Test func restart_KeepsCountsAndForgetsNumbers() {
    var ledger = Ledger(first: 1)
    for number in Int64(1)...5 { ledger.receive(number, isIntact: true) }
    ledger.receive(9, isIntact: true)

    ledger.restart(first: 1)
    for number in Int64(1)...3 { ledger.receive(number, isIntact: true) }

    #expect(ledger.missing == 0 && ledger.highest == 3 && ledger.duplicated == 0)
    #expect(ledger.delivered == 9)
  }

  /// A hostile server opens a gap with every event: memory stays bounded, and what was missed stays missed.
  @Test func gapsBeyondTheBound_CountAsLostForGood() {
    var ledger = Ledger(first: 1)
    let gaps = Int64(Ledger.maximumGaps) + 100
    for index in Int64(1)...gaps { ledger.receive(index * 2, isIntact: true) }

    #expect(ledger.missing == gaps)
    #expect(ledger.overflowed == 100)
    // A late arrival out of a forgotten gap cannot be told from a repeat.
    #expect(ledger.receive(1, isIntact: true) == .duplicate)
    #expect(ledger.receive(gaps * 2 - 1, isIntact: true) == .reordered)
    #expect(ledger.missing == gaps - 1)
  }

  @Test func extremeNumbers_AreJudgedWithoutACrash() {
    for first in [nil, 1] as [Int64?] {
      for numbers in [[Int64.max, .min, 0, -1, 1, .max], [.min, .max, 0], [0, .max, .max - 1, .max]] as [[Int64]] {
        var ledger = Ledger(first: first)
        for number in numbers { ledger.receive(number, isIntact: true) }
        #expect(ledger.delivered + ledger.duplicated == Int64(numbers.count))
        #expect(ledger.missing >= 0)
      }
    }
  }
}
