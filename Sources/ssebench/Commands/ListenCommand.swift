// `ssebench listen`: one session, each of its states and events a line of JSON as it happens.

import Engine
import Foundation
import Primitives
import Scenarios
import Streams
import Transports

enum ListenCommand {
  static let command = Command(
    name: "listen", summary: "Watch one stream: its states and events as they happen",
    examples: [
      ("ssebench listen http://127.0.0.1:8080/events", "prints each event of the stream, with its time, until the stream ends"),
      (
        "ssebench listen https://host/events --reconnect whatwg --retry 3s -H 'Authorization: Bearer …'",
        "stays on the stream as a browser's EventSource does"
      ),
    ],
    operands: "URL", operandCount: 1...1,
    flags: [
      ParserFlags.parser,
      Flag(
        "--reconnect", "POLICY", "What follows the end of a connection (default none)",
        choices: ["none", "whatwg", "backoff"]),
      Flag("--retry", "D", "The reconnection time until the server says another (default 3s; backoff: 1s)"),
      Flag("--last-event-id", "ID", "Sent with the first request already"),
      Flag("--max-events", "N", "End with this event"),
      Flag("--for", "DURATION", "End when this has passed"),
    ] + HTTPFlags.all + ParserFlags.details,
    discussion: """
      Each line has t_ms, the time since the start, and is one of
        {"state":"connecting","attempt":N}                   with last_event_id where one is sent
        {"state":"open","status":200,"content_type":…}
        {"event":…,"data":…,"id":…}                          as `parse` prints it
        {"state":"waiting","delay_ms":…,"reason":…}          before the next attempt
        {"state":"closed","reason":…}                        the last line
      Reasons: end (of the body), cut (inside the body), refused, reset, http_5xx and the other error kinds of a run; for
      closed also http_204, end_marker, max_events, duration, interrupted. After a POST the end markers of LLM APIs end the
      session under every policy. Exit code 0, or 69 if no stream was ever open, or 130 after a signal.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    let request = try HTTPFlags.request(invocation)
    let policy = invocation.value("--reconnect").flatMap { Reconnect.Policy(rawValue: $0) } ?? .none
    let settings: SessionSettings
    do {
      settings = try SessionSettings(
        listeningTo: request.url, headers: request.headers, body: request.body,
        parser: try ParserFlags.settings(invocation), policy: policy, retry: try invocation.duration("--retry"),
        tls: request.tls, stack: request.stack)
    } catch let error as EngineError {
      throw CommandFailure(.usage, error.description)
    }
    let lastEventID = invocation.value("--last-event-id") ?? ""
    if lastEventID.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw CommandFailure(.usage, "--last-event-id: holds a control character; expected text of one line, as a header can carry it")
    }
    let printer = ListenPrinter(request.secrets)
    var listener = ListenSession.Listener()
    listener.changed = { printer.changed($0, $1) }
    listener.received = { printer.received($0, $1) }
    Interrupts.watch()
    let session = try ListenSession(
      settings, lastEventID: lastEventID,
      maxEvents: try invocation.integer("--max-events", in: 1...Int.max), duration: try invocation.duration("--for"),
      listener: listener)
    try session.run { Interrupts.seen > 0 || printer.readerIsGone }
    try printer.finish()
    if Interrupts.seen > 0 { return .interrupted }
    return session.hasOpened ? .success : .unavailable
  }
}

/// The lines of `listen`, each written as it comes.
final class ListenPrinter {
  private var events = EventPrinter()
  private let secrets: Secrets

  init(_ secrets: Secrets) { self.secrets = secrets }

  var readerIsGone: Bool { events.out.failure != nil }

  func received(_ event: EventSlices, _ at: Nanoseconds) {
    events.prefix = "\"t_ms\":\(Self.milliseconds(at)),"
    events.receive(event)
    events.out.flush()
  }

  func changed(_ change: ListenSession.Change, _ at: Nanoseconds) {
    var line = JSONObject([("t_ms", .number(Self.rounded(at)))])
    switch change {
    case .connecting(let attempt, let id):
      line["state"] = .string("connecting")
      line["attempt"] = .integer(Int64(attempt))
      if !id.isEmpty { line["last_event_id"] = .string(id) }
    case .open(let head):
      line["state"] = .string("open")
      line["status"] = .integer(Int64(head.status))
      line["content_type"] = .string(head.contentType)
      if !head.contentEncoding.isEmpty { line["content_encoding"] = .string(head.contentEncoding) }
      if let url = head.finalURL { line["url"] = .string(secrets.scrub(url)) }
    case .waiting(let delay, let reason, let detail, let status):
      line["state"] = .string("waiting")
      line["delay_ms"] = .number(Self.rounded(delay))
      add(reason, detail, status, to: &line)
    case .closed(let reason, let detail, let status):
      line["state"] = .string("closed")
      add(reason, detail, status, to: &line)
    }
    events.out.write(JSONValue.object(line).text() + "\n")
    events.out.flush()
  }

  private func add(_ reason: String, _ detail: String, _ status: Int, to line: inout JSONObject) {
    line["reason"] = .string(reason)
    if !detail.isEmpty { line["detail"] = .string(secrets.scrub(detail)) }
    if status != 0 { line["status"] = .integer(Int64(status)) }
  }

  func finish() throws { try events.out.finish() }

  /// To the microsecond.
  private static func rounded(_ time: Nanoseconds) -> Double { (time.milliseconds * 1e3).rounded() / 1e3 }
  private static func milliseconds(_ time: Nanoseconds) -> String { JSONValue.numberText(rounded(time)) }
}
