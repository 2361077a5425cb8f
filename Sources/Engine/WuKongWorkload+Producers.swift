// The producers of the WuKongIM workload: one request at a time for each reply, in order, at the scenario's pace; and the
// timers of both sides.

internal import EventLoops
internal import Primitives
internal import Scenarios
internal import Transports
internal import WuKongIM

extension WuKongWorkload {
  func timer(ofReply reply: Int) -> Int { settings.load.readers + reply }

  func post(reply: Int) {
    let request = replies[reply].request
    counts.requests += 1
    caller.call(
      WuKongCall(path: request.path, body: request.body) { [unowned self] result, sent in
        answered(reply: reply, request.kind, result, sent)
      })
    // Corrected when the bytes go out; a queue in front of the connections is part of the latency.
    note(reply, request.kind, Instant.now())
  }

  func note(_ reply: Int, _ kind: ReplyProducer.Request.Kind, _ now: Instant) {
    let event: Int
    switch kind {
    case .open: event = 1
    case .delta(let index): event = index + 2
    case .finish: event = settings.load.deltas + 2
    case .base, .snapshot: return
    }
    if truth.sentAt[reply][event] < 0 { truth.sentAt[reply][event] = now.nanoseconds }
  }

  func answered(
    reply: Int, _ kind: ReplyProducer.Request.Kind, _ result: WuKongCallResult, _ sent: Instant
  ) {
    let now = Instant.now()
    let next: ReplyProducer.Next
    switch result {
    case .answer(let status, let body):
      if status == 200, kind != .base { onSample(.append, now - sent) }
      if status == 200, case .delta = kind { counts.deltasSent += 1 }
      next = replies[reply].answered(status: status, body: body)
      if status != 200, case .proceed = next { counts.cacheMisses += 1 }
    case .failed(let failure):
      if failure.isLasting { giveUp(failure) }
      next = replies[reply].unanswered()
    }
    switch next {
    case .proceed:
      let index = if case .delta(let index) = replies[reply].request.kind { index } else { -1 }
      let gap = index >= 0 ? settings.load.interval.sample(&random, index: index) : 0
      if gap > 0 {
        wheel.set(timer(ofReply: reply), at: now + Nanoseconds(Int64(gap)))
      } else {
        post(reply: reply)
      }
    case .retry(let delay):
      counts.retries += 1
      wheel.set(timer(ofReply: reply), at: now + delay)
    case .done:
      counts.replies += 1
      finished(reply, now)
    case .failed(let why):
      counts.repliesFailed += 1
      problem("reply \(reply): \(why)")
      finished(reply, now)
    }
  }

  /// A producer goes on to its next reply.
  func finished(_ reply: Int, _ now: Instant) {
    repliesOpen -= 1
    let next = reply + max(1, settings.load.producers)
    if next < replies.count { post(reply: next) }
    if repliesOpen == 0 {
      producedAt = now
      wheel.set(settings.load.readers + settings.load.replies, at: now + settings.patience)
      for reader in readers { settle(reader, now) }
    }
  }

  func expire(_ now: Instant) {
    var readersDue: [Int] = []
    var repliesDue: [Int] = []
    var isPatienceOver = false
    let (first, last) = (settings.load.readers, settings.load.readers + settings.load.replies)
    wheel.expire(now) { timer, _ in
      if timer < first {
        readersDue.append(timer)
      } else if timer < last {
        repliesDue.append(timer - first)
      } else {
        isPatienceOver = true
      }
    }
    for reply in repliesDue { post(reply: reply) }
    for number in readersDue { act(readers[number], now) { $0.tick($1, &$2) } }
    if isPatienceOver { reopen(now) }
  }

  /// Readers that still lack an end reconnect: what an app does when it is opened again.
  func reopen(_ now: Instant) {
    guard readersOpen > 0 else { return }
    for reader in readers
    where !reader.isComplete && reader.client.state == .online && !reader.timeline.isRecovering {
      counts.reopened += 1
      act(reader, now) { $0.kill($1, &$2) }
    }
    wheel.set(settings.load.readers + settings.load.replies, at: now + settings.patience)
  }
}
