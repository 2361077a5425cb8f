// One parser mode against all vectors: which cuts are tried, what it is held against, what fails.

import Primitives
import Streams

struct ModeConformance {
  enum Reference: String {
    case standard
    /// The recorded results of the library.
    case library
    /// The mode's own result for the uncut body.
    case itself
  }

  struct Failure {
    var id: String
    var split: String
    var expected: VectorOutcome
    var got: VectorOutcome
  }

  let mode: ParserMode
  let heldAgainst: Reference
  private(set) var passed = 0
  private(set) var wrong = 0
  private(set) var wrongWhenCut = 0
  private(set) var failures: [Failure] = []
  /// Against the standard, by type and data.
  private(set) var standardPassed = 0
  private(set) var standardWrong = 0
  private(set) var standardWrongWhenCut = 0
  private(set) var features: [String: (passed: Int, of: Int)] = [:]

  var failed: Int { wrong + wrongWhenCut }

  init(_ mode: ParserMode, _ vectors: [ConformanceVector], _ records: LibraryRecords) {
    self.mode = mode
    switch mode {
    case .whatwg, .dataOnly: heldAgainst = .standard
    case .ndjson, .custom: heldAgainst = .itself
    case .eventsource, .eventsourceDataOnly, .lines: heldAgainst = records.has(mode) ? .library : .itself
    }
    for vector in vectors { test(vector, records.record(mode, vector.id)) }
  }

  private mutating func test(_ vector: ConformanceVector, _ record: LibraryRecords.Record?) {
    let uncut = parse(vector.input, [])
    var cutFailure: Failure?
    var uncutFailure: Failure?
    var standardHolds = isStandard(uncut, vector)
    let standardHoldsUncut = standardHolds
    let expected: VectorOutcome
    switch heldAgainst {
    case .standard: expected = mode == .dataOnly ? dataAlone(vector.expected) : vector.expected
    case .library: expected = record.map { VectorOutcome(events: $0.whole) } ?? uncut
    case .itself: expected = uncut
    }
    if !agrees(uncut, expected, vector) {
      uncutFailure = Failure(id: vector.id, split: "nowhere", expected: expected, got: uncut)
    }
    for (name, cuts) in Self.cuts(vector, isQuadratic: mode.dependsOnCuts) {
      let got = parse(vector.input, cuts)
      if !isStandard(got, vector) { standardHolds = false }
      if cutFailure != nil { continue }
      // The eventsource modes depend on the cut by nature; what the library gives is recorded for reads of one byte.
      if mode.dependsOnCuts {
        guard name == "bytes", let record else { continue }
        let wanted = VectorOutcome(events: record.byByte ?? record.whole)
        if got.events != wanted.events { cutFailure = Failure(id: vector.id, split: name, expected: wanted, got: got) }
      } else if !agrees(got, expected, vector) {
        cutFailure = Failure(id: vector.id, split: name, expected: expected, got: got)
      }
    }
    if let uncutFailure {
      wrong += 1
      failures.append(uncutFailure)
    } else if let cutFailure {
      wrongWhenCut += 1
      failures.append(cutFailure)
    } else {
      passed += 1
    }
    var feature = features[vector.feature] ?? (0, 0)
    feature.of += 1
    if standardHolds {
      feature.passed += 1
      standardPassed += 1
    } else if standardHoldsUncut {
      standardWrongWhenCut += 1
    } else {
      standardWrong += 1
    }
    features[vector.feature] = feature
  }

  private func agrees(_ got: VectorOutcome, _ expected: VectorOutcome, _ vector: ConformanceVector) -> Bool {
    if got.events != expected.events { return false }
    if heldAgainst != .standard { return true }
    return got.lastEventID == expected.lastEventID && (got.retry == expected.retry || vector.allowsOtherRetry)
  }

  /// Type and data of each event, as the standard has them. A mode without types is compared by data.
  private func isStandard(_ got: VectorOutcome, _ vector: ConformanceVector) -> Bool {
    got.events.count == vector.expected.events.count
      && zip(got.events, vector.expected.events).allSatisfy {
        $0.data == $1.data && ($0.event ?? Array("message".utf8)) == $1.event
      }
  }

  /// What `data-only` must give: the standard's data, without types, ids and retry.
  private func dataAlone(_ outcome: VectorOutcome) -> VectorOutcome {
    VectorOutcome(
      events: outcome.events.map {
        var event = $0
        event.event = Array("message".utf8)
        event.id = []
        return event
      })
  }

  /// Names and places of the cuts.
  private static func cuts(_ vector: ConformanceVector, isQuadratic: Bool) -> [(String, [Int])] {
    let count = vector.input.count
    var all: [(String, [Int])] = []
    let isLarge = count > 1 << 16
    if !isQuadratic && !isLarge || count <= 5000 { all.append(("bytes", Array(0..<count))) }
    if count <= 4096 { all += (0...count).map { ("at \($0)", [$0]) } }
    var random = SeededRandom(seed: 1, purpose: "conformance")
    let rounds = isQuadratic && count > 4096 ? 4 : isLarge ? 20 : 50
    for round in 0..<rounds {
      let parts = isQuadratic ? 4 : isLarge ? 50 : 1 + Int(random.next() % 12)
      let cuts = (0..<parts).map { _ in Int(random.next() % UInt64(count + 1)) }.sorted()
      all.append(("random \(round)", cuts))
    }
    return all
  }

  private func parse(_ body: [UInt8], _ cuts: [Int]) -> VectorOutcome {
    var parser = StreamParser(ParserSettings(mode))
    var sink = OutcomeSink()
    body.withUnsafeBytes { whole in
      var at = 0
      for cut in cuts + [body.count] {
        let end = max(at, cut)
        try? parser.feed(UnsafeRawBufferPointer(rebasing: whole[at..<end]), into: &sink)
        at = end
      }
    }
    try? parser.finish(into: &sink)
    // The id is kept as it came; what a client sends is text.
    let id = Array(String(decoding: parser.lastEventID, as: UTF8.self).utf8)
    return VectorOutcome(events: sink.events, lastEventID: id, retry: parser.retry)
  }

  var document: JSONValue {
    func number(_ value: Int) -> JSONValue { .integer(Int64(value)) }
    return .object([
      "parser": .string(mode.rawValue), "held_against": .string(heldAgainst.rawValue), "passed": number(passed),
      "failed": number(failed), "wrong": number(wrong), "wrong_only_when_cut": number(wrongWhenCut),
      "standard": .object([
        "passed": number(standardPassed), "wrong": number(standardWrong), "wrong_only_when_cut": number(standardWrongWhenCut),
      ]),
      "features": .object(
        JSONObject(
          features.sorted { $0.key < $1.key }.map {
            ($0.key, .object(["passed": number($0.value.passed), "of": number($0.value.of)]))
          })),
      "failures": .array(
        failures.map {
          .object([
            "id": .string($0.id), "split": .string($0.split), "expected": $0.expected.document, "got": $0.got.document,
          ])
        }),
    ])
  }
}

private struct OutcomeSink: EventSink {
  var events: [VectorEvent] = []
  mutating func receive(_ event: EventSlices) { events.append(VectorEvent(event)) }
}
