// Which fault happens where: each fault's place, connection, sessions, times and probability against a stream's state.
// The draws follow from the seed, so the same run breaks in the same places.
//
// A place is met once in a connection, by the first event at or after it; there the probability is drawn. A fault that
// damages events and has `times` left goes on with the events that follow. Without a place each event (each request,
// for the kinds that answer one) is a chance.

internal import Arrivals
internal import Primitives
internal import Scenarios

/// What has been drawn and has happened in one connection.
struct FaultProgress {
  /// Faults whose place was met in this connection.
  var drawn: Set<Int> = []
  /// Faults at a time or a byte that wait for the next event.
  var armed: Set<Int> = []
  /// The event at which a fault last happened.
  var lastEvent: [Int: Int] = [:]
  /// The event at which one was last damaged: one damage an event, so that each can be counted.
  var lastDamaged = 0
}

/// What follows from meeting a fault.
enum FaultMeeting {
  /// The next event goes out as ever.
  case goOn
  /// The stream's state has changed: look again.
  case again
  /// The stream is over or held.
  case leave
}

extension FaultKind {
  /// Answers a request in place of a stream.
  var answersRequest: Bool {
    switch self {
    case .status, .redirect, .html, .jsonError: true
    default: false
    }
  }

  /// Concerns the whole server.
  var isGlobal: Bool {
    switch self {
    case .restart, .down, .slowStart: true
    default: false
    }
  }

  /// Goes on with the events that follow while it has `times` left.
  var isContinued: Bool {
    switch self {
    case .idReset, .retry, .drip, .stall: true
    default: isDamage
    }
  }

  /// A ledger counts it.
  var isDamage: Bool {
    switch self {
    case .replay, .skip, .swap, .foreign, .corrupt: true
    default: false
    }
  }

  /// Needs an event that carries a token.
  var needsToken: Bool {
    switch self {
    case .skip, .swap, .foreign, .corrupt: true
    default: false
    }
  }
}

extension MockServer {
  // MARK: matching

  func matches(_ index: Int, _ slot: Int) -> Bool {
    let fault = faults[index]
    let connection = connections[slot]
    guard connection.pointee.session >= 0 else { return false }
    if let wanted = fault.connection, wanted != Int(connection.pointee.ordinal) { return false }
    if let times = fault.times {
      let uses =
        fault.kind.isGlobal ? globalUses[index] : sessions.uses(of: index, in: connection.pointee.session)
      if uses >= times { return false }
    }
    let key = sessions[connection.pointee.session].pointee.key
    switch fault.sessions {
    case .all: return true
    case .list(let list): return Int(exactly: key).map(list.contains) ?? false
    case .share(let share):
      var random = SeededRandom(
        seed: options.seed, purpose: "fault share", index: key &* 1021 &+ UInt64(index))
      return random.uniform() < share
    }
  }

  /// One draw of a fault's probability; the same for the same place.
  func draw(_ index: Int, _ slot: Int, event: Int) -> Bool {
    let fault = faults[index]
    if fault.probability >= 1 { return true }
    let connection = connections[slot]
    var random = SeededRandom(
      seed: options.seed &+ UInt64(index) &* 0x9e37_79b9_7f4a_7c15, purpose: "fault chance",
      index: sessions[connection.pointee.session].pointee.key &* 0x1_0000_01b3 &+ UInt64(
        connection.pointee.ordinal) << 40
        &+ UInt64(event))
    return random.uniform() < fault.probability
  }

  mutating func note(_ index: Int, _ slot: Int) {
    counters.count(faults[index].kind)
    if globalUses[index] < .max { globalUses[index] += 1 }
    let session = connections[slot].pointee.session
    if session >= 0 { sessions.countUse(of: index, in: session) }
  }

  /// The event's number over the session: the stream's own where it can be resumed, else counted over all connections.
  func place(_ slot: Int, of number: Int) -> Int { connections[slot].pointee.sentBefore + number }

  // MARK: requests

  /// Answers the request by a fault that is due; false: none is.
  mutating func answerByFault(_ slot: Int, _ request: HTTPRequest, next: Int) -> Bool {
    guard !faults.isEmpty else { return false }
    let state = sessions[connections[slot].pointee.session]
    for index in faults.indices where faults[index].kind.answersRequest && matches(index, slot) {
      switch faults[index].at {
      case .event(let event)?: if max(next, state.pointee.sent + 1) < event { continue }
      case .runTime(let time)?: if Instant.now() - start < time { continue }
      default: break
      }
      guard draw(index, slot, event: 0) else { continue }
      note(index, slot)
      connections[slot].pointee.dropScript()
      sendFault(slot, request, faults[index])
      return true
    }
    return false
  }

  private mutating func sendFault(_ slot: Int, _ request: HTTPRequest, _ fault: Fault) {
    switch fault.kind {
    case .status:
      let more = fault.retryAfter.map { "Retry-After: \($0.filter { !$0.isNewline })\r\n" } ?? ""
      if fault.code == 204 || fault.code == 304 {
        sendHead(slot, status: fault.code, contentType: nil, length: 0, more: more)
        afterAnswer(slot)
        return
      }
      let error: JSONValue = .object([
        "error": .object([
          "message": .string("The mock failed on purpose."),
          "type": .string(fault.code == 429 ? "rate_limit_error" : "server_error"),
          "code": .integer(Int64(fault.code)),
        ])
      ])
      let body = fault.body ?? error.text()
      send(slot, status: fault.code, contentType: "application/json", body: Array(body.utf8), more: more)
    case .redirect:
      let target =
        fault.to.map { $0.filter { !$0.isNewline } }
        ?? String(
          decoding: request.path + (request.query.isEmpty ? [] : [0x3F] + request.query), as: UTF8.self)
      // 307 keeps the method and the body.
      send(slot, status: 307, contentType: "text/plain", body: [], more: "Location: \(target)\r\n")
    case .html:
      send(
        slot, status: 200, contentType: "text/html",
        body: Array("<!DOCTYPE html><title>Bad gateway</title><p>The mock failed on purpose.</p>\n".utf8))
    default:
      send(
        slot, status: 200, contentType: "application/json",
        body: Array(
          #"{"error":{"message":"The mock failed on purpose.","type":"server_error","code":"mock_error"}}"#
            .utf8))
    }
  }

  // MARK: resuming

  /// Where a plain stream goes on, after what faults have done to it before.
  mutating func resume(_ slot: Int, at wanted: Int, lastID: Int?, now: Int64) -> Int {
    let connection = connections[slot]
    let state = sessions[connection.pointee.session]
    guard connection.pointee.ordinal > 1, let script = connection.pointee.script else { return wanted }
    var next = wanted
    if state.pointee.swapped > 0 {
      if lastID == state.pointee.swapped {
        next = state.pointee.swapped + 2
      } else {
        // Not both came through: nothing was swapped; where the first did, the other is lost.
        counters.swapped -= 1
        if lastID == state.pointee.swapped + 1 { counters.lost += 1 }
        state.pointee.swapped = 0
      }
    }
    while let range = state.pointee.skips.first(where: { $0.contains(next) }) { next = range.upperBound }
    if state.pointee.idWasReset, lastID == nil, next <= state.pointee.highest {
      let again = next...state.pointee.highest
      counters.duplicated += Int64(
        again.count - again.count { number in state.pointee.skips.contains { $0.contains(number) } })
    }
    state.pointee.idWasReset = false

    var keep = settings.replayBuffer
    for index in faults.indices where faults[index].kind == .shortBuffer && matches(index, slot) {
      guard draw(index, slot, event: 0) else { continue }
      note(index, slot)
      keep = min(keep ?? .max, faults[index].keep)
    }
    guard let keep, next <= script.events else { return next }
    var produced = next - 1
    var due = state.pointee.start + dueOffset(of: next, script, state)
    while due <= now {
      produced += 1
      if produced == script.events { break }
      due += script.gap(before: produced).value
    }
    let earliest = produced - max(0, keep) + 1
    if next < earliest {
      counters.lost += Int64(earliest - next)
      next = earliest
    }
    return next
  }

  // MARK: arming

  /// Notes where in this response the faults are to be looked at.
  mutating func armFaults(_ slot: Int) {
    guard !faults.isEmpty else { return }
    let connection = connections[slot]
    progress[Int32(slot)] = FaultProgress()
    let isResumable = (layoutTable + Int(connection.pointee.layout)).pointee.isResumable
    connection.pointee.sentBefore = isResumable ? 0 : sessions[connection.pointee.session].pointee.sent
    connection.pointee.endFault = -1
    for index in faults.indices where matches(index, slot) {
      guard faults[index].kind == .noLastChunk || faults[index].kind == .length,
        faults[index].at == nil || faults[index].kind == .length
      else { continue }
      guard draw(index, slot, event: 0) else { continue }
      if faults[index].kind == .length {
        guard lengthIsReached(faults[index], slot) else { continue }
        fixLength(slot, index)
      } else {
        connection.pointee.flags.insert(.endsAbruptly)
        connection.pointee.endFault = Int32(index)
      }
    }
    findNextPlaces(slot, from: connection.pointee.next)
    armTime(slot)
  }

  /// The number of the first event, and the first byte, at which a fault may happen from event `from` on.
  mutating func findNextPlaces(_ slot: Int, from: Int) {
    let connection = connections[slot]
    connection.pointee.faultEvent = .max
    connection.pointee.faultByte = .max
    let known = progress[Int32(slot)] ?? FaultProgress()
    if connection.pointee.sentBefore == 0 {
      for range in sessions[connection.pointee.session].pointee.skips where range.upperBound > from {
        connection.pointee.faultEvent = min(connection.pointee.faultEvent, max(from, range.lowerBound))
      }
    }
    for index in faults.indices {
      let fault = faults[index]
      guard !fault.kind.answersRequest, fault.kind != .length, fault.kind != .shortBuffer,
        matches(index, slot)
      else { continue }
      if known.armed.contains(index) {
        connection.pointee.faultEvent = from
        continue
      }
      switch fault.at {
      case nil:
        if fault.kind == .noLastChunk || fault.kind.isGlobal { continue }
        connection.pointee.faultEvent = from
      case .event(let event)?:
        if known.drawn.contains(index) {
          if fault.kind.isContinued, known.lastEvent[index] != nil { connection.pointee.faultEvent = from }
        } else {
          connection.pointee.faultEvent = min(
            connection.pointee.faultEvent, max(from, event - connection.pointee.sentBefore))
        }
      case .byte(let byte)?:
        if !known.drawn.contains(index) {
          connection.pointee.faultByte = min(connection.pointee.faultByte, byte)
        }
      case .time?, .runTime?: break
      }
    }
  }

  /// Sets the second timer to the next fault at a time.
  mutating func armTime(_ slot: Int) {
    let connection = connections[slot]
    guard connection.pointee.phase == .streaming, let known = progress[Int32(slot)] else { return }
    var earliest = Int64.max
    for index in faults.indices
    where !known.drawn.contains(index) && !faults[index].kind.answersRequest && !faults[index].kind.isGlobal {
      guard let due = time(of: index, slot), matches(index, slot) else { continue }
      earliest = min(earliest, due)
    }
    if earliest < .max { setAuxiliary(slot, .fault, at: earliest) }
  }

  /// When a fault at a time is due in this response; nil for other places, and for a time of the run that was over
  /// when the response began.
  private func time(of index: Int, _ slot: Int) -> Int64? {
    let connection = connections[slot]
    switch faults[index].at {
    case .time(let time)?: return connection.pointee.responseStart + time.value
    case .runTime(let time)?:
      let due = start.nanoseconds + time.value
      return due >= connection.pointee.responseStart ? due : nil
    default: return nil
    }
  }

  // MARK: meeting

  /// The next event of the stream is at a place that was noted.
  mutating func meetFaults(_ slot: Int, now: Int64) -> FaultMeeting {
    let connection = connections[slot]
    let number = connection.pointee.next
    if let range = sessions[connection.pointee.session].pointee.skips.first(where: { $0.contains(number) }) {
      passOver(slot, to: range.upperBound)
      connection.pointee.faultEvent = connection.pointee.next
      return .again
    }
    for index in faults.indices {
      let fault = faults[index]
      guard !fault.kind.answersRequest, fault.kind != .length, fault.kind != .shortBuffer,
        matches(index, slot),
        progress[Int32(slot)]?.lastEvent[index] != number
      else { continue }
      if fault.kind.needsToken, scriptEvent(slot, of: number) < 0 { continue }
      if fault.kind.isDamage {
        // A body of stated length is that of the true events.
        if connection.pointee.contentLength >= 0 || progress[Int32(slot)]?.lastDamaged == number { continue }
      }
      guard happens(index, slot, number) else { continue }
      progress[Int32(slot)]?.lastEvent[index] = number
      if fault.kind.isDamage { progress[Int32(slot)]?.lastDamaged = number }
      progress[Int32(slot)]?.armed.remove(index)
      let meeting = perform(index, slot, now: now)
      if meeting == .leave { return .leave }
      connection.pointee.faultEvent = connection.pointee.next
      return .again
    }
    // The events after this one: those that can happen at any of them are looked at again there.
    findNextPlaces(slot, from: number + 1)
    // A place that was met without a token waits for one.
    return .goOn
  }

  /// Whether a fault happens at this event, drawn where it has to be.
  private mutating func happens(_ index: Int, _ slot: Int, _ number: Int) -> Bool {
    let fault = faults[index]
    if progress[Int32(slot)]?.armed.contains(index) == true { return true }
    switch fault.at {
    case nil:
      if fault.kind == .noLastChunk || fault.kind.isGlobal { return false }
      return draw(index, slot, event: place(slot, of: number))
    case .event(let event)?:
      guard place(slot, of: number) >= event else { return false }
      if progress[Int32(slot)]?.drawn.contains(index) == true {
        return fault.kind.isContinued && progress[Int32(slot)]?.lastEvent[index] != nil
      }
      progress[Int32(slot)]?.drawn.insert(index)
      return draw(index, slot, event: event)
    case .byte?, .time?, .runTime?: return false
    }
  }

  /// The body has come to a byte at which a fault may happen; the item that crosses it begins at `itemStart` of the
  /// scratch. False: the stream is over or held.
  mutating func reachByte(_ slot: Int, itemStart: Int) -> Bool {
    let connection = connections[slot]
    let isChunked = connection.pointee.flags.contains(.chunked)
    var payload = itemStart
    if isChunked {
      while scratch[payload] != 0x0A { payload += 1 }
      payload += 1
    }
    let count = scratchCount - payload - (isChunked ? 2 : 0)
    let cut = payload + max(0, connection.pointee.faultByte - (connection.pointee.bodyCount - count))
    for index in faults.indices {
      guard case .byte(let byte)? = faults[index].at, byte == connection.pointee.faultByte,
        matches(index, slot),
        progress[Int32(slot)]?.drawn.contains(index) != true
      else { continue }
      progress[Int32(slot)]?.drawn.insert(index)
      guard draw(index, slot, event: byte) else { continue }
      switch faults[index].kind {
      case .fin, .cut, .noLastChunk, .rst, .halfClose:
        note(index, slot)
        // The event that is cut was not sent.
        connection.pointee.pendingHighest = max(0, connection.pointee.next - 2)
        scratchCount = cut
        breakOff(slot, faults[index].kind)
        return false
      case .stall, .drip:
        note(index, slot)
        let rest = Array(UnsafeBufferPointer(start: scratch + cut, count: scratchCount - cut))
        scratchCount = cut
        guard deliver(slot) else { return false }
        rest.withUnsafeBufferPointer { append(slot, $0.baseAddress.unsafelyUnwrapped, rest.count) }
        findNextPlaces(slot, from: connection.pointee.next)
        hold(slot, faults[index])
        return false
      default: progress[Int32(slot)]?.armed.insert(index)
      }
    }
    findNextPlaces(slot, from: connection.pointee.next)
    return true
  }

  /// A fault at a time is due.
  mutating func reachTime(_ slot: Int) {
    let connection = connections[slot]
    guard connection.pointee.phase == .streaming else { return }
    let now = Instant.now().nanoseconds
    for index in faults.indices
    where matches(index, slot) && progress[Int32(slot)]?.drawn.contains(index) != true {
      guard !faults[index].kind.answersRequest, !faults[index].kind.isGlobal, let due = time(of: index, slot),
        due <= now
      else { continue }
      progress[Int32(slot)]?.drawn.insert(index)
      guard draw(index, slot, event: 0) else { continue }
      switch faults[index].kind {
      case .fin, .noLastChunk, .rst, .halfClose, .stall:
        if perform(index, slot, now: now) == .leave { return }
      default:
        progress[Int32(slot)]?.armed.insert(index)
        connection.pointee.faultEvent = connection.pointee.next
      }
    }
    armTime(slot)
  }
}
