// What a transport reports, written down; and the loop that a worker would be.

import EventLoops
import FoundationClients
import Primitives
import Transports

final class TransportRecorder: TransferReceiver {
  enum Note: Equatable {
    case sent
    case head(Int)
    case body(String)
    case end(TransferEnd)
  }

  var notes: [Int: [Note]] = [:]
  var instants: [Int: [Instant]] = [:]
  var bodyBytes = 0
  var heads: [Int: ResponseHead] = [:]

  func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes) { note(place, .sent, at) }
  func headReceived(_ place: Int, _ head: ResponseHead, at: Instant) {
    heads[place] = head
    note(place, .head(head.status), at)
  }
  func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant) {
    bodyBytes += bytes.count
    note(place, .body(String(decoding: bytes, as: UTF8.self)), at)
  }
  func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant) { note(place, .end(end), at) }

  private func note(_ place: Int, _ note: Note, _ at: Instant) {
    notes[place, default: []].append(note)
    instants[place, default: []].append(at)
  }

  /// All of a place's body in one text.
  func body(_ place: Int) -> String {
    (notes[place] ?? []).reduce(into: "") { text, note in if case .body(let piece) = note { text += piece } }
  }

  func end(_ place: Int) -> TransferEnd? {
    for case .end(let end) in notes[place] ?? [] { return end }
    return nil
  }
}

/// One worker's loop around a URLSession transport.
final class TransportBench {
  let queue: EventQueue
  let recorder = TransportRecorder()
  let transport: URLSessionTransport

  init(_ endpoint: EndpointAddress, places: Int = 4, _ options: URLSessionOptions = URLSessionOptions()) throws {
    queue = try EventQueue(capacity: 16)
    transport = try URLSessionTransport(
      endpoint: endpoint, places: places, queue: queue, receiver: recorder, options: options)
  }

  /// Lets the transport's own threads work until something is true, and takes nothing from them; false after 20 s.
  func wait(until isTrue: () -> Bool) throws -> Bool {
    let limit = Instant.now() + .seconds(20)
    while !isTrue() {
      if Instant.now() > limit { return false }
      _ = try queue.wait(until: Instant.now() + .milliseconds(5))
    }
    return true
  }

  /// Turns the loop until something is true; false after 20 s.
  @discardableResult
  func run(until isTrue: () -> Bool) throws -> Bool {
    let limit = Instant.now() + .seconds(20)
    while !isTrue() {
      if Instant.now() > limit { return false }
      let turn = Instant.now() + .milliseconds(20)
      _ = try queue.wait(until: min(turn, transport.nextDeadline() ?? turn))
      transport.expire(.now())
    }
    return true
  }
}
