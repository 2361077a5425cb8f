// The server's side of one WebSocket connection: first `connect`, then pings, sends and acknowledgements. A state
// machine over whole messages; who else is told is the model's business, sockets and frames are the front's.

package import Primitives

package struct ServerConnectionLimits: Sendable {
  /// `connect` must have come by then.
  package var connect = Nanoseconds.seconds(2)
  /// Without any message for so long the connection is closed.
  package var idle = Nanoseconds.seconds(180)

  package init() {}
}

package struct ServerConnection: Sendable {
  package enum Action: Equatable, Sendable {
    case send([UInt8])
    /// The uid is online on this connection from now on.
    case online(uid: ByteText, deviceID: String, deviceFlag: Int)
    case close(code: UInt16)
  }

  package private(set) var uid: ByteText?
  package private(set) var isClosed = false
  /// When `tick` is wanted.
  package private(set) var deadline: Instant

  private let limits: ServerConnectionLimits

  package init(_ now: Instant, limits: ServerConnectionLimits = ServerConnectionLimits()) {
    self.limits = limits
    deadline = now + limits.connect
  }

  package mutating func tick(_ now: Instant, _ actions: inout [Action]) {
    if !isClosed && now >= deadline { close(1008, &actions) }
  }

  /// One text or binary message of the client: iOS writes JSON in binary frames.
  package mutating func received(
    _ bytes: [UInt8], _ now: Instant, wallMilliseconds: Int, server: WuKongServer, _ actions: inout [Action]
  ) {
    if isClosed { return }
    let frame: ClientFrame
    do throws(RPCProblem) { frame = try ClientFrame(bytes) } catch {
      // Bad JSON and unknown methods close; the peer learns why.
      actions.append(.send(ServerFrame.failure(id: nil, .unknown, error.message)))
      close(1008, &actions)
      return
    }
    guard let uid else {
      guard case .connect(let id, let request) = frame else {
        actions.append(.send(ServerFrame.failure(id: nil, .authenticationFailed, "connect must come first")))
        close(1008, &actions)
        return
      }
      authenticate(id, request, now, wallMilliseconds, server, &actions)
      return
    }
    deadline = now + limits.idle
    switch frame {
    case .connect(let id, _):
      actions.append(.send(ServerFrame.failure(id: id, .unknown, "already connected")))
      close(1008, &actions)
    case .ping(let id): actions.append(.send(ServerFrame.pong(id: id)))
    case .send(let id, let request):
      let message = StoredMessage(
        id: 0, sequence: 0, clientMessageNumber: ByteText(request.clientMessageNumber), sender: uid,
        setting: request.isStream ? BaseMessage.streamSetting : 0, timestamp: wallMilliseconds / 1_000,
        payload: request.payload)
      if let stored = server.send(message, to: request.channel) {
        actions.append(
          .send(
            ServerFrame.sendResult(id: id, messageID: stored.id, messageSequence: stored.sequence, .success)))
      } else {
        actions.append(.send(ServerFrame.failure(id: id, .unknown, "channel not found")))
      }
    case .receiveAcknowledgement: server.acknowledge(uid: uid)
    case .disconnect: close(1000, &actions)
    }
  }

  private mutating func authenticate(
    _ id: String, _ request: ConnectRequest, _ now: Instant, _ wallMilliseconds: Int, _ server: WuKongServer,
    _ actions: inout [Action]
  ) {
    guard server.authenticate(uid: request.uid, token: request.token) else {
      actions.append(.send(ServerFrame.failure(id: id, .authenticationFailed, "auth failed")))
      close(1008, &actions)
      return
    }
    let uid = ByteText(request.uid)
    self.uid = uid
    deadline = now + limits.idle
    var result = ConnectResult()
    if request.clientTimestamp > 0 { result.timeDifference = wallMilliseconds - request.clientTimestamp }
    actions.append(.send(ServerFrame.connectResult(id: id, result)))
    actions.append(.online(uid: uid, deviceID: request.deviceID, deviceFlag: request.deviceFlag))
  }

  private mutating func close(_ code: UInt16, _ actions: inout [Action]) {
    isClosed = true
    actions.append(.close(code: code))
  }
}
