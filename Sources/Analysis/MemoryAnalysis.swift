// Readings of memory become the slope of allocated bytes over tokens with its interval, bytes per session and peaks.
//
// The rule for what is left out: of each repeat, a sample counts for the slope while the plateau lasts, that is from
// the first to the last sample at which at least 95 % of that repeat's peak of live sessions were live; counted from where
// 99 % of the most sessions that ever streamed at once have had an event (a session takes its buffers with its first bytes,
// whenever they come), without the first fifth of that span, at least 2 s (pools and caches still fill), and its last
// twentieth (sessions are being torn down). Of a plateau of over a minute the lowest sample of each second counts.

package import Recording
internal import Primitives

package enum MemoryAnalysis {
  /// Fewer samples on the plateau than this give no slope.
  package static let fewestSamples = 12

  /// The figures of one variant's samples, in the order in which they were taken.
  package static func figures(_ samples: [MemorySample], seed: UInt64 = 1, resamples: Int = 1_000) -> MemoryFigures {
    var figures = MemoryFigures()
    figures.peakAllocatedBytes = samples.map(\.allocated).filter { $0 >= 0 }.max()
    figures.peakRSSBytes = samples.map(\.rss).filter { $0 >= 0 }.max()
    let repeats = Dictionary(grouping: samples.filter { $0.allocated >= 0 }, by: \.repetition)
      .sorted { $0.key < $1.key }.map(\.value)
    let plateaus = repeats.map(plateau).filter { $0.count >= fewestSamples }
    (figures.perSessionBytes, figures.perSessionAbsentBecause) = perSession(repeats)
    figures.allocationsPerEvent = allocations(plateaus)
    let lows = plateaus.map(lowest)
    guard let fit = slope(lows) else {
      figures.slopeAbsentBecause =
        "fewer than \(fewestSamples) readings while all sessions were live and streaming: longer streams, or more of them at once, would give it"
      return figures
    }
    figures.slopeBytesPerToken = fit
    var random = SeededRandom(seed: seed, purpose: "memory slope")
    var slopes: [Double] = []
    for _ in 0..<resamples {
      let drawn = lows.map { resample($0, &random) }
      if let slope = slope(drawn) { slopes.append(slope) }
    }
    slopes.sort()
    guard slopes.count >= 100 else { return figures }
    let tokens = plateaus.reduce(Int64(0)) { $0 + max(0, ($1.last?.tokens ?? 0) - ($1.first?.tokens ?? 0)) }
    let own = tokens > 0 ? ownBooks / Double(tokens) : 0
    figures.slopeLow = slopes[Int(0.025 * Double(slopes.count))] - own
    figures.slopeHigh = slopes[min(slopes.count - 1, Int(0.975 * Double(slopes.count)))] + own
    return figures
  }

  /// What the harness's own books may take over a plateau, in bytes: lists and buffers that grow once. The interval is
  /// widened by it, since readings to the byte would call every such step a growth.
  package static let ownBooks = 32_768.0

  /// Of a plateau of over a minute, the lowest sample of each second: what finished sessions leave waits up to a second for the disk,
  /// so that the readings between go up and down in waves, and the waves with the load's.
  static func lowest(_ plateau: [MemorySample]) -> [MemorySample] {
    guard let first = plateau.first, let last = plateau.last, last.time - first.time > 60_000_000_000 else { return plateau }
    return Dictionary(grouping: plateau) { ($0.time - first.time) / 1_000_000_000 }
      .sorted { $0.key < $1.key }.compactMap { $0.value.min { $0.held < $1.held } }
  }

  /// The samples of one repeat that count for its slope.
  package static func plateau(_ samples: [MemorySample]) -> [MemorySample] {
    guard let peak = samples.map(\.live).max(), peak > 0 else { return [] }
    let enough = Int64((0.95 * Double(peak)).rounded(.up))
    guard
      let first = samples.firstIndex(where: { $0.live >= enough }),
      let last = samples.lastIndex(where: { $0.live >= enough }), last > first
    else { return [] }
    let mostStreaming = samples[first...last].map(\.streaming).max() ?? -1
    let streaming =
      samples[first...last].firstIndex {
        $0.tokens > samples[first].tokens && (mostStreaming <= 0 || Double($0.streaming) >= 0.99 * Double(mostStreaming))
      } ?? first
    let begin = samples[streaming].time
    let length = samples[last].time - begin
    let settling = min(length / 2, max(length / 5, 2_000_000_000))
    return samples[streaming...last].filter { $0.time >= begin + settling && $0.time <= begin + length - length / 20 }
  }

  /// Least squares of held bytes over tokens, both per live session, with a level of its own for each repeat.
  static func slope(_ plateaus: [[MemorySample]]) -> Double? {
    var xy = 0.0
    var xx = 0.0
    for samples in plateaus where !samples.isEmpty {
      let live = Double(max(1, samples.map(\.live).max() ?? 1))
      let points = samples.map { sample -> (x: Double, y: Double) in
        (Double(sample.tokens) / live, Double(sample.held) / live)
      }
      let meanX = points.reduce(0) { $0 + $1.x } / Double(points.count)
      let meanY = points.reduce(0) { $0 + $1.y } / Double(points.count)
      for point in points {
        xy += (point.x - meanX) * (point.y - meanY)
        xx += (point.x - meanX) * (point.x - meanX)
      }
    }
    return xx > 0 ? xy / xx : nil
  }

  /// Moving blocks of the residuals, put back on the line: samples depend on their neighbours, so whole stretches of
  /// about n^(1/3)·2 samples move together (Künsch 1989).
  private static func resample(_ samples: [MemorySample], _ random: inout SeededRandom) -> [MemorySample] {
    guard let slope = slope([samples]) else { return samples }
    let meanTokens = samples.reduce(0.0) { $0 + Double($1.tokens) } / Double(samples.count)
    let meanBytes = samples.reduce(0.0) { $0 + Double($1.held) } / Double(samples.count)
    let fitted = samples.map { meanBytes + slope * (Double($0.tokens) - meanTokens) }
    let residuals = zip(samples, fitted).map { Double($0.held) - $1 }
    let n = samples.count
    let block = min(n, max(4, Int((2 * Maths.pow(Double(n), 1.0 / 3)).rounded(.up))))
    var drawn = samples
    var at = 0
    while at < n {
      let from = Int(random.next() % UInt64(n - block + 1))
      for offset in 0..<min(block, n - at) {
        drawn[at + offset].held = Int64((fitted[at + offset] + residuals[from + offset]).rounded())
      }
      at += block
    }
    return drawn
  }

  /// Least squares of held bytes over live sessions, over all samples in which their number changed: with the idle
  /// state, the ramp and the plateau in them. Or why there is none: a slope within three of its standard errors from 0 is
  /// what else the process did, and what is below 0 is no session's memory.
  private static func perSession(_ repeats: [[MemorySample]]) -> (bytes: Double?, absentBecause: String?) {
    var xy = 0.0
    var xx = 0.0
    var yy = 0.0
    var freedom = -1.0
    for all in repeats {
      // Up to the end of the plateau: afterwards finished sessions' records are on their way to the disk.
      guard let peak = all.map(\.live).max(), let last = all.lastIndex(where: { $0.live == peak }), last > 0 else { continue }
      let samples = all[...last]
      let meanX = samples.reduce(0.0) { $0 + Double($1.live) } / Double(samples.count)
      let meanY = samples.reduce(0.0) { $0 + Double($1.held) } / Double(samples.count)
      for sample in samples {
        let x = Double(sample.live) - meanX
        let y = Double(sample.held) - meanY
        xy += x * y
        xx += x * x
        yy += y * y
      }
      freedom += Double(samples.count) - 1
    }
    if repeats.isEmpty { return (nil, nil) }
    guard xx > 0 else { return (nil, "the number of live sessions never changed while memory was read") }
    let slope = xy / xx
    let error = freedom > 0 ? (max(0, yy - slope * xy) / freedom / xx).squareRoot() : 0
    if slope < 0 { return (nil, "the process held less with sessions than without: what it had held before hides theirs") }
    if slope <= 3 * error {
      return (nil, "the difference is no more than what memory varied by otherwise: more sessions would show it")
    }
    return (slope, nil)
  }

  /// Requests to the allocator per event between the ends of the plateaus.
  private static func allocations(_ plateaus: [[MemorySample]]) -> Double? {
    var requests: Int64 = 0
    var events: Int64 = 0
    for samples in plateaus {
      guard let first = samples.first, let last = samples.last, first.requests >= 0, last.requests >= first.requests
      else { continue }
      requests += last.requests - first.requests
      events += last.events - first.events
    }
    return Figure.ratio(requests, events)
  }
}
