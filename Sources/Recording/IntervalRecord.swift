// What one worker saw of one variant in one second: counters and histograms. Workers own two and swap them; the
// reporting thread adds them up. Nothing here is shared while it is written.

package import Primitives

/// Plain sums, all of them additive over workers and seconds.
package struct Counters: Sendable {
  package var started: Int64 = 0
  package var completed: Int64 = 0
  package var failed: Int64 = 0
  package var cancelled: Int64 = 0
  package var dropped: Int64 = 0
  /// Of the sessions started: those cancelled because the run's time was over, which goodput leaves out.
  package var cancelledAtEnd: Int64 = 0
  /// Sessions planned to start that did not start in time, for reasons on our side.
  package var startedLate: Int64 = 0

  package var events: Int64 = 0
  package var tokenEvents: Int64 = 0
  package var tokens: Int64 = 0
  package var tokensFromUsage: Int64 = 0
  package var tokensFromEvents: Int64 = 0
  package var bytes: Int64 = 0
  package var reads: Int64 = 0
  package var stalls: Int64 = 0
  package var undecodable: Int64 = 0
  /// Events of numbered streams that no number could be read of.
  package var unnumbered: Int64 = 0
  package var fakeStreaming: Int64 = 0
  /// Token-carrying events that came with others in one read.
  package var burstTokens: Int64 = 0
  package var newConnections: Int64 = 0
  package var reusedConnections: Int64 = 0
  /// Of the new connections with TLS, where it can be told: handshakes that took up an earlier session, and whole ones.
  package var resumedTLS: Int64 = 0
  package var fullTLS: Int64 = 0

  package var good: Int64 = 0

  package var disconnects: Int64 = 0
  package var reconnects: Int64 = 0
  package var recovered: Int64 = 0
  /// Sessions that ended, not complete, before a new event came after their last loss.
  package var neverRecovered: Int64 = 0
  package var expected: Int64 = 0
  package var delivered: Int64 = 0
  package var lost: Int64 = 0
  package var undelivered: Int64 = 0
  package var duplicated: Int64 = 0
  package var reordered: Int64 = 0
  package var corrupted: Int64 = 0
  package var restartedTokens: Int64 = 0
  package var tokensAfterCancel: Int64 = 0

  /// The worker thread's CPU time (user and system, without waits for a core) for parsing, extraction and recording in the
  /// sampled reads, in nanoseconds and less what its clock costs; and the events and bytes in those reads.
  package var sampledParseNanoseconds: Int64 = 0
  package var sampledEvents: Int64 = 0
  package var sampledBytes: Int64 = 0

  package init() {}

  package mutating func add(_ other: Counters) {
    started += other.started
    completed += other.completed
    failed += other.failed
    cancelled += other.cancelled
    dropped += other.dropped
    cancelledAtEnd += other.cancelledAtEnd
    startedLate += other.startedLate
    events += other.events
    tokenEvents += other.tokenEvents
    tokens += other.tokens
    tokensFromUsage += other.tokensFromUsage
    tokensFromEvents += other.tokensFromEvents
    bytes += other.bytes
    reads += other.reads
    stalls += other.stalls
    undecodable += other.undecodable
    unnumbered += other.unnumbered
    fakeStreaming += other.fakeStreaming
    burstTokens += other.burstTokens
    newConnections += other.newConnections
    reusedConnections += other.reusedConnections
    resumedTLS += other.resumedTLS
    fullTLS += other.fullTLS
    good += other.good
    disconnects += other.disconnects
    reconnects += other.reconnects
    recovered += other.recovered
    neverRecovered += other.neverRecovered
    expected += other.expected
    delivered += other.delivered
    lost += other.lost
    undelivered += other.undelivered
    duplicated += other.duplicated
    reordered += other.reordered
    corrupted += other.corrupted
    restartedTokens += other.restartedTokens
    tokensAfterCancel += other.tokensAfterCancel
    sampledParseNanoseconds += other.sampledParseNanoseconds
    sampledEvents += other.sampledEvents
    sampledBytes += other.sampledBytes
  }
}

/// Counters, histograms and errors of one interval or one whole variant; owned by one thread at a time.
///
/// The hot path writes through `hot` and `cells`, whose addresses never change: a pointer costs neither a reference
/// count nor an exclusivity check.
package final class IntervalRecord: @unchecked Sendable {
  /// The counters, at their fixed address.
  package let hot: UnsafeMutablePointer<Counters>
  /// The cells of each metric, by `Metric.rawValue`, and last of all those of the read sizes.
  package let cells: UnsafeMutablePointer<HistogramCells>
  /// By `SessionErrorKind.rawValue`.
  package var errors = [Int64](repeating: 0, count: SessionErrorKind.allCases.count)
  private let histograms: [Histogram]
  /// Sizes of reads in bytes (a histogram of counts, not of times).
  package let readBytes: Histogram
  private static let metricCount = Metric.allCases.count
  /// Where the read sizes stand in `cells`.
  package static let readBytesIndex = metricCount

  package init() {
    hot = .allocate(capacity: 1)
    hot.initialize(to: Counters())
    let block = HistogramBlock(count: Self.metricCount + 1)
    cells = block.cells
    histograms = (0..<Self.metricCount).map { Histogram(in: block, at: $0) }
    readBytes = Histogram(in: block, at: Self.metricCount)
  }

  deinit { hot.deallocate() }

  package var counters: Counters {
    get { hot.pointee }
    _modify { yield &hot.pointee }
  }

  package subscript(metric: Metric) -> Histogram { histograms[metric.rawValue] }

  package func record(_ metric: Metric, _ nanoseconds: Int64) { cells[metric.rawValue].record(nanoseconds) }

  package func add(_ other: IntervalRecord) {
    counters.add(other.counters)
    for index in errors.indices { errors[index] += other.errors[index] }
    for metric in Metric.allCases { self[metric].add(other[metric]) }
    readBytes.add(other.readBytes)
  }

  package func clear() {
    counters = Counters()
    for index in errors.indices { errors[index] = 0 }
    for metric in Metric.allCases { self[metric].clear() }
    readBytes.clear()
  }
}
