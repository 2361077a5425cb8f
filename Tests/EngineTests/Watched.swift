// A listen session against a scripted server, and what came of it.

import Engine
import Primitives
import Scenarios
import Streams
import TestSupport

/// All that a session told, in order.
final class Watched {
  private(set) var changes: [(change: ListenSession.Change, at: Nanoseconds)] = []
  /// `type/data/id`; the type `message` is left out.
  private(set) var events: [String] = []
  private(set) var eventTimes: [Nanoseconds] = []
  private(set) var requests: [CaseRequest] = []
  private(set) var hasOpened = false

  /// The reconnection time unless a test says another.
  static let time = Nanoseconds.milliseconds(60)

  init(
    _ server: CaseServer, policy: Reconnect.Policy = .whatwg, retry: Nanoseconds = time, lastEventID: String = "",
    headers: [(name: String, value: String)] = [], body: String? = nil, maxEvents: Int? = nil,
    duration: Nanoseconds = .seconds(30)
  ) throws {
    let settings = try SessionSettings(
      listeningTo: server.url, headers: headers, body: body.map { Array($0.utf8) }, policy: policy, retry: retry)
    var listener = ListenSession.Listener()
    listener.changed = { [unowned self] in changes.append(($0, $1)) }
    listener.received = { [unowned self] event, at in
      func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
      let type = text(event.type)
      events.append((type == "message" ? "" : type + "/") + text(event.data) + "/" + text(event.lastEventID))
      eventTimes.append(at)
    }
    let session = try ListenSession(
      settings, lastEventID: lastEventID, maxEvents: maxEvents, duration: duration, listener: listener)
    try session.run()
    hasOpened = session.hasOpened
    requests = server.requests
    server.stop()
  }

  /// The `Last-Event-ID` of each request; nil where it had none.
  var ids: [String?] { requests.map { $0.header("last-event-id") } }

  var closed: String? {
    if case .closed(let reason, _, _)? = changes.last?.change { return reason }
    return nil
  }
  var opens: Int { changes.count { if case .open = $0.change { true } else { false } } }
  var waits: [(delay: Nanoseconds, reason: String)] {
    changes.compactMap { if case .waiting(let delay, let reason, _, _) = $0.change { (delay, reason) } else { nil } }
  }

  /// Between the end of answer `number` (from 0) and the next request, as the server saw it; never more than it was.
  func pause(after number: Int) -> Nanoseconds { requests[number + 1].at - requests[number].answeredAt }
}
