// The WuKongIM workload: producers post replies, readers follow them over WebSockets, are dropped at random points,
// come back and repair themselves; every text is held against the truth. One thread, one loop; results leave through
// callbacks on that thread. Plain ws and http.

internal import EventLoops
package import Primitives
package import Recording
package import Scenarios
internal import Synchronization
package import WuKongIM

package struct WuKongWorkloadSettings: Sendable {
  package var load: WuKongIMLoad
  /// Where HTTP is spoken; the WebSocket address comes from its `/route`.
  package var host: String
  package var port: Int
  package var headers: [(String, String)] = []
  package var seed: UInt64 = 0
  package var variant: Int32 = 0
  package var repetition: Int32 = 0
  package var client = WuKongClientSettings()
  /// HTTP connections of producers and history reads together.
  package var httpConnections = 64
  /// After the last reply, how long readers have until they are taken for failed.
  package var drain = Nanoseconds.seconds(60)
  /// A reader that lacks an end for so long after the last reply reconnects, as an app that is opened again does.
  package var patience = Nanoseconds.seconds(5)

  package init(load: WuKongIMLoad, host: String, port: Int) {
    self.load = load
    self.host = host
    self.port = port
  }
}

/// A latency of the workload, in nanoseconds.
package enum WuKongSample: Sendable, CaseIterable {
  /// Request of an event → its answer.
  case append
  /// Request of an event → the event at one reader, while that is not recovering.
  case fanOut
  /// Dial of a reconnect → history applied and buffer replayed.
  case recovery
  /// Request of a history → its answer.
  case history
}

package struct WuKongCounts: Sendable, Equatable {
  package var replies = 0
  package var repliesFailed = 0
  package var requests = 0
  package var retries = 0
  package var cacheMisses = 0
  package var deltasSent = 0
  package var connects = 0
  package var histories = 0
  package var historiesFailed = 0
  package var eventsReceived = 0
  package var basesReceived = 0
  package var bytesReceived = 0
  package var kills = 0
  /// Reconnects that waiting readers made at the end.
  package var reopened = 0
  package var disconnects = 0
  package var readersCompleted = 0
  package var readersFailed = 0
  /// Texts that were no prefix of the truth, or not the truth at the end.
  package var wrongTexts = 0
  /// Sums over all projections.
  package var timeline = TimelineCounts()

  package init() {}
}

package final class WuKongWorkload {
  package let settings: WuKongWorkloadSettings
  package private(set) var counts = WuKongCounts()
  /// The first problems, for the report.
  package private(set) var problems: [String] = []

  package var onSample: (WuKongSample, Nanoseconds) -> Void = { _, _ in }
  package var onSession: (SessionRecord) -> Void = { _ in }
  package var onDisconnect: (DisconnectRecord) -> Void = { _ in }
  /// About once a second: for progress and time series.
  package var onTick: (WuKongCounts, _ live: Int) -> Void = { _, _ in }

  private let queue: EventQueue
  private var caller: WuKongCaller
  private var webSocketDestination: SocketDestination
  private var webSocketHost: String
  private var webSocketPath = "/"
  private let origin: Instant
  private var readers: [WuKongReader] = []
  private var replies: [ReplyProducer] = []
  private var truth = WuKongTruth()
  private var nextReplyOf: [Int: Int] = [:]
  private var wheel: TimerWheel
  private var random: SeededRandom
  private var repliesOpen = 0
  private var readersOpen = 0
  private var producedAt: Instant?
  private var touched: Set<Int> = []
  private var actions: [WuKongClient.Action] = []
  private let stopRequested = Atomic<Bool>(false)
  private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

  package init(settings: WuKongWorkloadSettings, origin: Instant = Instant.now()) throws(EngineError) {
    self.settings = settings
    self.origin = origin
    do throws(EventQueueError) { queue = try EventQueue(capacity: 1_024) } catch {
      throw EngineError("\(error.call): errno \(error.errno)")
    }
    let destination: SocketDestination
    do throws(SocketError) {
      destination = try SocketDestination(host: settings.host, port: settings.port)
    } catch {
      throw EngineError("\(settings.host): \(error.message)")
    }
    let host = "\(settings.host.contains(":") ? "[\(settings.host)]" : settings.host):\(settings.port)"
    caller = WuKongCaller(
      queue: queue, destination: destination, hostHeader: host, headers: settings.headers,
      lines: settings.httpConnections)
    webSocketDestination = destination
    webSocketHost = host
    random = SeededRandom(seed: settings.seed, purpose: "wukongim workload")
    wheel = TimerWheel(timers: settings.load.readers + settings.load.replies + 1, now: origin)
    plan()
  }

  deinit {
    for reader in readers where reader.descriptor >= 0 { StreamSocket.end(reader.descriptor) }
    buffer.deallocate()
  }

  /// Ends `run` soon, from any thread.
  package func stop() {
    stopRequested.store(true, ordering: .relaxed)
    queue.wake()
  }

  // MARK: Plan

  private var isPersonal: Bool { settings.load.channelType == ChannelKey.person }

  /// Rooms with many readers, or one conversation for each reader.
  private var channelCount: Int { isPersonal ? settings.load.readers : settings.load.channels }

  private func author(ofChannel index: Int) -> String { "author-\(index % max(1, settings.load.producers))" }

  /// A channel as its readers see it; of a conversation that is the author's uid.
  private func channelKey(_ index: Int) -> ChannelKey {
    ChannelKey(
      id: ByteText(isPersonal ? author(ofChannel: index) : "room-\(index)"), type: settings.load.channelType)
  }

  /// The same as its author sees it.
  private func authorsKey(_ index: Int) -> ChannelKey {
    isPersonal ? ChannelKey(id: ByteText("reader-\(index)"), type: ChannelKey.person) : channelKey(index)
  }

  /// Texts, channels and points of death, all from the seed.
  private func plan() {
    let load = settings.load
    let limits = TimelineLimits()
    truth.replies = Array(repeating: [], count: channelCount)
    for reply in 0..<load.replies {
      var random = SeededRandom(seed: settings.seed, purpose: "wukongim text", index: UInt64(reply))
      let deltas = (0..<load.deltas).map { index in
        WuKongText.delta(units: Int(load.deltaUnits.sample(&random, index: index).rounded()), &random)
      }
      let channel = reply % channelCount
      truth.replies[channel].append(reply)
      let producer = ReplyProducer(
        channel: authorsKey(channel), sender: ByteText(author(ofChannel: channel)),
        clientMessageNumber: "reply-\(reply)", deltas: deltas)
      let (text, cut) = WuKongText.bounded(producer.text, units: limits.textUnits)
      truth.texts.append(text)
      truth.isTruncated.append(cut)
      truth.sentAt.append(Array(repeating: -1, count: load.deltas + 3))
      replies.append(producer)
    }
    for number in 0..<load.readers {
      let channel = number % channelCount
      let reader = WuKongReader(
        number: number, uid: "reader-\(number)", token: "token-\(number)", channel: channel,
        key: channelKey(channel),
        rules: load.rules == .demo ? .demo : .normative, settings: settings.client)
      var random = SeededRandom(seed: settings.seed, purpose: "wukongim kills", index: UInt64(number))
      let events = truth.replies[channel].count * (load.deltas + 2)
      reader.kills = (0..<load.killTimes).map { _ in Int(random.uniform() * 0.9 * Double(events)) }.sorted(
        by: >)
      readers.append(reader)
    }
  }

  // MARK: Run

  /// Runs the whole workload on this thread.
  package func run() {
    readersOpen = readers.count
    repliesOpen = replies.count
    setUp()
    var nextSecond = Instant.now() + .seconds(1)
    while !stopRequested.load(ordering: .relaxed), readersOpen > 0 || repliesOpen > 0 {
      var deadline = nextSecond
      if let due = wheel.nextDeadline() { deadline = min(deadline, due) }
      guard let ready = try? queue.wait(until: deadline) else { break }
      let now = Instant.now()
      for event in ready {
        if event.token >= WuKongCaller.tokenBase {
          caller.ready(event)
        } else {
          self.ready(event, now)
        }
      }
      expire(now)
      if now >= nextSecond {
        nextSecond = now + .seconds(1)
        caller.sweep(now)
        onTick(counts, readersOpen)
        if let producedAt, now > producedAt + settings.drain { break }
      }
      flushTouched(now)
    }
    for reader in readers where !reader.isComplete { close(reader, completed: false) }
  }

  /// Users, channels and the WebSocket's address first; then readers and producers.
  private func setUp() {
    var outstanding = 0
    func post(_ path: String, _ body: JSONValue) {
      outstanding += 1
      caller.call(
        WuKongCall(path: path, body: Array(body.text().utf8)) { [unowned self] result, _ in
          outstanding -= 1
          if case .answer(200, _) = result {} else { problem("\(path): \(Self.describe(result))") }
          if outstanding == 0 { findRoute() }
        })
    }
    let load = settings.load
    for reader in readers {
      post(
        "/user/token",
        .object([
          "uid": .string(reader.uid), "token": .string("token-\(reader.number)"), "device_flag": .integer(0),
          "device_level": .integer(1),
        ]))
    }
    // Conversations need no setting up.
    for channel in 0..<(isPersonal ? 0 : channelCount) {
      let members =
        readers.filter { $0.channel == channel }.map { JSONValue.string($0.uid) } + [
          .string(author(ofChannel: channel))
        ]
      post(
        "/channel",
        .object([
          "channel_id": .string(channelKey(channel).id.string),
          "channel_type": .integer(Int64(load.channelType)),
          "reset": .integer(1), "subscribers": .array(members),
        ]))
    }
  }

  private static func describe(_ result: WuKongCallResult) -> String {
    switch result {
    case .failed: "no answer"
    case .answer(let status, let body): "HTTP \(status) \(String(decoding: body.prefix(120), as: UTF8.self))"
    }
  }

  private func problem(_ text: String) {
    if problems.count < 20 { problems.append(text) }
  }

  private func findRoute() {
    caller.call(
      WuKongCall(method: "GET", path: "/route?uid=reader-0&intranet=0") { [unowned self] result, _ in
        if case .answer(200, let body) = result, let document = try? JSONReader.read(body),
          let address = document["ws_addr"]?.asString
        {
          useRoute(address)
        } else {
          problem("/route: \(Self.describe(result))")
        }
        begin()
      })
  }

  private func useRoute(_ address: String) {
    guard address.hasPrefix("ws://") else {
      problem("/route: '\(address.prefix(80))' is not a ws:// address; this workload speaks plain ws")
      return
    }
    let rest = address.dropFirst(5)
    let authority = rest.prefix { $0 != "/" }
    if authority.count < rest.count { webSocketPath = String(rest.dropFirst(authority.count)) }
    guard let colon = authority.lastIndex(of: ":"),
      let port = Int(authority[authority.index(after: colon)...])
    else { return }
    let host = authority[..<colon].filter { $0 != "[" && $0 != "]" }
    do throws(SocketError) {
      webSocketDestination = try SocketDestination(host: String(host), port: port)
      webSocketHost = String(authority)
    } catch { problem("/route: \(address.prefix(80)): \(error.message)") }
  }

  private func begin() {
    let now = Instant.now()
    for reader in readers {
      reader.record.value.scheduledStart = now.nanoseconds - origin.nanoseconds
      act(reader, now) { $0.start($1, &$2) }
    }
    // Producers begin when the readers had a moment to connect; those that come later repair themselves.
    let lead = Nanoseconds.milliseconds(min(2_000, 50 + Double(readers.count)))
    for producer in 0..<max(1, settings.load.producers) where producer < replies.count {
      wheel.set(timer(ofReply: producer), at: now + lead)
    }
    if replies.isEmpty { producedAt = now }
  }

  // MARK: Producers

  private func timer(ofReply reply: Int) -> Int { settings.load.readers + reply }

  private func post(reply: Int) {
    let request = replies[reply].request
    counts.requests += 1
    caller.call(
      WuKongCall(path: request.path, body: request.body) { [unowned self] result, sent in
        answered(reply: reply, request.kind, result, sent)
      })
    // Corrected when the bytes go out; a queue in front of the connections is part of the latency.
    note(reply, request.kind, Instant.now())
  }

  private func note(_ reply: Int, _ kind: ReplyProducer.Request.Kind, _ now: Instant) {
    let event: Int
    switch kind {
    case .open: event = 1
    case .delta(let index): event = index + 2
    case .finish: event = settings.load.deltas + 2
    case .base, .snapshot: return
    }
    if truth.sentAt[reply][event] < 0 { truth.sentAt[reply][event] = now.nanoseconds }
  }

  private func answered(
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
    case .failed: next = replies[reply].unanswered()
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
  private func finished(_ reply: Int, _ now: Instant) {
    repliesOpen -= 1
    let next = reply + max(1, settings.load.producers)
    if next < replies.count { post(reply: next) }
    if repliesOpen == 0 {
      producedAt = now
      wheel.set(settings.load.readers + settings.load.replies, at: now + settings.patience)
      for reader in readers { settle(reader, now) }
    }
  }

  private func expire(_ now: Instant) {
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
  private func reopen(_ now: Instant) {
    guard readersOpen > 0 else { return }
    for reader in readers
    where !reader.isComplete && reader.client.state == .online && !reader.timeline.isRecovering {
      counts.reopened += 1
      act(reader, now) { $0.kill($1, &$2) }
    }
    wheel.set(settings.load.readers + settings.load.replies, at: now + settings.patience)
  }

  // MARK: Readers

  private func act(
    _ reader: WuKongReader, _ now: Instant,
    _ body: (inout WuKongClient, Instant, inout [WuKongClient.Action]) -> Void
  ) {
    var todo = actions
    actions = []
    body(&reader.client, now, &todo)
    for action in todo { perform(action, reader, now) }
    setTimer(reader)
    todo.removeAll(keepingCapacity: true)
    actions = todo
  }

  private func setTimer(_ reader: WuKongReader) {
    if let due = reader.client.nextDeadline {
      wheel.set(reader.number, at: due)
    } else {
      wheel.cancel(reader.number)
    }
  }

  private func perform(_ action: WuKongClient.Action, _ reader: WuKongReader, _ now: Instant) {
    switch action {
    case .open: dial(reader, now)
    case .send(let bytes):
      reader.webSocket?.send(text: bytes)
      touched.insert(reader.number)
    case .close(let code):
      if code != 1006 {
        reader.webSocket?.close(code: code)
        _ = reader.flush()
      }
      hangUp(reader)
    case .online(let generation): online(reader, generation, now)
    case .base(let base):
      counts.basesReceived += 1
      reader.timeline.receive(base)
    case .event(let event): receive(event, reader, now)
    case .undecodable: reader.timeline.receiveUndecodable()
    case .offline(let loss, let delay): offline(reader, loss, delay, now)
    case .ended(let ending):
      if case .stopped = ending { return }
      problem("reader \(reader.number): \(ending)")
      close(reader, completed: false)
    }
  }

  private func dial(_ reader: WuKongReader, _ now: Instant) {
    reader.dialledAt = now
    if reader.record.value.requestStart < 0 {
      reader.record.value.requestStart = now.nanoseconds - origin.nanoseconds
    }
    do throws(SocketError) { reader.descriptor = try StreamSocket.dial(webSocketDestination) } catch {
      problem("reader \(reader.number): \(error.message)")
      act(reader, now) { $0.transportEnded($1, .transport, &$2) }
      return
    }
    reader.epoch += 1
    reader.phase = .connecting
    do throws(EventQueueError) {
      try queue.add(reader.descriptor, [.read, .write], token: token(reader))
    } catch {
      hangUp(reader)
      act(reader, now) { $0.transportEnded($1, .transport, &$2) }
    }
  }

  private func token(_ reader: WuKongReader) -> UInt64 { reader.epoch << 24 | UInt64(reader.number) }

  private func ready(_ event: Readiness, _ now: Instant) {
    let number = Int(event.token & 0xFF_FFFF)
    guard number < readers.count, token(readers[number]) == event.token, readers[number].descriptor >= 0
    else { return }
    let reader = readers[number]
    if reader.phase == .connecting {
      guard event.isWritable || event.isClosed else { return }
      guard StreamSocket.dialError(reader.descriptor) == 0 else {
        lost(reader, now)
        return
      }
      reader.phase = .upgrading
      reader.key = WebSocketHandshake.newKey()
      reader.head = []
      reader.output = WebSocketHandshake.request(
        host: webSocketHost, path: webSocketPath, key: reader.key, headers: settings.headers)
      reader.sent = 0
      reader.waitsForWriting = true
      touched.insert(number)
      return
    }
    if event.isWritable { touched.insert(number) }
    if event.isReadable || event.isClosed { read(reader, now) }
  }

  private func read(_ reader: WuKongReader, _ now: Instant) {
    switch StreamSocket.receive(reader.descriptor, buffer) {
    case .wouldBlock: return
    case .ended: lost(reader, now)
    case .bytes(let count):
      counts.bytesReceived += count
      reader.record.value.bytes += Int64(count)
      reader.record.value.reads += 1
      let bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count])
      if reader.phase == .upgrading { upgrade(reader, bytes, now) } else { receive(bytes, reader, now) }
    }
  }

  private func upgrade(_ reader: WuKongReader, _ bytes: UnsafeBufferPointer<UInt8>, _ now: Instant) {
    reader.head.append(contentsOf: bytes)
    do throws(WebSocketError) {
      guard let length = try UpgradeHead.length(in: reader.head) else { return }
      try WebSocketHandshake.check(try UpgradeHead(reader.head[..<length]), key: reader.key)
      let rest = Array(reader.head[length...])
      reader.head = []
      reader.phase = .open
      reader.webSocket = WebSocketSession(role: .client)
      act(reader, now) { $0.transportOpened($1, wallMilliseconds: StreamSocket.wallMilliseconds(), &$2) }
      if !rest.isEmpty { rest.withUnsafeBufferPointer { receive($0, reader, now) } }
    } catch {
      problem("reader \(reader.number): \(error.message)")
      lost(reader, now)
    }
  }

  private func receive(_ bytes: UnsafeBufferPointer<UInt8>, _ reader: WuKongReader, _ now: Instant) {
    guard let webSocket = reader.webSocket else { return }
    do throws(WebSocketError) {
      try webSocket.receive(bytes) { message in
        // A reader that was dropped meanwhile has another socket, or none.
        guard reader.webSocket === webSocket else { return }
        switch message {
        case .text(let text), .binary(let text): act(reader, now) { $0.received(text, $1, &$2) }
        case .ping, .pong, .close: break
        }
      }
    } catch {
      problem("reader \(reader.number): \(error.message)")
    }
    guard reader.webSocket === webSocket else { return }
    touched.insert(reader.number)
    if webSocket.state == .closed {
      _ = reader.flush()
      lost(reader, now)
    }
  }

  private func lost(_ reader: WuKongReader, _ now: Instant) {
    hangUp(reader)
    act(reader, now) { $0.transportEnded($1, .transport, &$2) }
  }

  private func hangUp(_ reader: WuKongReader) {
    reader.webSocket = nil
    reader.output = []
    reader.sent = 0
    reader.phase = .none
    reader.waitsForWriting = false
    guard reader.descriptor >= 0 else { return }
    queue.remove(reader.descriptor)
    StreamSocket.end(reader.descriptor)
    reader.descriptor = -1
    reader.epoch += 1
  }

  private func flushTouched(_ now: Instant) {
    let due = touched
    touched.removeAll(keepingCapacity: true)
    for number in due {
      let reader = readers[number]
      guard reader.descriptor >= 0, reader.phase != .connecting else { continue }
      if !reader.flush() {
        lost(reader, now)
        continue
      }
      let waits = reader.pendingCount > 0
      if waits != reader.waitsForWriting {
        reader.waitsForWriting = waits
        try? queue.modify(reader.descriptor, waits ? [.read, .write] : .read, token: token(reader))
      }
    }
  }

  // MARK: What readers see

  private func online(_ reader: WuKongReader, _ generation: Int, _ now: Instant) {
    counts.connects += 1
    reader.onlineAt = now
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

  private func recovered(_ reader: WuKongReader, _ now: Instant) {
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

  private func receive(_ event: StreamEvent, _ reader: WuKongReader, _ now: Instant) {
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

  private static func number(_ text: String, after prefix: String) -> Int? {
    text.utf8.starts(with: prefix.utf8) ? Int(text.dropFirst(prefix.count)) : nil
  }

  private func kill(_ reader: WuKongReader, _ now: Instant) {
    reader.kills.removeLast()
    counts.kills += 1
    // Within the machine's own actions: the rest of them no longer matters.
    act(reader, now) { $0.kill($1, &$2) }
  }

  private func offline(
    _ reader: WuKongReader, _ loss: WuKongClient.Loss, _ delay: Nanoseconds?, _ now: Instant
  ) {
    counts.disconnects += 1
    reader.record.value.disconnects += 1
    var record = DisconnectRecord()
    record.variant = settings.variant
    record.repetition = settings.repetition
    record.session = Int64(reader.number)
    record.number = reader.record.value.disconnects
    record.cause = Self.word(loss)
    record.detected = now.nanoseconds - origin.nanoseconds
    record.delayAsked = delay?.value ?? -1
    record.delayTaken = delay?.value ?? -1
    record.attempts = Int32(reader.client.failures)
    if let open = reader.disconnect { record.detected = open.detected }
    reader.disconnect = record
  }

  private static func word(_ loss: WuKongClient.Loss) -> String {
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
  private func settle(_ reader: WuKongReader, _ now: Instant) {
    guard !reader.isComplete, repliesOpen == 0, reader.client.state == .online, !reader.timeline.isRecovering
    else { return }
    if !reader.kills.isEmpty {
      kill(reader, now)
      return
    }
    guard reader.verified.count == truth.replies[reader.channel].count else { return }
    close(reader, completed: true)
  }

  private func close(_ reader: WuKongReader, completed: Bool) {
    guard !reader.isComplete else { return }
    reader.isComplete = true
    readersOpen -= 1
    let now = Instant.now()
    // At last every byte once more.
    for reply in truth.replies[reader.channel] { reader.verify(reply: reply, truth, isGrowth: false) }
    let isRight = completed && reader.wrongTexts == 0
    counts.wrongTexts += reader.wrongTexts
    add(reader.timeline.counts)
    if isRight { counts.readersCompleted += 1 } else { counts.readersFailed += 1 }
    if !completed {
      let missing = truth.replies[reader.channel].filter { !reader.verified.contains($0) }
      problem("reader \(reader.number): \(missing.count) replies not whole, state \(reader.client.state)")
    }
    var record = reader.record.value
    record.variant = settings.variant
    record.repetition = settings.repetition
    record.session = Int64(reader.number)
    record.outcome = isRight ? .completed : .failed
    record.error = isRight ? nil : .truncated
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

  private func add(_ counts: TimelineCounts) {
    self.counts.timeline.duplicates += counts.duplicates
    self.counts.timeline.covered += counts.covered
    self.counts.timeline.gaps += counts.gaps
    self.counts.timeline.overflow += counts.overflow
    self.counts.timeline.undecodable += counts.undecodable
    self.counts.timeline.ignored += counts.ignored
    self.counts.timeline.staleHistories += counts.staleHistories
  }
}
