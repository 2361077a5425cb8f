// Times one cell of `bench`: a mode, perhaps a decoder, an input and a read size. Checks what comes out before it takes the time.

import CPlatform
import Foundation
import Primitives
import Streams

/// One row of the result.
struct BenchRow {
  var input: String
  var parser: ParserMode
  var decoder: DecoderKind?
  /// 0 means whole.
  var chunkBytes: Int
  var nanosecondsPerEvent: Double?
  var bytesPerEvent: Double = 0
  var allocationsPerEvent: Double?
  var isChecked = false
  /// Why there is no figure: `budget`, `check`.
  var skipped: String?
  /// With `budget`: the largest size that fitted, and the exponent of time over size.
  var largestBytes: Int?
  var growthExponent: Double?

  var eventsPerSecond: Double? { nanosecondsPerEvent.map { 1e9 / $0 } }
  var gigabytesPerSecond: Double? { nanosecondsPerEvent.map { bytesPerEvent / $0 } }
}

/// What the machine does with the same bytes, in the same run.
struct BenchLimit {
  var input: String
  var chunkBytes: Int
  var memchrGigabytesPerSecond: Double
  var memcpyGigabytesPerSecond: Double
}

/// Reads of one size around a body without an end, so that they are not aligned to its events.
struct ReadRing {
  let bytes: [UInt8]
  let bodyCount: Int
  let chunk: Int

  /// `chunkBytes` 0 means the whole body in each read.
  init(_ body: [UInt8], chunkBytes: Int) {
    bodyCount = body.count
    chunk = chunkBytes == 0 ? body.count : min(chunkBytes, body.count)
    bytes = body + body.prefix(chunk)
  }

  /// Hands out reads until `total` bytes are passed.
  @inline(__always)
  func forEachRead(of total: Int, from position: inout Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { whole in
      var left = total
      while left > 0 {
        body(UnsafeRawBufferPointer(rebasing: whole[position..<(position + chunk)]))
        left -= chunk
        position += chunk
        if position >= bodyCount { position -= bodyCount }
      }
    }
  }
}

private struct CountingSink: EventSink {
  var events = 0
  var bytes = 0

  @inline(__always)
  mutating func receive(_ event: EventSlices) {
    events &+= 1
    bytes &+= event.data.count
  }
}

private struct DecodingSink: EventSink {
  var extractor: TokenExtractor
  let scratch: ExtractorScratch
  var events = 0
  var bytes = 0

  @inline(__always)
  mutating func receive(_ event: EventSlices) {
    var meaning = EventMeaning()
    extractor.read(event, stamp: false, scratch: scratch, into: &meaning)
    events &+= 1
    bytes &+= meaning.content.count
  }
}

private struct CheckingSink: EventSink {
  var events = 0
  var checksum: UInt32 = 0

  mutating func receive(_ event: EventSlices) {
    events += 1
    checksum = CRC32C.checksum(event.data, continuing: checksum)
    checksum = withUnsafeBytes(of: UInt8(0x0A)) { CRC32C.checksum($0, continuing: checksum) }
  }
}

enum ParserBench {
  /// What a cell may take.
  static let budget = Nanoseconds.seconds(2)

  static func limit(_ input: BenchInput, _ body: [UInt8], chunkBytes: Int, rounds: Int) -> BenchLimit {
    let ring = ReadRing(body, chunkBytes: chunkBytes)
    var target = [UInt8](repeating: 0, count: ring.chunk)
    var lines = 0
    let total = max(body.count, 8 << 20) / body.count * body.count
    var position = 0
    let scan = best(rounds) {
      ring.forEachRead(of: total, from: &position) { read in
        var at = read.baseAddress!
        let end = at + read.count
        while let hit = memchr(at, 0x0A, end - at) {
          lines &+= 1
          at = UnsafeRawPointer(hit) + 1
        }
      }
    }
    let copy = best(rounds) {
      ring.forEachRead(of: total, from: &position) { read in
        target.withUnsafeMutableBytes { $0.copyMemory(from: read) }
      }
    }
    withExtendedLifetime((lines, target)) {}
    return BenchLimit(
      input: input.name, chunkBytes: chunkBytes, memchrGigabytesPerSecond: Double(total) / scan,
      memcpyGigabytesPerSecond: Double(total) / copy)
  }

  static func row(
    _ input: BenchInput, _ body: [UInt8], _ settings: ParserSettings, decoder: DecoderKind?, chunkBytes: Int, rounds: Int,
    foreign: (any ForeignDecoder)?
  ) -> BenchRow {
    var row = BenchRow(input: input.name, parser: settings.mode, decoder: decoder, chunkBytes: chunkBytes)
    // How long the whole body takes, found on growing parts of it.
    var part = min(body.count, 1 << 16)
    var earlier: (size: Int, time: Double)?
    while true {
      let start = CPlatform_thread_cpu_ns()
      _ = feedOnce(part == body.count ? body : Array(body.prefix(part)), settings, chunkBytes, decoder, input.api, foreign)
      let time = max(1, Double(CPlatform_thread_cpu_ns() - start))
      let exponent = earlier.map { log(time / $0.time) / log(Double(part) / Double($0.size)) }
      if part == body.count { break }
      let next = min(body.count, part * 2)
      let predicted = time * pow(Double(next) / Double(part), max(1, exponent ?? 1))
      if predicted > Double(budget.value) {
        row.skipped = "budget"
        row.largestBytes = part
        row.growthExponent = exponent
        return row
      }
      earlier = (part, time)
      part = next
    }
    guard check(input, body, settings, chunkBytes) else {
      row.skipped = "check"
      return row
    }
    row.isChecked = true
    if let decoder, let api = input.api, !checkDecoder(body, settings, decoder, api, foreign) {
      row.skipped = "check"
      row.isChecked = false
      return row
    }
    return timeUnchecked(row, body, settings, input.api, rounds: rounds, foreign: foreign)
  }

  /// The figures of a cell, without a check.
  static func timeUnchecked(
    _ cell: BenchRow, _ body: [UInt8], _ settings: ParserSettings, _ api: StreamAPI?, rounds: Int,
    foreign: (any ForeignDecoder)?
  ) -> BenchRow {
    var row = cell
    if let decoder = row.decoder, let api {
      let scratch = ExtractorScratch(foreignDecoder: foreign)
      measure(&row, body, settings, rounds, DecodingSink(extractor: TokenExtractor(api: api, decoder: decoder), scratch: scratch)) {
        ($0.events, $0.bytes)
      }
    } else {
      measure(&row, body, settings, rounds, CountingSink()) { ($0.events, $0.bytes) }
    }
    return row
  }

  /// The body so often that it does not fit the caches: 256 MiB, or what a slow mode does in a second.
  static func coldBody(_ body: [UInt8], nanosecondsPerByte: Double) -> [UInt8] {
    let wanted = min(256 << 20, Int(1e9 / max(nanosecondsPerByte, 0.001)))
    let repeats = max(1, wanted / max(1, body.count))
    var cold: [UInt8] = []
    cold.reserveCapacity(body.count * repeats)
    for _ in 0..<repeats { cold.append(contentsOf: body) }
    return cold
  }

  /// Times a cell that has been checked.
  private static func measure<Sink: EventSink>(
    _ row: inout BenchRow, _ body: [UInt8], _ settings: ParserSettings, _ rounds: Int, _ empty: Sink,
    _ counts: (Sink) -> (events: Int, bytes: Int)
  ) {
    let ring = ReadRing(body, chunkBytes: row.chunkBytes)
    var parser = StreamParser(settings)
    var sink = empty
    var position = 0
    func pass(_ total: Int) {
      ring.forEachRead(of: total, from: &position) { read in
        try? parser.feed(read, into: &sink)
      }
    }
    // One body to warm up, then as many whole bodies as some 20 ms hold.
    var start = CPlatform_thread_cpu_ns()
    pass(body.count)
    let once = max(1, CPlatform_thread_cpu_ns() - start)
    let repeats = max(1, Int(20_000_000 / once))
    let total = body.count * repeats
    if total > body.count { pass(body.count) }
    var bestTime = Double.infinity
    let limit = CPlatform_monotonic_ns() + budget.value
    for round in 0..<rounds {
      let before = counts(sink).events
      start = CPlatform_thread_cpu_ns()
      pass(total)
      let time = Double(CPlatform_thread_cpu_ns() - start)
      let events = counts(sink).events - before
      if events > 0 {
        bestTime = min(bestTime, time / Double(events))
        row.bytesPerEvent = Double(total) / Double(events)
      }
      if CPlatform_monotonic_ns() > limit, round > 0 { break }
    }
    row.nanosecondsPerEvent = bestTime.isFinite ? bestTime : nil
    if once > budget.value / 4 { return }
    let allocationsBefore = AllocationCount.now()
    let eventsBefore = counts(sink).events
    pass(body.count * (body.count < 1 << 20 ? 2 : 1))
    let events = counts(sink).events - eventsBefore
    if let before = allocationsBefore, let after = AllocationCount.now(), events > 0 {
      row.allocationsPerEvent = Double(max(0, after - before - AllocationCount.ownCost)) / Double(events)
    }
  }

  /// Whether the mode gives, in reads of this size, what it must.
  private static func check(_ input: BenchInput, _ body: [UInt8], _ settings: ParserSettings, _ chunkBytes: Int) -> Bool {
    var wanted = CheckingSink()
    if let expected = input.expected(for: settings.mode) {
      for data in expected {
        data.withUnsafeBytes {
          wanted.receive(EventSlices(data: $0, type: $0, lastEventID: $0))
        }
      }
    } else {
      feed(body, settings, 0, &wanted)
    }
    var got = CheckingSink()
    feed(body, settings, chunkBytes, &got)
    return got.events == wanted.events && got.checksum == wanted.checksum
  }

  /// Whether the decoder reads what simdjson reads.
  private static func checkDecoder(
    _ body: [UInt8], _ settings: ParserSettings, _ decoder: DecoderKind, _ api: StreamAPI, _ foreign: (any ForeignDecoder)?
  ) -> Bool {
    func text(_ decoder: DecoderKind) -> UInt32 {
      var sink = TextSink(extractor: TokenExtractor(api: api, decoder: decoder), scratch: ExtractorScratch(foreignDecoder: foreign))
      feed(body, settings, 0, &sink)
      return sink.checksum
    }
    return decoder == .none || text(decoder) == text(.simdjson)
  }

  private static func feed<Sink: EventSink>(_ body: [UInt8], _ settings: ParserSettings, _ chunkBytes: Int, _ sink: inout Sink) {
    var parser = StreamParser(settings)
    body.withUnsafeBytes { whole in
      var at = 0
      while at < whole.count {
        let end = chunkBytes == 0 ? whole.count : min(whole.count, at + chunkBytes)
        try? parser.feed(UnsafeRawBufferPointer(rebasing: whole[at..<end]), into: &sink)
        at = end
      }
    }
    try? parser.finish(into: &sink)
  }

  private static func feedOnce(
    _ body: [UInt8], _ settings: ParserSettings, _ chunkBytes: Int, _ decoder: DecoderKind?, _ api: StreamAPI?,
    _ foreign: (any ForeignDecoder)?
  ) -> Int {
    if let decoder, let api {
      var sink = DecodingSink(
        extractor: TokenExtractor(api: api, decoder: decoder), scratch: ExtractorScratch(foreignDecoder: foreign))
      feed(body, settings, chunkBytes, &sink)
      return sink.events
    }
    var sink = CountingSink()
    feed(body, settings, chunkBytes, &sink)
    return sink.events
  }

  /// Nanoseconds of CPU of the quickest of some rounds.
  private static func best(_ rounds: Int, _ body: () -> Void) -> Double {
    body()
    var best = Double.infinity
    for _ in 0..<rounds {
      let start = CPlatform_thread_cpu_ns()
      body()
      best = min(best, Double(CPlatform_thread_cpu_ns() - start))
    }
    return best
  }
}

private struct TextSink: EventSink {
  var extractor: TokenExtractor
  let scratch: ExtractorScratch
  var checksum: UInt32 = 0

  mutating func receive(_ event: EventSlices) {
    checksum = CRC32C.checksum(extractor.read(event, stamp: false, scratch: scratch).text, continuing: checksum)
  }
}

/// Allocations of this process so far, from jemalloc's own counters; exact after the thread's cache is flushed.
enum AllocationCount {
  /// What reading the count itself allocates.
  static let ownCost: Int = {
    _ = now()
    guard let a = now(), let b = now() else { return 0 }
    return max(0, b - a)
  }()

  static func now() -> Int? {
    CPlatform_mallctl_flush_thread_cache()
    CPlatform_mallctl_refresh()
    var small: UInt64 = 0
    var large: UInt64 = 0
    // 4096 is MALLCTL_ARENAS_ALL.
    guard CPlatform_mallctl_read("stats.arenas.4096.small.nrequests", &small),
      CPlatform_mallctl_read("stats.arenas.4096.large.nrequests", &large)
    else { return nil }
    return Int(small + large)
  }
}
