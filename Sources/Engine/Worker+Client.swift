// What a worker does for a client model: the task of the EventSource client beside a connection, text that is shown a
// frame later, a stream given up at a line that is no JSON.

import Primitives
import Recording
import Scenarios
import Streams
import Transports

extension Worker {
  // MARK: The EventSource client

  /// A new task for the next connection, with the id that the last one kept.
  func beginTask(_ session: UnsafeMutablePointer<Session>, _ request: inout TransferRequest, _ now: Int64) {
    var task = EventSourceClient(
      settings.faithful ? .faithful : .strict, requestTimeout: Nanoseconds(settings.idleTimeout),
      resourceTimeout: Nanoseconds(settings.totalTimeout))
    task.lastMessageID = session.pointee.task?.lastMessageID ?? []
    if settings.policy == .restart { task.lastMessageID = [] }
    _ = task.events(at: Instant(nanoseconds: now))
    for header in task.headers where header.name == "Last-Event-ID" {
      let isUsers = settings.endpoint.headers.contains { $0.name.lowercased() == "last-event-id" }
      if !(isUsers && header.value.isEmpty) { request.headers.append(header) }
    }
    session.pointee.task = task
  }

  /// Tells the task that its connection is over; whether its user sees no error although there was one.
  func endTask(_ session: UnsafeMutablePointer<Session>, _ end: TransferEnd) -> Bool {
    guard session.pointee.task != nil else { return false }
    let id = Array(session.pointee.parser.lastEventID)
    session.pointee.task?.delivered(id: id)
    // The first chunk of an error's body is an error to the library's user.
    if !session.pointee.errorBody.isEmpty {
      session.pointee.errorBody.withUnsafeBytes { _ = session.pointee.task?.body($0, at: .now()) }
    }
    let signals = session.pointee.task?.ended(end) ?? []
    return signals == [.closed] && session.pointee.connectionOpened < 0
  }

  // MARK: Text and lines

  /// Text waits for the next frame.
  func publishLater(_ session: UnsafeMutablePointer<Session>) { armTimer(session - sessions) }

  /// A line that is not the JSON expected ends the stream with an error.
  func undecodable(_ session: UnsafeMutablePointer<Session>, _ event: EventSlices, _ now: Int64) {
    noteError(.parse, String(decoding: event.data.prefix(300), as: UTF8.self))
    close(session - sessions, .fail(.parse, ""), now)
  }
}
