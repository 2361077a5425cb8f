// What the readers of the WuKongIM workload see: histories, events, the truth they are held against, the points at which
// they are dropped, and when they are complete.

internal import EventLoops
internal import Primitives
internal import Recording
internal import WuKongIM

extension WuKongWorkload {
  func online(_ reader: WuKongReader, _ generation: Int, _ now: Instant) {
    counts.connects += 1
    reader.onlineAt = now
    reader.failure = nil
    if reader.record.value.requestSent < 0 {
      reader.record.value.requestSent = now.nanoseconds - origin.nanoseconds
      reader.record.value.connect = (now - reader.dialledAt).value
    } else {
      reader.record.value.reconnects += 1
    }
    reader.disconnect?.requestSent = now.nanoseconds - origin.nanoseconds
    let wanted = reader.timeline.connected()
    counts.histories += 1
    let key = channelKey(reader.channel)
    let body: JSONValue = .object([
      "login_uid": .string(reader.uid), "channel_id": .string(key.id.string),
      "channel_type": .integer(Int64(key.type)),
      "start_message_seq": .integer(0), "end_message_seq": .integer(0), "limit": .integer(40),
      "pull_mode": .integer(0),
      "event_summary_mode": .string("full"),
    ])
    caller.call(
      WuKongCall(path: "/channel/messagesync", body: Array(body.text().utf8)) { [unowned self] result, sent in
        let now = Instant.now()
        if case .answer(200, let body) = result, let document = try? JSONReader.read(body),
          let page = try? HistoryPage(response: document)
        {
          onSample(.history, now - sent)
          reader.timeline.apply(page, generation: wanted)
        } else {
          counts.historiesFailed += 1
          reader.timeline.historyFailed(generation: wanted)
        }
        if wanted == reader.timeline.generation { recovered(reader, now) }
      })
  }

  func recovered(_ reader: WuKongReader, _ now: Instant) {
    if reader.isComplete { return }
    for reply in truth.replies[reader.channel] { reader.verify(reply: reply, truth, isGrowth: false) }
    if var disconnect = reader.disconnect {
      onSample(.recovery, now - reader.dialledAt)
      disconnect.firstNewEvent = now.nanoseconds - origin.nanoseconds
      onDisconnect(disconnect)
      reader.disconnect = nil
    }
    settle(reader, now)
  }

  func receive(_ event: StreamEvent, _ reader: WuKongReader, _ now: Instant) {
    counts.eventsReceived += 1
    reader.eventsSeen += 1
    reader.record.value.events += 1
    reader.record.value.lastToken = now.nanoseconds - origin.nanoseconds
    if reader.record.value.firstEvent < 0 {
      reader.record.value.firstEvent = now.nanoseconds - origin.nanoseconds
    }
    let reply = Self.number(event.clientMessageNumber.string, after: "reply-")
    if let reply, reply < replies.count, !reader.timeline.isRecovering {
      if event.kind == .delta, let colon = event.id.string.utf8.lastIndex(of: UInt8(ascii: ":")),
        let number = Int(event.id.string[event.id.string.utf8.index(after: colon)...]),
        truth.sentAt[reply].indices.contains(number),
        truth.sentAt[reply][number] >= 0
      {
        onSample(.fanOut, Nanoseconds(now.nanoseconds - truth.sentAt[reply][number]))
      }
    }
    if event.kind == .delta { reader.record.value.tokenEvents += 1 }
    reader.timeline.receive(event)
    if !reader.timeline.isRecovering, let reply, reply < replies.count {
      reader.verify(reply: reply, truth, isGrowth: event.kind == .delta)
    }
    if let point = reader.kills.last, reader.eventsSeen >= point {
      kill(reader, now)
    } else if event.kind == .finish {
      settle(reader, now)
    }
  }

  static func number(_ text: String, after prefix: String) -> Int? {
    text.utf8.starts(with: prefix.utf8) ? Int(text.dropFirst(prefix.count)) : nil
  }

  func kill(_ reader: WuKongReader, _ now: Instant) {
    reader.kills.removeLast()
    counts.kills += 1
    // Within the machine's own actions: the rest of them no longer matters.
    act(reader, now) { $0.kill($1, &$2) }
  }

  func offline(
    _ reader: WuKongReader, _ loss: WuKongClient.Loss, _ delay: Nanoseconds?, _ now: Instant
  ) {
    counts.disconnects += 1
    reader.record.value.disconnects += 1
    switch loss {
    case .protocolError:
      // A frame that is none of the protocol's.
      reader.timeline.receiveUndecodable()
      reader.failure = .protocolError
    case .connectTimeout: reader.failure = .timeoutConnect
    case .authenticationTimeout, .pongTimeout: reader.failure = .timeoutIdle
    case .refused, .disconnected: reader.failure = .streamError
    case .transport, .killed: break
    }
    var record = DisconnectRecord()
    record.variant = settings.variant
    record.repetition = settings.repetition
    record.session = Int64(reader.number)
    record.number = reader.record.value.disconnects
    record.cause = loss == .transport ? (reader.failure ?? .reset).word : Self.word(loss)
    record.detected = now.nanoseconds - origin.nanoseconds
    record.delayAsked = delay?.value ?? -1
    record.delayTaken = delay?.value ?? -1
    record.attempts = Int32(reader.client.failures)
    // Lost again before it had recovered: that loss never ended by itself, and still counts.
    if let open = reader.disconnect { onDisconnect(open) }
    reader.disconnect = record
  }

  static func word(_ loss: WuKongClient.Loss) -> String {
    switch loss {
    case .connectTimeout: "timeout_connect"
    case .authenticationTimeout, .pongTimeout: "timeout_idle"
    case .transport: "reset"
    case .protocolError: "protocol"
    case .refused, .disconnected: "stream_error"
    case .killed: "killed"
    }
  }

  /// A reader whose replies are all here, and who was dropped as often as asked, is complete.
  func settle(_ reader: WuKongReader, _ now: Instant) {
    guard !reader.isComplete, repliesOpen == 0, reader.client.state == .online, !reader.timeline.isRecovering
    else { return }
    if !reader.kills.isEmpty {
      kill(reader, now)
      return
    }
    guard reader.verified.count == truth.replies[reader.channel].count else { return }
    close(reader, completed: true)
  }

  func close(_ reader: WuKongReader, completed: Bool) {
    guard !reader.isComplete else { return }
    reader.isComplete = true
    readersOpen -= 1
    let now = Instant.now()
    // At last every byte once more.
    for reply in truth.replies[reader.channel] { reader.verify(reply: reply, truth, isGrowth: false) }
    let isRight = completed && reader.wrongTexts == 0
    counts.wrongTexts += reader.wrongTexts
    counts.truncatedTexts += reader.verified.count { truth.isTruncated[$0] }
    add(reader.timeline.counts)
    if isRight { counts.readersCompleted += 1 } else { counts.readersFailed += 1 }
    if !completed && !isGivenUp {
      let missing = truth.replies[reader.channel].filter { !reader.verified.contains($0) }
      problem("reader \(reader.number): \(missing.count) replies not whole, state \(reader.client.state)")
    }
    var record = reader.record.value
    record.variant = settings.variant
    record.repetition = settings.repetition
    record.session = Int64(reader.number)
    record.outcome = isRight ? .completed : .failed
    record.error = isRight ? nil : reader.failure ?? (reader.timeline.counts.undecodable > 0 ? .parse : .truncated)
    record.end = now.nanoseconds - origin.nanoseconds
    record.expected = Int64(truth.replies[reader.channel].count)
    record.delivered = Int64(reader.verified.count)
    record.undelivered = record.expected - record.delivered
    record.duplicated = Int64(reader.timeline.counts.duplicates)
    record.corrupted = Int64(reader.wrongTexts)
    record.tokens = record.tokenEvents
    record.tokenSource = .events
    onSession(record)
    act(reader, now) { client, _, actions in client.stop(&actions) }
    hangUp(reader)
    wheel.cancel(reader.number)
    reader.timeline = StreamTimeline()
  }

  func add(_ counts: TimelineCounts) {
    self.counts.timeline.duplicates += counts.duplicates
    self.counts.timeline.covered += counts.covered
    self.counts.timeline.gaps += counts.gaps
    self.counts.timeline.overflow += counts.overflow
    self.counts.timeline.undecodable += counts.undecodable
    self.counts.timeline.ignored += counts.ignored
    self.counts.timeline.staleHistories += counts.staleHistories
  }
}
