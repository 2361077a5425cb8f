// A stream from its request to its head: which session it belongs to, what it will say, and when each event is due.

internal import Arrivals
internal import Primitives
internal import Recording
internal import Scenarios

extension MockServer {
  // MARK: beginning

  mutating func startCompletion(_ slot: Int, _ request: HTTPRequest, api: API, model: String?, streams: Bool?)
  {
    let asked: StreamRequest
    do throws(RequestRefusal) {
      asked = try StreamRequest(api: api, body: request.body, model: model, streams: streams)
    } catch {
      counters.refused += 1
      sendError(slot, status: error.status, message: error.message)
      return
    }
    let session = enterSession(slot, request.session.map { SessionName($0) })
    let index = sessions[session].pointee.index
    if answerByFault(slot, request, next: 1) { return }
    if let recording {
      startRecording(slot, recording)
      return
    }
    let script = StreamScript(
      settings: settings, seed: options.seed, session: index, maxTokens: asked.maxTokens)
    let layout = layout(
      for: LayoutKey(
        api: api, model: asked.model, hasReasoning: script.reasoningTokens > 0 && api != .openAICompletions,
        isToolCall: settings.toolCall && api != .openAICompletions, includesUsage: asked.includesUsage))
    let connection = connections[slot]
    prepare(slot, script, layout: layout, now: Instant.now().nanoseconds)
    connection.pointee.promptTokens = Int32(clamping: asked.promptTokens)
    guard asked.streams else {
      let body = wholeAnswer(slot, api: api, model: asked.model)
      connection.pointee.dropScript()
      leaveSession(slot)
      send(slot, status: 200, contentType: "application/json", body: body)
      return
    }
    connection.pointee.last =
      numberedCount(slot)
    begin(slot, more: "")
  }

  mutating func startEvents(_ slot: Int, _ request: HTTPRequest) {
    var own = settings
    var size = 0
    do throws(RequestRefusal) {
      size = try Self.readParameters(request, &own)
    } catch {
      counters.refused += 1
      sendError(slot, status: error.status, message: error.message)
      return
    }
    let name =
      request.parameter("session").map { SessionName(Array($0.utf8)) }
      ?? request.session.map { SessionName($0) }
    let session = enterSession(slot, name)
    let state = sessions[session]
    let now = Instant.now().nanoseconds
    let script = StreamScript(settings: own, seed: options.seed, session: state.pointee.index)
    var next = 1
    let resumed = request.lastEventID.flatMap { HTTPRequest.decimal($0) }
    if let resumed { next = min(resumed, script.events) + 1 }
    if state.pointee.start == 0 {
      state.pointee.start = now
      // A session that another process began: what its client has was due by now.
      if next > 1 { state.pointee.start = now - dueOffset(of: next - 1, script, state) }
      state.pointee.knownEvent = -1
    }
    if let recording {
      startRecording(slot, recording)
      return
    }
    let connection = connections[slot]
    prepare(slot, script, layout: layout(for: LayoutKey(api: .sse, model: "")), now: now)
    connection.pointee.textSize = Int32(size)
    connection.pointee.last = script.events
    if answerByFault(slot, request, next: next) { return }
    next = resume(slot, at: next, lastID: resumed, now: now)
    if next > script.events, state.pointee.connections > 1 || resumed != nil {
      leaveSession(slot)
      connection.pointee.dropScript()
      sendHead(slot, status: 204, contentType: nil, length: 0)
      afterAnswer(slot)
      return
    }
    connection.pointee.next = next
    if next <= script.events {
      connection.pointee.due = state.pointee.start + dueOffset(of: next, script, state)
      if connection.pointee.due < now { connection.pointee.flags.insert(.catchesUp) }
    }
    if connection.pointee.flags.contains(.headOnly) {
      leaveSession(slot)
      connection.pointee.dropScript()
      sendHead(slot, status: 200, contentType: "text/event-stream", length: nil)
      afterAnswer(slot)
      return
    }
    var first: [UInt8] = []
    if let retry = request.parameter("retry") {
      first = Array("retry: \(retry.filter { !$0.isNewline }.prefix(64))\n\n".utf8)
    }
    begin(slot, more: "", first: first)
  }

  /// The parameters of `/events` over the mock's settings; returns the exact text size asked for, or 0.
  private static func readParameters(_ request: HTTPRequest, _ settings: inout MockSettings)
    throws(RequestRefusal) -> Int
  {
    settings.reasoningTokens = 0
    settings.tokensPerEvent = 1
    if let text = request.parameter("events") {
      guard let count = HTTPRequest.decimal(Array(text.utf8)), count <= 10_000_000 else {
        throw RequestRefusal(status: 400, message: "events: expected 0 to 10000000")
      }
      settings.tokens = .constant(Double(count))
    }
    if let text = request.parameter("interval") {
      guard let time = QueryTime.nanoseconds(text) else {
        throw RequestRefusal(status: 400, message: "interval: expected a time such as 20ms")
      }
      settings.interval = .constant(time)
    }
    if let text = request.parameter("first") {
      guard let time = QueryTime.nanoseconds(text) else {
        throw RequestRefusal(status: 400, message: "first: expected a time such as 200ms")
      }
      settings.firstToken = .constant(time)
    }
    guard let text = request.parameter("size") else { return 0 }
    guard let size = HTTPRequest.decimal(Array(text.utf8)), size <= StreamScript.maximumTextBytes, size > 0
    else {
      throw RequestRefusal(status: 400, message: "size: expected 1 to \(StreamScript.maximumTextBytes) bytes")
    }
    settings.tokenSize = .constant(Double(size + 2))
    return size
  }

  /// The session of a request, with one connection more.
  private mutating func enterSession(_ slot: Int, _ name: SessionName?) -> Int32 {
    leaveSession(slot)
    let session: Int32
    if let name {
      session = sessions.open(key: name.key, index: name.index)
    } else {
      anonymousCount += 1
      session = sessions.openAnonymous(number: 1 << 62 | anonymousCount)
    }
    sessions[session].pointee.live += 1
    sessions[session].pointee.connections &+= 1
    connections[slot].pointee.session = session
    connections[slot].pointee.ordinal = sessions[session].pointee.connections
    return session
  }

  /// Start of the stream → event `number` due.
  func dueOffset(of number: Int, _ script: StreamScript, _ state: UnsafeMutablePointer<SessionState>) -> Int64
  {
    var event = 0
    var offset = script.gap(before: 0).value
    if state.pointee.knownEvent >= 0, state.pointee.knownEvent <= number - 1 {
      (event, offset) = (state.pointee.knownEvent, state.pointee.knownDue)
    }
    while event < number - 1 {
      event += 1
      offset &+= script.gap(before: event).value
    }
    (state.pointee.knownEvent, state.pointee.knownDue) = (event, offset)
    return offset
  }

  private mutating func layout(for key: LayoutKey) -> Int32 {
    var key = key
    let escaped = String(decoding: Array(key.model.utf8).escapedForJSON(), as: UTF8.self)
    // The marks of a gap have no place in a name.
    key.model = escaped.filter { $0 != "«" && $0 != "»" }
    if let known = layouts[key] { return known }
    if layouts.count >= Self.maximumLayouts {
      key.model = "mock-1"
      if let known = layouts[key] { return known }
      // One for each shape of each API at most: the table has room for them.
      if layouts.count >= Self.maximumLayouts + 64 { return 0 }
    }
    let index = Int32(layouts.count)
    (layoutTable + Int(index)).initialize(to: StreamLayout.make(key, stamp: settings.stamp))
    layouts[key] = index
    return index
  }

  /// Sets a connection up for a stream from its first event on.
  private func prepare(_ slot: Int, _ script: StreamScript, layout: Int32, now: Int64) {
    let connection = connections[slot]
    let shape = layoutTable + Int(layout)
    connection.pointee.keepScript(script)
    connection.pointee.layout = layout
    connection.pointee.textSize = 0
    connection.pointee.next = 1
    connection.pointee.bodyCount = 0
    connection.pointee.pendingHighest = 0
    connection.pointee.responseStart = now
    connection.pointee.due = now + script.gap(before: 0).value
    connection.pointee.flags.remove([
      .catchesUp, .wasBlocked, .held, .comments, .endsAbruptly, .resets, .halfCloses, .noTrailer,
    ])
    connection.pointee.faultEvent = .max
    connection.pointee.faultByte = .max
    connection.pointee.drip = nil
    connection.pointee.contentLength = -1
    connection.pointee.endFault = -1
    connection.pointee.sentBefore = 0
    let perEvent = max(1, settings.tokensPerEvent)
    let reasoning = shape.pointee.reasoning == nil ? 0 : (script.reasoningTokens + perEvent - 1) / perEvent
    connection.pointee.reasoningEvents = Int32(reasoning)
    connection.pointee.visibleEvents = shape.pointee.isWholeCall ? 1 : Int32(script.events - reasoning)
    if shape.pointee.isWholeCall, reasoning == 0 { connection.pointee.due &+= gaps(script, after: 0) }
    var mixer = SeededRandom(
      seed: options.seed, purpose: "response id",
      index: sessions[connection.pointee.session].pointee.key)
    connection.pointee.id = mixer.next()
    if settings.interval.constantValue == 0 || script.gap(before: 1) == .zero && isConstantlyZero {
      connection.pointee.flags.insert(.unpaced)
    } else {
      connection.pointee.flags.remove(.unpaced)
    }
  }

  /// From the script's event `event` due to its last event due.
  func gaps(_ script: StreamScript, after event: Int) -> Int64 {
    var sum: Int64 = 0
    for later in (event + 1)..<max(event + 1, script.events) { sum &+= script.gap(before: later).value }
    return sum
  }

  /// Events with a number: all but the end marker.
  private func numberedCount(_ slot: Int) -> Int {
    let connection = connections[slot]
    let shape = layoutTable + Int(connection.pointee.layout)
    return shape.pointee.opening.count + shape.pointee.between.count + shape.pointee.closing.count
      + Int(connection.pointee.reasoningEvents) + Int(connection.pointee.visibleEvents)
  }

  /// The head of the response, then the events as they are due.
  mutating func begin(_ slot: Int, more: String, first: [UInt8] = []) {
    let connection = connections[slot]
    counters.streams += 1
    connection.pointee.phase = .streaming
    armFaults(slot)
    let type = (layoutTable + Int(connection.pointee.layout)).pointee.contentType
    sendHead(slot, status: 200, contentType: "\(type)", length: contentLength(slot, first.count), more: more)
    if !first.isEmpty { putBody(slot, first) }
    planWrite(slot)
    if connection.pointee.writeDue <= Instant.now().nanoseconds, connection.pointee.faultEvent == .max {
      pump(slot)
    } else if deliver(slot) {
      if connection.pointee.pendingOutput == 0 { setPace(slot, at: connection.pointee.writeDue) }
    }
  }

  private func contentLength(_ slot: Int, _ more: Int) -> Int? {
    let length = connections[slot].pointee.contentLength
    return length < 0 ? nil : length + more
  }

  /// Bytes of the body as one chunk, or as they are.
  mutating func putBody(_ slot: Int, _ bytes: [UInt8]) {
    let isChunked = connections[slot].pointee.flags.contains(.chunked)
    if isChunked { put(String(bytes.count, radix: 16) + "\r\n") }
    put(bytes)
    if isChunked { put("\r\n") }
    connections[slot].pointee.bodyCount += bytes.count
  }
}
