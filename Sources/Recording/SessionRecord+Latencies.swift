// The instants of one session become its latencies, by the definitions of the catalogue. What has no value per session
// (gaps, loop turns, the mock's figures) is absent here.

package import Primitives

extension SessionRecord {
  /// The origin of TTFB, TTFT and E2E: the request's first byte on the wire, or, where a stack cannot see that, its start.
  package var origin: Int64 { requestSent >= 0 ? requestSent : requestStart }

  /// A latency of this session in nanoseconds; nil where one of its ends never came.
  package func latency(_ metric: Metric) -> Int64? {
    switch metric {
    case .sendLag: length(scheduledStart, requestStart)
    case .connect: connect < 0 ? nil : connect
    case .tls: tls < 0 ? nil : tls
    case .ttfb: length(origin, firstByte)
    case .firstEvent: length(origin, firstEvent)
    case .ttft: length(origin, firstToken)
    case .firstOutput: length(origin, firstOutput)
    case .tpot: tokens < 2 ? nil : length(firstToken, lastToken).map { $0 / (tokens - 1) }
    case .e2e: outcome == .completed ? length(origin, end) : nil
    case .maxGap: maxGap < 0 ? nil : maxGap
    case .scheduledTTFB: length(scheduledStart, firstByte)
    case .scheduledFirstEvent: length(scheduledStart, firstEvent)
    case .scheduledTTFT: length(scheduledStart, firstToken)
    case .scheduledFirstOutput: length(scheduledStart, firstOutput)
    case .scheduledE2E: outcome == .completed ? length(scheduledStart, end) : nil
    case .cancelToClose: cancelToClose < 0 ? nil : cancelToClose
    default: nil
    }
  }

  private func length(_ from: Int64, _ to: Int64) -> Int64? { from < 0 || to < 0 ? nil : max(0, to - from) }
}
