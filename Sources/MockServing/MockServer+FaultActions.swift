// What a fault does to a stream, and the counts of what it did: the ledger of a run is held against them.

internal import Arrivals
internal import EventLoops
internal import Primitives
internal import Scenarios

extension MockServer {
  /// Makes a fault happen before the next event of the stream.
  mutating func perform(_ index: Int, _ slot: Int, now: Int64) -> FaultMeeting {
    let fault = faults[index]
    let connection = connections[slot]
    let shape = layoutTable + Int(connection.pointee.layout)
    let number = connection.pointee.next
    switch fault.kind {
    case .fin, .rst, .halfClose, .noLastChunk:
      note(index, slot)
      breakOff(slot, fault.kind)
      return .leave
    case .cut:
      note(index, slot)
      appendCut(slot, fault.inside, now: now)
      breakOff(slot, .fin)
      return .leave
    case .stall:
      note(index, slot)
      guard deliver(slot) else { return .leave }
      findNextPlaces(slot, from: number)
      hold(slot, fault)
      return .leave
    case .drip:
      note(index, slot)
      guard deliver(slot) else { return .leave }
      appendItem(slot, number: number, stamp: now)
      advance(slot)
      findNextPlaces(slot, from: connection.pointee.next)
      hold(slot, fault)
      return .leave
    case .replay:
      let skips = sessions[connection.pointee.session].pointee.skips
      let again = (max(1, number - fault.count)..<number).filter { number in
        !skips.contains { $0.contains(number) }
      }
      if again.isEmpty { return .again }
      note(index, slot)
      for earlier in again { appendItem(slot, number: earlier, stamp: now) }
      counters.duplicated += Int64(again.count)
      counters.events += Int64(again.count)
      remember(slot) { $0.pointee.swapped = 0 }
    case .skip:
      note(index, slot)
      passOver(slot, to: number + max(1, fault.count))
      let taken = number..<connection.pointee.next
      counters.lost += Int64(taken.count)
      remember(slot) { $0.pointee.skips.append(taken) }
    case .swap:
      guard number < connection.pointee.last, scriptEvent(slot, of: number + 1) >= 0 else { return .again }
      note(index, slot)
      appendItem(slot, number: number + 1, stamp: now)
      appendItem(slot, number: number, stamp: now)
      advance(slot)
      advance(slot)
      counters.swapped += 1
      remember(slot) { $0.pointee.swapped = number }
    case .foreign:
      guard let own = connection.pointee.script else { return .again }
      let state = sessions[connection.pointee.session]
      let other = StreamScript(settings: settings, seed: options.seed, session: state.pointee.index &+ 1)
      let event = scriptEvent(slot, of: number)
      if event < other.events {
        note(index, slot)
        connection.pointee.keepScript(other)
        let id = connection.pointee.id
        connection.pointee.id = ~id
        let before = scratchCount
        appendItem(slot, number: number, stamp: now)
        // Without an id of its own: a resume after it still brings the true event.
        if shape.pointee.isResumable {
          rewrite(slot, from: before) { Array($0[(($0.firstIndex(of: 0x0A) ?? -1) + 1)...]) }
        }
        connection.pointee.id = id
        connection.pointee.keepScript(own)
      } else {
        return .again
      }
      counters.events += 1
      counters.foreign += 1
      // Who knows numbers only sees the true event as the second of its number.
      counters.duplicated += 1
    case .corrupt:
      note(index, slot)
      appendCorrupted(slot, now: now)
      advance(slot)
      counters.corrupted += 1
    case .idReset:
      if shape.pointee.isNDJSON { return .again }
      note(index, slot)
      let before = scratchCount
      appendItem(slot, number: number, stamp: now)
      let isResumable = shape.pointee.isResumable
      rewrite(slot, from: before) { bytes in
        let rest = isResumable ? bytes[((bytes.firstIndex(of: 0x0A) ?? -1) + 1)...] : bytes[...]
        return Array("id:\n".utf8) + rest
      }
      advance(slot)
      remember(slot) { $0.pointee.idWasReset = true }
    case .retry:
      if shape.pointee.isNDJSON { return .again }
      note(index, slot)
      putBody(slot, Array("retry: \(fault.value.filter { !$0.isNewline })\n\n".utf8))
    case .errorObject:
      note(index, slot)
      var fill = EventFill(text: UnsafePointer(text))
      fill.id = connection.pointee.id
      fill.number = number
      fill.stamp = now
      write(shape.pointee.error, fill, slot)
      closeBody(slot)
      return .leave
    case .restart, .down:
      note(index, slot)
      scratchCount = 0
      goDown(for: fault.kind == .down ? nil : fault.length)
      return .leave
    case .slowStart:
      note(index, slot)
      acceptRate = fault.perSecond
    case .status, .redirect, .html, .jsonError, .length, .shortBuffer: break
    }
    return .again
  }

  /// Leaves events out, up to `number` or the last one with a token.
  func passOver(_ slot: Int, to number: Int) {
    let connection = connections[slot]
    while connection.pointee.next < number, connection.pointee.next <= connection.pointee.last,
      scriptEvent(slot, of: connection.pointee.next) >= 0
    {
      connection.pointee.next += 1
      if connection.pointee.next > connection.pointee.last { break }
      let event = scriptEvent(slot, of: connection.pointee.next)
      if event > 0 { connection.pointee.due &+= connection.pointee.gap(before: event) }
    }
    connection.pointee.writeDue = connection.pointee.due
  }

  /// Notes something for the resumes of a plain stream.
  private func remember(_ slot: Int, _ change: (UnsafeMutablePointer<SessionState>) -> Void) {
    let connection = connections[slot]
    guard (layoutTable + Int(connection.pointee.layout)).pointee.isResumable else { return }
    change(sessions[connection.pointee.session])
  }

  // MARK: breaking off

  /// Sends what is made, and ends the connection in the middle of the body.
  mutating func breakOff(_ slot: Int, _ kind: FaultKind) {
    let connection = connections[slot]
    connection.pointee.flags.remove([.keepAlive, .held])
    guard deliver(slot) else { return }
    if connection.pointee.pendingOutput == 0 { noteHighest(slot) }
    if kind == .rst { connection.pointee.flags.insert(.resets) }
    if kind == .halfClose { connection.pointee.flags.insert(.halfCloses) }
    settle(slot)
    cancelPace(slot)
    cancelAuxiliary(slot)
    finish(slot)
  }

  /// The next event, cut where `inside` says.
  private mutating func appendCut(_ slot: Int, _ inside: Fault.Inside, now: Int64) {
    let connection = connections[slot]
    let before = scratchCount
    appendItem(slot, number: connection.pointee.next, stamp: now)
    let isNDJSON = (layoutTable + Int(connection.pointee.layout)).pointee.isNDJSON
    let bytes = payload(slot, from: before)
    scratchCount = before
    var whole = bytes.count
    var part: [UInt8]
    switch inside {
    case .chunkHeader:
      if connection.pointee.flags.contains(.chunked) {
        put(Array(String(bytes.count, radix: 16).utf8.prefix(1)))
      }
      return
    case .scalar:
      // The first byte of a two-byte character, in the middle of the event.
      var end = bytes.count / 2
      while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
      part = bytes[..<end] + [0xC3]
    case .crlf:
      let lines = bytes.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
      whole = lines.count
      // The CR that ends the last line with a field.
      part = Array(lines.dropLast(isNDJSON ? 1 : 3))
    case .field:
      let firstEnd = bytes.firstIndex(of: 0x0A).map { $0 + 1 } ?? 0
      let hasMore = !isNDJSON && firstEnd < bytes.count - 1
      part = Array(bytes[..<(hasMore ? firstEnd : bytes.count / 2)])
    case .blankLine: part = Array(bytes.dropLast())
    }
    if connection.pointee.flags.contains(.chunked) { put(String(whole, radix: 16) + "\r\n") }
    put(part)
  }

  /// The bytes of the item at the end of the scratch, without its framing.
  private func payload(_ slot: Int, from start: Int) -> [UInt8] {
    var first = start
    var end = scratchCount
    if connections[slot].pointee.flags.contains(.chunked) {
      while scratch[first] != 0x0A { first += 1 }
      first += 1
      end -= 2
    }
    return Array(UnsafeBufferPointer(start: scratch + first, count: end - first))
  }

  /// Replaces the item at the end of the scratch.
  private mutating func rewrite(_ slot: Int, from start: Int, _ change: ([UInt8]) -> [UInt8]) {
    let bytes = payload(slot, from: start)
    scratchCount = start
    connections[slot].pointee.bodyCount -= bytes.count
    putBody(slot, change(bytes))
  }

  /// The next event with one character of its text changed and the checksum of the true text.
  private mutating func appendCorrupted(_ slot: Int, now: Int64) {
    let connection = connections[slot]
    let shape = layoutTable + Int(connection.pointee.layout)
    let number = connection.pointee.next
    let event = scriptEvent(slot, of: number)
    var fill = EventFill(text: UnsafePointer(text))
    fill.id = connection.pointee.id
    fill.number = number
    fill.stamp = now
    fillText(slot, event, &fill)
    let isLetter = { (byte: UInt8) in (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) }
    var at = 0
    while at < fill.textCount, !isLetter(text[at]) { at += 1 }
    if at < fill.textCount {
      text[at] = text[at] == 0x78 ? 0x79 : 0x78
    } else {
      text[0] = UInt8(ascii: "#")
      fill.textCount = 1
    }
    let reasoning = Int(connection.pointee.reasoningEvents)
    let template: EventTemplate
    if event < reasoning {
      template = (event == 0 ? shape.pointee.firstReasoning : shape.pointee.reasoning).unsafelyUnwrapped
    } else {
      template = event == reasoning ? shape.pointee.firstVisible : shape.pointee.visible
    }
    write(template, fill, slot)
  }

  // MARK: holding

  /// How often a stalled stream sends a comment, in ns.
  private static let commentEvery: Int64 = 100_000_000

  /// A stall or a drip begins; what is in the scratch goes out when it is released.
  mutating func hold(_ slot: Int, _ fault: Fault) {
    let connection = connections[slot]
    let now = Instant.now().nanoseconds
    cancelPace(slot)
    if fault.kind == .drip {
      connection.pointee.drip = Connection.Drip(
        bytes: Int32(clamping: max(1, fault.bytes)), every: max(100_000, fault.every.value))
      deliver(slot)
      setAuxiliary(slot, .pulse, at: now)
      return
    }
    connection.pointee.flags.insert(.held)
    connection.pointee.heldUntil = fault.length.map { now &+ max(0, $0.value) } ?? .max
    if fault.comments {
      connection.pointee.flags.insert(.comments)
      setAuxiliary(slot, .pulse, at: min(connection.pointee.heldUntil, now + Self.commentEvery))
    } else if connection.pointee.heldUntil < .max {
      setAuxiliary(slot, .release, at: connection.pointee.heldUntil)
    } else {
      cancelAuxiliary(slot)
    }
  }

  /// A stall is over: what is overdue goes out at once.
  mutating func release(_ slot: Int) {
    let connection = connections[slot]
    guard connection.pointee.phase == .streaming else { return }
    connection.pointee.flags.remove([.held, .comments])
    connection.pointee.flags.insert([.catchesUp, .wasBlocked])
    armTime(slot)
    if connection.pointee.pendingOutput > 0 { flush(slot) } else { pump(slot) }
  }

  /// The next comment of a stall, or the next bytes of a drip.
  mutating func pulse(_ slot: Int) {
    let connection = connections[slot]
    let now = Instant.now().nanoseconds
    if let drip = connection.pointee.drip {
      setAuxiliary(slot, .pulse, at: now + drip.every)
      flush(slot, limit: Int(drip.bytes))
      return
    }
    guard connection.pointee.flags.contains(.comments) else { return }
    if now >= connection.pointee.heldUntil {
      release(slot)
      return
    }
    // A comment in the middle of an event would break it.
    if connection.pointee.pendingOutput == 0 {
      connection.pointee.flags.remove(.held)
      let isNDJSON = (layoutTable + Int(connection.pointee.layout)).pointee.isNDJSON
      putBody(slot, Array((isNDJSON ? "\n" : ": keep-alive\n\n").utf8))
      guard deliver(slot) else { return }
      connection.pointee.flags.insert(.held)
    }
    setAuxiliary(slot, .pulse, at: min(connection.pointee.heldUntil, now + Self.commentEvery))
  }

  /// All bytes of a drip are out.
  mutating func dripIsOver(_ slot: Int) {
    let connection = connections[slot]
    connection.pointee.drip = nil
    cancelAuxiliary(slot)
    armTime(slot)
    pump(slot)
  }

  // MARK: Content-Length

  /// Whether a response that begins here comes to the place of a `length` fault.
  func lengthIsReached(_ fault: Fault, _ slot: Int) -> Bool {
    guard case .event(let event)? = fault.at else { return true }
    let local = event - connections[slot].pointee.sentBefore
    return local >= connections[slot].pointee.next && local <= connections[slot].pointee.last
  }

  /// The response gets a Content-Length that is wrong by `by`, and ends with the connection; with an event as place
  /// the body ends before that event.
  mutating func fixLength(_ slot: Int, _ index: Int) {
    let connection = connections[slot]
    let fault = faults[index]
    note(index, slot)
    connection.pointee.flags.remove([.chunked, .keepAlive])
    if case .event(let event)? = fault.at {
      connection.pointee.last = event - connection.pointee.sentBefore - 1
      connection.pointee.flags.insert(.noTrailer)
    }
    let (count, body) = (scratchCount, connection.pointee.bodyCount)
    connection.pointee.bodyCount = 0
    let now = Instant.now().nanoseconds
    for number in connection.pointee.next..<max(connection.pointee.next, connection.pointee.last + 1) {
      appendItem(slot, number: number, stamp: now)
      scratchCount = count
    }
    let shape = layoutTable + Int(connection.pointee.layout)
    if !connection.pointee.flags.contains(.noTrailer) {
      for index in 0..<shape.pointee.trailer.count {
        write(shape.pointee.trailer[index], EventFill(text: UnsafePointer(text)), slot)
        scratchCount = count
      }
    }
    connection.pointee.contentLength = max(0, connection.pointee.bodyCount + fault.by)
    connection.pointee.bodyCount = body
  }
}
