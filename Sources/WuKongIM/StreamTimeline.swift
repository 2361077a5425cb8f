// Base messages, live events and history snapshots go in, in any order and with any loss; rows of text come out. A pure
// state machine: no socket, no clock, no JSON. The rules R1 to R16 and their tightenings N are named where they act.
//
// A reconnect begins a generation: events are held back until that generation's history is applied (or has failed),
// then replayed in order of arrival. Offsets, not ids, keep text from being appended twice.

package struct StreamTimeline: Sendable {
  package let rules: TimelineRules
  package let limits: TimelineLimits
  /// Nil until the first message or event names one.
  package private(set) var channel: ChannelKey?
  package private(set) var counts = TimelineCounts()
  /// How many times `connected` was called; a history belongs to one of them.
  package private(set) var generation = 0
  /// Whether events are held back for a history that is outstanding.
  package private(set) var isRecovering = false

  private var messages: [TimelineRow] = []
  private var places: [ByteText: Int] = [:]
  private var arrivals = 0
  private var buffer: [StreamEvent] = []
  private var bufferedBytes = 0

  package init(
    channel: ChannelKey? = nil, rules: TimelineRules = .normative, limits: TimelineLimits = TimelineLimits()
  ) {
    self.channel = channel
    self.rules = rules
    self.limits = limits
  }

  /// R12: in order of message sequence; rows without one stand last, in order of arrival.
  package var rows: [TimelineRow] { messages.sorted { Self.precedes($0, $1) } }

  package func row(_ clientMessageNumber: ByteText) -> TimelineRow? {
    places[clientMessageNumber].map { messages[$0] }
  }

  /// Events held back.
  package var bufferedCount: Int { buffer.count }

  /// Whether every row is finished and nothing is outstanding.
  package var isSettled: Bool { !isRecovering && messages.allSatisfy(\.isFinished) }

  // MARK: Connection and history

  /// R10: a connection was authenticated. Returns the generation for the one history read that it wants.
  @discardableResult
  package mutating func connected() -> Int {
    generation += 1
    isRecovering = true
    buffer = []
    bufferedBytes = 0
    return generation
  }

  /// R11: a history read of `generation` was answered.
  package mutating func apply(_ page: HistoryPage, generation answered: Int) {
    // N11: an answer to another connection would take back text that is newer.
    if rules == .normative && answered != generation {
      counts.staleHistories += 1
      return
    }
    counts.undecodable += page.undecodable
    for row in page.rows { apply(row) }
    endRecovery()
  }

  /// A history read of `generation` failed: what was held back is shown as far as it fits, and the caller may read once
  /// more.
  package mutating func historyFailed(generation failed: Int) {
    if rules == .normative && failed != generation { return }
    endRecovery()
  }

  /// A history read of `generation` was answered with something that cannot be read: counted, and failed.
  package mutating func historyUndecodable(generation answered: Int) {
    if rules == .normative && answered != generation {
      counts.staleHistories += 1
      return
    }
    counts.undecodable += 1
    endRecovery()
  }

  private mutating func apply(_ row: HistoryPage.Row) {
    guard row.isStream, !row.clientMessageNumber.isEmpty, belongs(row) else {
      counts.ignored += 1
      return
    }
    guard let place = place(of: row.clientMessageNumber, sequence: row.messageSequence) else {
      counts.ignored += 1
      return
    }
    if let text = row.mainText { messages[place].replace(with: text) }
    switch row.mainLane {
    case .cancelled: messages[place].ending = .cancelled
    case .error: messages[place].ending = .error
    case .closed: messages[place].ending = .done
    case .open, .absent: messages[place].ending = row.isCompleted ? .done : nil
    }
  }

  /// The answer is of the channel that was asked for; a row of another one is not ours. Person channels have one id in
  /// store and another for each peer, so theirs is not compared.
  private func belongs(_ row: HistoryPage.Row) -> Bool {
    guard let of = row.channel, let channel else { return true }
    return of == channel || (of.type == ChannelKey.person && channel.type == ChannelKey.person)
  }

  private mutating func endRecovery() {
    isRecovering = false
    let held = buffer
    buffer = []
    bufferedBytes = 0
    for event in held { project(event) }
  }

  // MARK: Live

  /// R2: a base message only makes its row known; it never changes text.
  package mutating func receive(_ base: BaseMessage) {
    adopt(base.channel)
    guard base.isStream, !base.clientMessageNumber.isEmpty, base.channel == channel, base.channel != nil,
      place(of: base.clientMessageNumber, sequence: base.messageSequence) != nil
    else {
      counts.ignored += 1
      return
    }
  }

  /// A live event: held back while a history is outstanding, else projected.
  package mutating func receive(_ event: StreamEvent) {
    adopt(event.channel)
    guard isRecovering else {
      project(event)
      return
    }
    guard buffer.count < limits.bufferedEvents, bufferedBytes + event.weight <= limits.bufferedBytes else {
      counts.overflow += 1
      return
    }
    bufferedBytes += event.weight
    buffer.append(event)
  }

  /// R16: a notification or an answer that could not be read was dropped.
  package mutating func receiveUndecodable() { counts.undecodable += 1 }

  /// Without a channel of its own, the projection follows the first one that is named.
  package mutating func adopt(_ named: ChannelKey?) {
    if channel == nil, let named { channel = named }
  }

  private mutating func project(_ event: StreamEvent) {
    // R1
    guard event.kind != .foreign, event.channel != nil, event.channel == channel,
      !event.clientMessageNumber.isEmpty,
      event.kind == .finish || event.lane == StreamEvent.mainLane,
      let place = place(of: event.clientMessageNumber, sequence: event.messageSequence)
    else {
      counts.ignored += 1
      return
    }
    // R3
    guard messages[place].seen.insert(event.id) else {
      counts.duplicates += 1
      return
    }
    switch event.kind {
    case .delta: merge(event, at: place)
    case .snapshot:
      // N9
      if rules == .normative && messages[place].isFinished {
        counts.ignored += 1
      } else {
        replace(event, at: place)
      }
    case .close, .finish:
      replace(event, at: place)
      if messages[place].ending == nil { messages[place].ending = .done }
    case .cancel: end(event, .cancelled, at: place)
    case .error: end(event, .error, at: place)
    case .open, .unknownStream, .foreign: break
    }
  }

  private mutating func merge(_ event: StreamEvent, at place: Int) {
    // R4; and a delta that is not text says nothing about the text.
    guard !messages[place].isFinished, let delta = event.delta else {
      counts.ignored += 1
      return
    }
    switch messages[place].append(delta, at: event.textOffset) {
    case .appended: break
    case .covered: counts.covered += 1
    case .gap: counts.gaps += 1
    }
  }

  private mutating func replace(_ event: StreamEvent, at place: Int) {
    if let text = event.snapshot { messages[place].replace(with: text) }
  }

  /// R8; N8: the first of cancelled and error stays.
  private mutating func end(_ event: StreamEvent, _ ending: TimelineRow.Ending, at place: Int) {
    replace(event, at: place)
    switch messages[place].ending {
    case .cancelled, .error: if rules == .demo { messages[place].ending = ending }
    case .done, nil: messages[place].ending = ending
    }
  }

  // MARK: Rows

  private static func precedes(_ a: TimelineRow, _ b: TimelineRow) -> Bool {
    (a.messageSequence ?? .max, a.arrival) < (b.messageSequence ?? .max, b.arrival)
  }

  /// R12: the place of a message's row, made if it is new. Nil where it would be the one to go at once.
  private mutating func place(of number: ByteText, sequence: Int64?) -> Int? {
    if let place = places[number] {
      if let sequence { messages[place].messageSequence = sequence }
      return place
    }
    arrivals += 1
    let row = TimelineRow(
      clientMessageNumber: number, sequence: sequence, arrival: arrivals, rules: rules, limits: limits)
    if messages.count >= limits.messages {
      guard let lowest = messages.indices.min(by: { Self.precedes(messages[$0], messages[$1]) }),
        Self.precedes(messages[lowest], row)
      else { return nil }
      places[messages[lowest].clientMessageNumber] = nil
      messages[lowest] = row
      places[number] = lowest
      return lowest
    }
    messages.append(row)
    places[number] = messages.count - 1
    return messages.count - 1
  }
}
