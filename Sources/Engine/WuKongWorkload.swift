// The WuKongIM workload: producers post replies, readers follow them over WebSockets, are dropped at random points,
// come back and repair themselves; every text is held against the truth. One thread, one loop; results leave through
// callbacks on that thread. What a connection is made of, plain or TLS, is the business of StreamDialer.

internal import EventLoops
package import Primitives
package import Recording
package import Scenarios
internal import Synchronization
package import Transports
package import WuKongIM

package struct WuKongWorkloadSettings: Sendable {
  package var load: WuKongIMLoad
  /// Where HTTP is spoken; the WebSocket address comes from its `/route`.
  package var host: String
  package var port: Int
  /// Whether that is https; the WebSocket is wss then, too.
  package var isSecure = false
  /// Whom secure connections trust, and where names lead.
  package var secure = SecureSettings()
  package var headers: [(String, String)] = []
  package var seed: UInt64 = 0
  package var variant: Int32 = 0
  package var repetition: Int32 = 0
  package var client = WuKongClientSettings()
  /// HTTP connections of producers and history reads together.
  package var httpConnections = 64
  /// After the last reply, how long readers have until they are taken for failed.
  package var drain = Nanoseconds.seconds(60)
  /// How long the run may take in all.
  package var total = Nanoseconds.seconds(86_400)
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
  /// Texts that reached the bound of a row and were cut there as they must be.
  package var truncatedTexts = 0
  /// Sums over all projections.
  package var timeline = TimelineCounts()

  package init() {}
}

package final class WuKongWorkload {
  package let settings: WuKongWorkloadSettings
  package internal(set) var counts = WuKongCounts()
  /// The first problems, for the report.
  package internal(set) var problems: [String] = []
  /// Why connections could not be made: an example of each kind.
  package internal(set) var dialFailures: [SessionErrorKind: String] = [:]

  package var onSample: (WuKongSample, Nanoseconds) -> Void = { _, _ in }
  package var onSession: (SessionRecord) -> Void = { _ in }
  package var onDisconnect: (DisconnectRecord) -> Void = { _ in }
  /// About once a second: for progress and time series.
  package var onTick: (WuKongCounts, _ live: Int) -> Void = { _, _ in }

  let queue: EventQueue
  let dialer: StreamDialer
  let caller: WuKongCaller
  let api: WebAddress
  var webSocketDestination: ChannelDestination
  var webSocketHost: String
  var webSocketPath = "/"
  let origin: Instant
  var readers: [WuKongReader] = []
  var replies: [ReplyProducer] = []
  var truth = WuKongTruth()
  var nextReplyOf: [Int: Int] = [:]
  var wheel: TimerWheel
  var random: SeededRandom
  var repliesOpen = 0
  var readersOpen = 0
  var producedAt: Instant?
  var touched: Set<Int> = []
  /// Readers whose connection held more than they read in one turn.
  var unread: Set<Int> = []
  static let readsInTurn = 64
  /// The server cannot be reached, and nothing would change that.
  var isGivenUp = false
  var actions: [WuKongClient.Action] = []
  let stopRequested = Atomic<Bool>(false)
  let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

  package init(settings: WuKongWorkloadSettings, origin: Instant = Instant.now()) throws(EngineError) {
    self.settings = settings
    self.origin = origin
    do throws(EventQueueError) { queue = try EventQueue(capacity: 1_024) } catch {
      throw EngineError("\(error.call): errno \(error.errno)")
    }
    let name = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
    guard let api = WebAddress("\(settings.isSecure ? "https" : "http")://\(name):\(settings.port)/") else {
      throw EngineError("\(settings.host):\(settings.port) is no host and port")
    }
    self.api = api
    let destination: ChannelDestination
    do throws(SocketError) {
      destination = try ChannelDestination(
        host: api.host, port: api.port, isSecure: api.isSecure, settings: settings.secure)
    } catch {
      throw EngineError("\(settings.host): \(error.message)")
    }
    dialer = StreamDialer(queue: queue, settings: settings.secure)
    caller = WuKongCaller(
      queue: queue, dialer: dialer, destination: destination, hostHeader: api.hostHeader,
      headers: settings.headers,
      lines: settings.httpConnections)
    webSocketDestination = destination
    webSocketHost = api.hostHeader
    random = SeededRandom(seed: settings.seed, purpose: "wukongim workload")
    wheel = TimerWheel(timers: settings.load.readers + settings.load.replies + 1, now: origin)
    plan()
  }

  deinit {
    for reader in readers { reader.connection.end(on: queue) }
    buffer.deallocate()
  }

  /// Ends `run` soon, from any thread.
  package func stop() {
    stopRequested.store(true, ordering: .relaxed)
    queue.wake()
  }

  // MARK: Plan

  var isPersonal: Bool { settings.load.channelType == ChannelKey.person }

  /// Rooms with many readers, or one conversation for each reader.
  var channelCount: Int { isPersonal ? settings.load.readers : settings.load.channels }

  func author(ofChannel index: Int) -> String { "author-\(index % max(1, settings.load.producers))" }

  /// A channel as its readers see it; of a conversation that is the author's uid.
  func channelKey(_ index: Int) -> ChannelKey {
    ChannelKey(
      id: ByteText(isPersonal ? author(ofChannel: index) : "room-\(index)"), type: settings.load.channelType)
  }

  /// The same as its author sees it.
  func authorsKey(_ index: Int) -> ChannelKey {
    isPersonal ? ChannelKey(id: ByteText("reader-\(index)"), type: ChannelKey.person) : channelKey(index)
  }

  /// Texts, channels and points of death, all from the seed.
  func plan() {
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
    while !stopRequested.load(ordering: .relaxed), !isGivenUp, readersOpen > 0 || repliesOpen > 0 {
      guard
        let ready = try? queue.wait(until: unread.isEmpty ? nextWake(nextSecond) : Instant(nanoseconds: 0))
      else {
        break
      }
      let now = Instant.now()
      for event in ready {
        if event.token & StreamDialer.tokenMark != 0 { dialer.handle(event) } else { dispatch(event, now) }
      }
      dialer.expire(now)
      for token in dialer.takeFailed() {
        dispatch(Readiness(token: token, isReadable: false, isWritable: false, isClosed: true), now)
      }
      if !unread.isEmpty { readRest(now) }
      expire(now)
      if now >= nextSecond {
        nextSecond = now + .seconds(1)
        caller.sweep(now)
        onTick(counts, readersOpen)
        if let producedAt, now > producedAt + settings.drain { break }
        if now > origin + settings.total {
          for reader in readers where !reader.isComplete { reader.failure = .timeoutTotal }
          break
        }
      }
      flushTouched(now)
    }
    for reader in readers where !reader.isComplete { close(reader, completed: false) }
  }

  private func nextWake(_ limit: Instant) -> Instant {
    var next = limit
    if let due = wheel.nextDeadline() { next = min(next, due) }
    if let due = dialer.nextDeadline() { next = min(next, due) }
    return next
  }

  private func dispatch(_ event: Readiness, _ now: Instant) {
    if event.token >= WuKongCaller.tokenBase { caller.ready(event) } else { ready(event, now) }
  }

  /// Users, channels and the WebSocket's address first; then readers and producers.
  func setUp() {
    var outstanding = 0
    func post(_ path: String, _ body: JSONValue) {
      outstanding += 1
      caller.call(
        WuKongCall(path: path, body: Array(body.text().utf8)) { [unowned self] result, _ in
          outstanding -= 1
          check(result, of: path)
          if outstanding == 0 && !isGivenUp { findRoute() }
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

  /// A call of the setting up that did not succeed is a problem; without a connection there is no run at all.
  private func check(_ result: WuKongCallResult, of path: String) {
    switch result {
    case .answer(200, _): break
    case .answer(let status, let body):
      problem("\(path): HTTP \(status) \(String(decoding: body.prefix(120), as: UTF8.self))")
    case .failed(let failure):
      problem("\(path): \(failure.detail)")
      if SessionErrorKind(failure.kind).isConnectFailure { giveUp(failure) }
    }
  }

  /// Ends the run: every reader has failed for this reason.
  func giveUp(_ failure: DialFailure) {
    if isGivenUp { return }
    isGivenUp = true
    let kind = SessionErrorKind(failure.kind)
    note(kind, failure.detail)
    for reader in readers { reader.failure = kind }
  }

  func note(_ kind: SessionErrorKind, _ detail: String) {
    if dialFailures[kind] == nil { dialFailures[kind] = detail }
  }

  func problem(_ text: String) {
    if problems.count < 20 { problems.append(text) }
  }

  func findRoute() {
    let path = "/route?uid=reader-0&intranet=0"
    caller.call(
      WuKongCall(method: "GET", path: path) { [unowned self] result, _ in
        check(result, of: path)
        if isGivenUp { return }
        if case .answer(200, let body) = result { useRoute(body) }
        begin()
      })
  }

  func useRoute(_ answer: [UInt8]) {
    do throws(WuKongRoute.Problem) {
      let route = try WuKongRoute(answer: answer, api: api)
      webSocketHost = route.address.hostHeader
      webSocketPath = route.address.target
      webSocketDestination = try route.destination(settings.secure)
    } catch { problem("/route: \(error.message)") }
  }

  func begin() {
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
}
