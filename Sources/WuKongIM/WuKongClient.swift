// One client session over its whole life: connect, authenticate, ping, acknowledge, reconnect. A state machine: what
// happened and when goes in, what to do comes out. Knows no socket, no clock and no projection; its driver opens the
// transport, feeds what arrives and wakes it at `nextDeadline`.
//
// The times are those of the iOS SDK 1.0.2: request 15 s, connect 30 s, ping 25 s, pong 10 s, delays 1·2ⁿ s up to 30 s,
// no jitter, counted anew after each authentication.

package import Primitives

package struct WuKongClientSettings: Sendable {
  /// From the dial to the open WebSocket.
  package var connectTimeout = Nanoseconds.seconds(30)
  /// From a request to its answer; `connect` is one.
  package var requestTimeout = Nanoseconds.seconds(15)
  package var pingInterval = Nanoseconds.seconds(25)
  package var pongTimeout = Nanoseconds.seconds(10)
  package var firstDelay = Nanoseconds.seconds(1)
  package var maximumDelay = Nanoseconds.seconds(30)
  /// Attempts in a row that may fail before the session gives up; nil: no limit. The SDK's is 5.
  package var maximumAttempts: Int?

  package init() {}
}

package struct WuKongClient: Sendable {
  /// Why a connection was lost.
  package enum Loss: Error, Equatable, Sendable {
    case connectTimeout, authenticationTimeout, pongTimeout
    /// The transport ended, or could not be opened.
    case transport
    case protocolError(RPCProblem)
    case refused(ReasonCode)
    case disconnected(ReasonCode)
    /// Cut by the workload.
    case killed
  }

  /// Why the session is over.
  package enum Ending: Equatable, Sendable {
    case stopped
    case authenticationFailed(code: Int, message: String)
    case kicked(reason: String)
    case gaveUp(attempts: Int, Loss)
  }

  package enum Action: Equatable, Sendable {
    /// Open a transport; answer with `transportOpened` or `transportEnded`.
    case open
    /// Send one text message.
    case send([UInt8])
    /// End the transport; nothing of it may be reported any more.
    case close(code: UInt16)
    /// Authenticated, for the N-th time: read one history for this generation.
    case online(generation: Int)
    case base(BaseMessage)
    case event(StreamEvent)
    case undecodable(DecodeProblem)
    /// The connection is lost; `retryIn` is nil where the session is over.
    case offline(Loss, retryIn: Nanoseconds?)
    case ended(Ending)
  }

  package enum State: Equatable, Sendable {
    case idle, opening, authenticating, online, waiting, ended
  }

  package let settings: WuKongClientSettings
  package let identity: ConnectRequest
  package private(set) var state = State.idle
  /// How many times this session was authenticated.
  package private(set) var generation = 0
  /// Failures since the last authentication.
  package private(set) var failures = 0
  /// When `tick` is wanted; nil: never.
  package private(set) var nextDeadline: Instant?

  private var requests = 0
  private var connectID = ""
  private var pingID: String?
  private var pongDue: Instant?
  private var nextPing: Instant?

  package init(identity: ConnectRequest, settings: WuKongClientSettings = WuKongClientSettings()) {
    self.identity = identity
    self.settings = settings
  }

  package mutating func start(_ now: Instant, _ actions: inout [Action]) {
    guard state == .idle else { return }
    open(now, &actions)
  }

  private mutating func open(_ now: Instant, _ actions: inout [Action]) {
    state = .opening
    nextDeadline = now + settings.connectTimeout
    actions.append(.open)
  }

  /// The WebSocket is open: `connect` must be its first frame, within the server's 2 s.
  package mutating func transportOpened(_ now: Instant, wallMilliseconds: Int = 0, _ actions: inout [Action])
  {
    guard state == .opening else { return }
    state = .authenticating
    nextDeadline = now + settings.requestTimeout
    connectID = nextID("c")
    var request = identity
    request.clientTimestamp = wallMilliseconds
    actions.append(.send(ClientFrame.connect(id: connectID, request).bytes))
  }

  private mutating func nextID(_ prefix: String) -> String {
    requests += 1
    return "\(prefix)\(requests)"
  }

  /// The transport could not be opened, or ended by itself or by the peer.
  package mutating func transportEnded(_ now: Instant, _ loss: Loss = .transport, _ actions: inout [Action]) {
    switch state {
    case .opening, .authenticating, .online: lose(loss, now, &actions)
    case .idle, .waiting, .ended: break
    }
  }

  /// One text or binary message of the server.
  package mutating func received(_ bytes: [UInt8], _ now: Instant, _ actions: inout [Action]) {
    guard state == .authenticating || state == .online else { return }
    let frame: ServerFrame
    do throws(RPCProblem) {
      frame = try ServerFrame(bytes)
    } catch {
      actions.append(.close(code: 1002))
      lose(.protocolError(error), now, &actions)
      return
    }
    switch frame {
    case .event(let event): if state == .online { actions.append(.event(event)) }
    case .undecodableEvent(let problem): if state == .online { actions.append(.undecodable(problem)) }
    case .receive(let base):
      guard state == .online else { return }
      actions.append(.base(base))
      // After the listener, once for each `recv`.
      actions.append(
        .send(
          ClientFrame.receiveAcknowledgement(
            messageID: base.messageID.string, messageSequence: base.messageSequence ?? 0
          ).bytes))
    case .result(let id, let result): answered(id, result, now, &actions)
    case .failure(let id, let code, let message):
      guard state == .authenticating, id == nil || id == connectID else { return }
      finish(.authenticationFailed(code: code, message: message), close: 1000, &actions)
    case .disconnect(let code, let reason):
      if code == .kicked {
        finish(.kicked(reason: reason), close: 1000, &actions)
      } else {
        actions.append(.close(code: 1000))
        lose(.disconnected(code), now, &actions)
      }
    case .unknown: break
    }
  }

  private mutating func answered(_ id: String, _ result: JSONValue, _ now: Instant, _ actions: inout [Action])
  {
    if state == .authenticating && id == connectID {
      // Only the code 1 is success; 0 is what an absent or unknown one means.
      let code = ReasonCode(rawValue: result["reasonCode"]?.asInt ?? 0)
      switch code {
      case .success:
        state = .online
        generation += 1
        failures = 0
        nextPing = now + settings.pingInterval
        updateDeadline()
        actions.append(.online(generation: generation))
      case .authenticationFailed:
        finish(
          .authenticationFailed(code: code.rawValue, message: "reasonCode \(code.rawValue)"), close: 1000,
          &actions)
      default:
        actions.append(.close(code: 1000))
        lose(.refused(code), now, &actions)
      }
    } else if let expected = pingID, id == expected {
      pingID = nil
      pongDue = nil
      updateDeadline()
    }
  }

  /// Call at or after `nextDeadline`; earlier does nothing.
  package mutating func tick(_ now: Instant, _ actions: inout [Action]) {
    guard let deadline = nextDeadline, now >= deadline else { return }
    switch state {
    case .opening:
      actions.append(.close(code: 1001))
      lose(.connectTimeout, now, &actions)
    case .authenticating:
      actions.append(.close(code: 1001))
      lose(.authenticationTimeout, now, &actions)
    case .online:
      if let due = pongDue, now >= due {
        actions.append(.close(code: 1001))
        lose(.pongTimeout, now, &actions)
        return
      }
      if let due = nextPing, now >= due, pingID == nil {
        let id = nextID("p")
        pingID = id
        pongDue = now + settings.pongTimeout
        nextPing = now + settings.pingInterval
        actions.append(.send(ClientFrame.ping(id: id).bytes))
      }
      updateDeadline()
    case .waiting: open(now, &actions)
    case .idle, .ended: nextDeadline = nil
    }
  }

  private mutating func updateDeadline() {
    nextDeadline = pongDue ?? nextPing
  }

  /// Cuts the connection as a bad network would; the session reconnects.
  package mutating func kill(_ now: Instant, _ actions: inout [Action]) {
    switch state {
    case .opening, .authenticating, .online:
      actions.append(.close(code: 1006))
      lose(.killed, now, &actions)
    case .idle, .waiting, .ended: break
    }
  }

  package mutating func stop(_ actions: inout [Action]) {
    if state != .ended { finish(.stopped, close: state == .waiting || state == .idle ? nil : 1000, &actions) }
  }

  private mutating func lose(_ loss: Loss, _ now: Instant, _ actions: inout [Action]) {
    forgetPing()
    failures += 1
    if let limit = settings.maximumAttempts, failures > limit {
      state = .ended
      nextDeadline = nil
      actions.append(.offline(loss, retryIn: nil))
      actions.append(.ended(.gaveUp(attempts: failures - 1, loss)))
      return
    }
    let doubled = settings.firstDelay.value.multipliedReportingOverflow(by: 1 << Int64(min(failures - 1, 40)))
    let delay =
      doubled.overflow ? settings.maximumDelay : min(Nanoseconds(doubled.partialValue), settings.maximumDelay)
    state = .waiting
    nextDeadline = now + delay
    actions.append(.offline(loss, retryIn: delay))
  }

  private mutating func finish(_ ending: Ending, close code: UInt16?, _ actions: inout [Action]) {
    forgetPing()
    state = .ended
    nextDeadline = nil
    if let code { actions.append(.close(code: code)) }
    actions.append(.ended(ending))
  }

  private mutating func forgetPing() {
    pingID = nil
    pongDue = nil
    nextPing = nil
  }
}
