// A small program for the interoperation tests: `serve` runs the WuKongIM mock, `client HOST PORT` runs one client
// session against any WebSocket server and prints what it sees (with a file of authorities over TLS), `load …` runs the
// workload against a mock, `memory` what a projection weighs.

import EventLoops
import Foundation
import Engine
import MockServing
import Primitives
import Recording
import Scenarios
import Transports
import WuKongIM

@main
struct WuKongDriver {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    let words = Array(CommandLine.arguments.dropFirst())
    switch words.first {
    case "serve": serve(Array(words.dropFirst()))
    case "client":
      client(
        host: words[1], port: Int(words[2]) ?? 0, fragments: words.count > 3 ? Int(words[3]) ?? 1 : 1,
        authorities: words.count > 4 ? words[4] : nil)
    case "memory": MemoryRun.run()
    case "load": LoadRun.run(Array(words.dropFirst()))
    default:
      say(
        "usage: WuKongDriver serve [FAULT=PROBABILITY…] | client HOST PORT [FRAGMENTS [CA_FILE]] | load KEY=VALUE… | memory"
      )
      exit(64)
    }
  }

  /// A line at once, whatever stdout is.
  static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  /// Faults as `drop_event=0.1` or `history_older=1:50` (milliseconds).
  static func faults(_ words: [String], seed: UInt64 = 1) -> WuKongFaults {
    var settings: [WuKongFaultKind: WuKongFaults.Setting] = [:]
    for word in words {
      let parts = word.split(separator: "=")
      guard parts.count == 2, let kind = WuKongFaultKind(rawValue: String(parts[0])) else { continue }
      let values = parts[1].split(separator: ":").compactMap { Double($0) }
      settings[kind] = WuKongFaults.Setting(
        probability: values.first ?? 1, length: .milliseconds(values.count > 1 ? values[1] : 100))
    }
    return WuKongFaults(settings, seed: seed)
  }

  static func serve(_ words: [String]) {
    do {
      let listener = try WuKongListener(faults: faults(words))
      say(#"{"listening":"\#(listener.httpURL)","ws":"\#(listener.webSocketURL)"}"#)
      listener.run()
    } catch {
      say("cannot listen: \(error)")
      exit(74)
    }
  }

  /// One line for each action of the session machine, until it is over.
  static func client(host: String, port: Int, fragments: Int, authorities: String?) {
    var settings = WuKongClientSettings()
    settings.firstDelay = .milliseconds(50)
    settings.pingInterval = .milliseconds(200)
    settings.pongTimeout = .milliseconds(300)
    settings.maximumAttempts = 3
    var machine = WuKongClient(
      identity: ConnectRequest(uid: "reader-7", token: "tk", deviceID: "d1"), settings: settings)
    var timeline = StreamTimeline()
    var secure = SecureSettings()
    secure.caFile = authorities
    guard let queue = try? EventQueue(),
      let destination = try? ChannelDestination(
        host: host, port: port, isSecure: authorities != nil, settings: secure)
    else { exit(70) }
    let dialer = StreamDialer(queue: queue, settings: secure)
    var channel = StreamChannel.closed
    var isConnecting = false
    var webSocket: WebSocketSession?
    var head: [UInt8] = []
    var key = ""
    var isOver = false

    func transmit(_ bytes: [UInt8]) {
      var at = 0
      while at < bytes.count, !channel.isClosed {
        switch bytes[at...].withUnsafeBufferPointer({ channel.transmit($0) }) {
        case .bytes(let count): at += count
        case .wouldBlock: usleep(1_000)
        case .ended: return
        }
      }
    }
    func hangUp() {
      channel.end(on: queue)
      webSocket = nil
    }
    func act(_ body: (inout WuKongClient, Instant, inout [WuKongClient.Action]) -> Void) {
      var actions: [WuKongClient.Action] = []
      body(&machine, Instant.now(), &actions)
      for action in actions {
        switch action {
        case .open:
          guard let made = try? dialer.open(destination, token: 1) else { continue }
          channel = made
          isConnecting = true
        case .send(let bytes):
          webSocket?.send(text: bytes, fragments: fragments)
        case .close(let code):
          webSocket?.close(code: code)
          if let webSocket { transmit(webSocket.takeOutput()) }
          hangUp()
          say("closing \(code)")
        case .online(let generation):
          timeline.connected()
          timeline.historyFailed(generation: generation)
          say("online \(generation)")
        case .base(let base):
          timeline.receive(base)
          say("base \(base.messageID)")
        case .event(let event):
          timeline.receive(event)
          say("text \(timeline.row(event.clientMessageNumber)?.string ?? "")")
        case .undecodable: say("undecodable")
        case .offline(let loss, let delay):
          say("offline \(loss) \(delay.map { "\(Int($0.milliseconds))" } ?? "never")")
        case .ended(let ending):
          say("ended \(ending)")
          isOver = true
        }
      }
      if let webSocket, webSocket.hasOutput { transmit(webSocket.takeOutput()) }
    }
    func connected() {
      isConnecting = false
      if let failure = channel.dialFailure {
        lost("refused \(failure.kind)")
        return
      }
      try? queue.modify(channel.descriptor, .read, token: 1)
      key = WebSocketHandshake.newKey()
      head = []
      transmit(WebSocketHandshake.request(host: "\(host):\(port)", path: "/", key: key))
      say("dialled")
    }
    func lost(_ why: String) {
      say(why)
      hangUp()
      act { $0.transportEnded($1, .transport, &$2) }
    }
    func frames(_ bytes: [UInt8]) {
      guard let session = webSocket else { return }
      var closed: String?
      do {
        try session.receive(bytes) { message in
          guard webSocket === session else { return }
          switch message {
          case .text(let text), .binary(let text): act { $0.received(text, $1, &$2) }
          case .ping(let payload): say("pinged \(String(decoding: payload, as: UTF8.self))")
          case .pong: break
          case .close(let code, let reason): closed = "closed \(code) \(reason)"
          }
        }
      } catch {
        transmit(session.takeOutput())
        lost("error \(error)")
        return
      }
      guard webSocket === session else { return }
      transmit(session.takeOutput())
      if let closed { lost(closed) }
    }

    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)
    act { $0.start($1, &$2) }
    while !isOver {
      var wake = machine.nextDeadline ?? Instant.now() + .seconds(10)
      if let due = dialer.nextDeadline() { wake = min(wake, due) }
      guard let ready = try? queue.wait(until: wake) else { break }
      var isReady = false
      for event in ready {
        if event.token & StreamDialer.tokenMark != 0 { dialer.handle(event) } else { isReady = true }
      }
      dialer.expire(.now())
      if !dialer.takeFailed().isEmpty { isReady = true }
      if isConnecting && isReady { connected() }
      var mayRead = isReady
      while mayRead, !channel.isClosed {
        mayRead = channel.mayHoldBytes
        switch channel.receive(buffer) {
        case .wouldBlock: mayRead = false
        case .ended: lost("hung up")
        case .bytes(let count):
          let bytes = Array(buffer[..<count])
          if webSocket != nil {
            frames(bytes)
          } else {
            head += bytes
            do {
              if let length = try UpgradeHead.length(in: head) {
                try WebSocketHandshake.check(try UpgradeHead(head[..<length]), key: key)
                webSocket = WebSocketSession(role: .client)
                let rest = Array(head[length...])
                act { $0.transportOpened($1, wallMilliseconds: 0, &$2) }
                if !rest.isEmpty { frames(rest) }
              }
            } catch { lost("error \(error)") }
          }
        }
      }
      act { $0.tick($1, &$2) }
    }
  }
}
