// A stream from its head to its end: the loop that makes and sends what is due. No allocation for an event.

internal import Arrivals
internal import Primitives
internal import Recording
internal import Scenarios

extension MockServer {
  // MARK: going on

  /// Bytes after which a stream lets the others have their turn.
  static let turnBytes = 64 << 10

  /// Makes and sends what is due.
  mutating func pump(_ slot: Int) {
    let connection = connections[slot]
    if connection.pointee.flags.contains(.replaysRecording) {
      pumpRecording(slot)
      return
    }
    guard connection.pointee.phase == .streaming, connection.pointee.pendingOutput == 0,
      connection.pointee.flags.isDisjoint(with: .held)
    else { return }
    var now = Instant.now().nanoseconds
    var tokenEvents = 0
    let together = connection.pointee.flags.isDisjoint(with: [.unpaced, .catchesUp]) ? eventsPerWrite : .max
    while connection.pointee.next <= connection.pointee.last {
      if now < connection.pointee.writeDue {
        connection.pointee.flags.remove([.catchesUp, .wasBlocked])
        break
      }
      let carriesToken = scriptEvent(slot, of: connection.pointee.next) >= 0
      if carriesToken {
        if tokenEvents >= together { break }
        tokenEvents += 1
      }
      if connection.pointee.next >= connection.pointee.faultEvent {
        switch meetFaults(slot, now: now) {
        case .goOn: break
        case .again: continue
        case .leave: return
        }
      }
      if carriesToken {
        if connection.pointee.flags.isDisjoint(with: [.catchesUp, .wasBlocked]) {
          if tokenEvents == 1 || together == .max {
            counters.pace.record(Nanoseconds(now - connection.pointee.writeDue))
          }
        } else {
          counters.blockedEvents += 1
        }
      }
      let before = scratchCount
      appendItem(slot, number: connection.pointee.next, stamp: now)
      advance(slot)
      if connection.pointee.bodyCount > connection.pointee.faultByte {
        if !reachByte(slot, itemStart: before) { return }
      }
      if scratchCount >= Self.turnBytes { break }
      if together == .max { now = Instant.now().nanoseconds }
    }
    if connection.pointee.next > connection.pointee.last {
      endBody(slot)
      return
    }
    guard deliver(slot) else { return }
    if connection.pointee.pendingOutput > 0 { return }
    noteHighest(slot)
    planWrite(slot)
    if connection.pointee.writeDue <= now, together == .max {
      makeBusy(slot)
    } else {
      setPace(slot, at: connection.pointee.writeDue)
    }
  }

  private mutating func makeBusy(_ slot: Int) {
    if connections[slot].pointee.flags.contains(.isBusy) { return }
    connections[slot].pointee.flags.insert(.isBusy)
    busy.append(Int32(slot))
  }

  /// When the next write is due: with the last of the events that share it.
  @inline(__always) mutating func planWrite(_ slot: Int) {
    let connection = connections[slot]
    connection.pointee.writeDue = connection.pointee.due
    if eventsPerWrite > 1 { planSharedWrite(slot) }
  }

  @inline(never) private mutating func planSharedWrite(_ slot: Int) {
    let connection = connections[slot]
    guard connection.pointee.flags.isDisjoint(with: .unpaced), let script = connection.pointee.script else {
      return
    }
    var number = connection.pointee.next
    var tokens = 0
    while number <= connection.pointee.last, tokens < settings.eventsPerWrite {
      let event = scriptEvent(slot, of: number)
      if event >= 0 {
        if tokens > 0 { connection.pointee.writeDue += script.gap(before: event).value }
        tokens += 1
      }
      number += 1
    }
  }

  /// The script's event (from 0) that the stream's event `number` carries; −1 for one without a token.
  @inline(__always) func scriptEvent(_ slot: Int, of number: Int) -> Int {
    let connection = connections[slot]
    let shape = layoutTable + Int(connection.pointee.layout)
    var place = number - 1 - shape.pointee.opening.count
    if place < 0 { return -1 }
    let reasoning = Int(connection.pointee.reasoningEvents)
    if place < reasoning { return place }
    place -= reasoning + shape.pointee.between.count
    return place >= 0 && place < Int(connection.pointee.visibleEvents) ? place + reasoning : -1
  }

  /// Makes the event after the next the next one.
  @inline(__always) mutating func advance(_ slot: Int) {
    let connection = connections[slot]
    connection.pointee.pendingHighest = connection.pointee.next
    connection.pointee.next += 1
    counters.events += 1
    if connection.pointee.next > connection.pointee.last { return }
    let event = scriptEvent(slot, of: connection.pointee.next)
    if event > 0 {
      connection.pointee.due &+= connection.pointee.gap(before: event)
      if callsTool { finishCall(slot, event) }
      if eventsPerWrite == 1 || !connection.pointee.flags.isDisjoint(with: [.catchesUp, .unpaced]) {
        connection.pointee.writeDue = connection.pointee.due
      }
    }
  }

  /// A call that stands in one event is due when its last token is.
  @inline(never) private func finishCall(_ slot: Int, _ event: Int) {
    let connection = connections[slot]
    guard (layoutTable + Int(connection.pointee.layout)).pointee.isWholeCall,
      event >= Int(connection.pointee.reasoningEvents), let script = connection.pointee.script
    else { return }
    connection.pointee.due &+= gaps(script, after: event)
  }

  // MARK: one event

  /// Puts event `number` of the connection's stream into the scratch, with its framing.
  @inline(__always) mutating func appendItem(_ slot: Int, number: Int, stamp: Int64) {
    let connection = connections[slot]
    let shape = layoutTable + Int(connection.pointee.layout)
    var fill = EventFill(text: UnsafePointer(text))
    fill.id = connection.pointee.id
    fill.number = number
    fill.stamp = stamp
    let event = scriptEvent(slot, of: number)
    let template: EventTemplate
    if event >= 0 {
      let reasoning = Int(connection.pointee.reasoningEvents)
      if event < reasoning {
        template = (event == 0 ? shape.pointee.firstReasoning : shape.pointee.reasoning).unsafelyUnwrapped
      } else {
        template = event == reasoning ? shape.pointee.firstVisible : shape.pointee.visible
      }
      fillText(slot, event, &fill)
    } else {
      template = structural(slot, number)
      fillCounts(slot, &fill)
    }
    write(template, fill, slot)
  }

  /// Frames and writes one event into the scratch.
  @inline(__always) mutating func write(_ template: EventTemplate, _ fill: borrowing EventFill, _ slot: Int) {
    let connection = connections[slot]
    let whole = template.needsWhole ? wholeText(slot) : nil
    reserve(template.fixedCount + EventTemplate.gapRoom + fill.textCount * 6 + (whole?.count ?? 0) * 4)
    if connection.pointee.flags.contains(.chunked) {
      // The size's digits are guessed, and the event moved where the guess was wrong.
      let guess = Self.hexDigits(template.fixedCount + fill.textCount + 24)
      let start = scratch + scratchCount
      var cursor = ByteCursor(at: start + guess + 2)
      template.write(fill, whole: whole, to: &cursor)
      let count = cursor.at - (start + guess + 2)
      let digits = Self.hexDigits(count)
      if digits != guess {
        (start + digits + 2).update(from: start + guess + 2, count: count)
        cursor.at += digits - guess
      }
      var head = ByteCursor(at: start)
      head.putHex(UInt64(count), digits: digits)
      head.put(0x0D)
      head.put(0x0A)
      cursor.put(0x0D)
      cursor.put(0x0A)
      scratchCount = cursor.at - scratch
      connection.pointee.bodyCount += count
    } else {
      var cursor = ByteCursor(at: scratch + scratchCount)
      let start = cursor.at
      template.write(fill, whole: whole, to: &cursor)
      connection.pointee.bodyCount += cursor.at - start
      scratchCount = cursor.at - scratch
    }
  }

  @inline(__always) static func hexDigits(_ value: Int) -> Int {
    max(1, (Int.bitWidth - value.leadingZeroBitCount + 3) >> 2)
  }

  /// The opening, between or closing event at `number`.
  private func structural(_ slot: Int, _ number: Int) -> EventTemplate {
    let connection = connections[slot]
    let shape = layoutTable + Int(connection.pointee.layout)
    var place = number - 1
    if place < shape.pointee.opening.count { return shape.pointee.opening[place] }
    place -= shape.pointee.opening.count + Int(connection.pointee.reasoningEvents)
    if place < shape.pointee.between.count { return shape.pointee.between[place] }
    place -= shape.pointee.between.count + Int(connection.pointee.visibleEvents)
    return shape.pointee.closing[place]
  }

  /// Puts the text of a script's event into `text`, and its checksum into `fill`.
  @inline(__always) mutating func fillText(_ slot: Int, _ event: Int, _ fill: inout EventFill) {
    let connection = connections[slot]
    fill.textCount =
      isPlainText && connection.pointee.textSize == 0
      ? connection.pointee.writeText(of: event, into: text, capacity: textCapacity) : -1
    if fill.textCount < 0 { fillLongText(slot, event, &fill) }
    fill.text = UnsafePointer(text)
    fill.checksum = CRC32C.checksum(UnsafeRawBufferPointer(start: text, count: fill.textCount))
    fill.needsEscape = needsEscape
    fill.escapesSeparators = (layoutTable + Int(connection.pointee.layout)).pointee.isNDJSON
  }

  /// Text of several tokens, of an exact size, or of a tool call's arguments.
  @inline(never) private mutating func fillLongText(_ slot: Int, _ event: Int, _ fill: inout EventFill) {
    let connection = connections[slot]
    guard let script = connection.pointee.script else { return }
    let shape = layoutTable + Int(connection.pointee.layout)
    let reasoning = Int(connection.pointee.reasoningEvents)
    let isArgument = shape.pointee.isToolCall && event >= reasoning
    var bytes: [UInt8] = []
    if isArgument {
      let last = script.events - 1
      if event == reasoning { bytes += Array("{\"text\":\"".utf8) }
      let events = shape.pointee.isWholeCall ? event...max(event, last) : event...event
      for each in events {
        bytes += textBytes(of: each, script).escapedForJSON(separators: shape.pointee.isNDJSON)
      }
      if shape.pointee.isWholeCall || event == last { bytes += Array("\"}".utf8) }
    } else {
      bytes = textBytes(of: event, script)
      let size = Int(connection.pointee.textSize)
      if size > 0 {
        if bytes.count > size {
          bytes.removeLast(bytes.count - size)
          // A character that was cut is taken out whole.
          while let tail = bytes.indices.last,
            String(validating: bytes[max(0, tail - 3)...].drop { $0 & 0xC0 == 0x80 }, as: UTF8.self) == nil
          {
            bytes.removeLast()
          }
        }
        bytes += repeatElement(UInt8(ascii: "."), count: max(0, size - bytes.count))
      }
    }
    if bytes.count > textCapacity {
      text.deallocate()
      textCapacity = bytes.count * 2
      text = .allocate(capacity: textCapacity)
    }
    text.update(from: bytes, count: bytes.count)
    fill.textCount = bytes.count
  }

  /// The text of the tokens that share one of the script's events.
  func textBytes(of event: Int, _ script: StreamScript) -> [UInt8] {
    var bytes: [UInt8] = []
    guard event < script.events else { return bytes }
    for token in script.tokens(ofEvent: event) {
      let capacity = script.textCapacity
      bytes += [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
        count = script.writeText(of: token, into: UnsafeMutableRawBufferPointer(buffer))
      }
    }
    return bytes
  }

  func fillCounts(_ slot: Int, _ fill: inout EventFill) {
    let connection = connections[slot]
    guard let script = connection.pointee.script else { return }
    let words = (layoutTable + Int(connection.pointee.layout)).pointee.finishWords
    fill.promptTokens = Int(connection.pointee.promptTokens)
    fill.outputTokens = script.tokens
    fill.reasoningTokens = script.reasoningTokens
    fill.finish =
      script.isCutShort
      ? words.limit
      : (layoutTable + Int(connection.pointee.layout)).pointee.isToolCall ? words.tool : words.end
  }

  /// All text of the connection's stream, escaped.
  func wholeText(_ slot: Int) -> WholeText {
    let connection = connections[slot]
    var whole = WholeText()
    guard let script = connection.pointee.script else { return whole }
    let reasoning = Int(connection.pointee.reasoningEvents)
    for event in 0..<reasoning { whole.reasoning += textBytes(of: event, script).escapedForJSON() }
    for event in reasoning..<max(reasoning, script.events) {
      whole.text += textBytes(of: event, script).escapedForJSON()
    }
    if (layoutTable + Int(connection.pointee.layout)).pointee.isToolCall {
      whole.arguments = (Array("{\"text\":\"".utf8) + whole.text + Array("\"}".utf8)).escapedForJSON()
    }
    return whole
  }

  // MARK: ending

  /// The end marker, the end of the body, and what comes after it.
  mutating func endBody(_ slot: Int) {
    let connection = connections[slot]
    let shape = layoutTable + Int(connection.pointee.layout)
    let count = connection.pointee.flags.contains(.noTrailer) ? 0 : shape.pointee.trailer.count
    for index in 0..<count {
      let before = scratchCount
      write(shape.pointee.trailer[index], EventFill(text: UnsafePointer(text)), slot)
      if connection.pointee.bodyCount > connection.pointee.faultByte {
        if !reachByte(slot, itemStart: before) { return }
      }
    }
    closeBody(slot)
  }

  /// The last chunk, then the next request or the end of the connection.
  mutating func closeBody(_ slot: Int) {
    let connection = connections[slot]
    if connection.pointee.flags.contains(.endsAbruptly) {
      if connection.pointee.endFault >= 0 { note(Int(connection.pointee.endFault), slot) }
      connection.pointee.flags.remove(.keepAlive)
    } else if connection.pointee.flags.contains(.chunked) {
      put("0\r\n\r\n")
    } else {
      connection.pointee.flags.remove(.keepAlive)
    }
    guard deliver(slot) else { return }
    if connection.pointee.pendingOutput == 0 { noteHighest(slot) }
    endStream(slot)
  }

  /// A response is over, or cut: counts what it sent towards its session.
  mutating func settle(_ slot: Int) {
    let connection = connections[slot]
    if !faults.isEmpty { progress[Int32(slot)] = nil }
    guard connection.pointee.session >= 0, connection.pointee.next > 1 else { return }
    let state = sessions[connection.pointee.session]
    if (layoutTable + Int(connection.pointee.layout)).pointee.isResumable {
      if connection.pointee.pendingHighest > state.pointee.swapped + 1 { state.pointee.swapped = 0 }
    } else {
      state.pointee.sent += connection.pointee.next - 1
    }
  }

  /// The response is over: all of it is sent or waits to be.
  mutating func endStream(_ slot: Int) {
    let connection = connections[slot]
    settle(slot)
    cancelPace(slot)
    cancelAuxiliary(slot)
    if connection.pointee.pendingOutput == 0 || connection.pointee.session < 0 {
      connection.pointee.dropScript()
    }
    guard connection.pointee.flags.contains(.keepAlive) else {
      finish(slot)
      return
    }
    connection.pointee.phase = .reading
    if connection.pointee.flags.contains(.mute) {
      connection.pointee.flags.remove(.mute)
      setInterest(slot)
      guard connection.pointee.phase != .free else { return }
    }
    setAuxiliary(slot, .requestDeadline, at: Instant.now().nanoseconds + Self.idleLimit)
    if connection.pointee.inputCount > 0, connection.pointee.pendingOutput == 0 { process(slot) }
  }
}
