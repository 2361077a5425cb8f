// What happens to one connection becomes what recouse/EventSource 0.1.7 tells its user: ready states, open, error and
// closed, in its order and with its faults (`faithful`), or without them (`strict`). Pure: time is a parameter, bytes
// are parsed elsewhere. It knows no socket and does not reconnect: one value is one task of the library.

package import Primitives
package import Scenarios
package import Transports

/// One data task of the EventSource client.
package struct EventSourceClient: Sendable {
  /// The library's own numbers.
  package enum ReadyState: Int, Sendable { case none = -1, connecting, open, closed }

  package enum Failure: Equatable, Sendable {
    /// A task is for one stream.
    case alreadyConsumed
    /// A status that is no success, with the first chunk of its body.
    case connection(status: Int, body: [UInt8])
    case transport(TransferEnd)
    /// No byte within the request timeout, or no end within the resource timeout.
    case requestTimeout, resourceTimeout
  }

  /// What the task's user sees beside the events themselves.
  package enum Signal: Equatable, Sendable { case open, error(Failure), closed }

  package let fidelity: Fidelity
  private let requestTimeout: Nanoseconds
  private let resourceTimeout: Nanoseconds
  package private(set) var readyState = ReadyState.none
  /// The id to resume from: set it before `events`, as an application may. Faithful: cleared on every close, before the
  /// user sees that close.
  package var lastMessageID: [UInt8] = []
  private var isConsumed = false
  private var status = 0
  private var began = Instant(nanoseconds: 0)
  private var lastByte = Instant(nanoseconds: 0)

  /// - Parameters:
  ///   - requestTimeout: the longest time without a byte; the library's default is 60 s.
  ///   - resourceTimeout: the whole life of the stream; the library's default is 300 s.
  package init(
    _ fidelity: Fidelity, requestTimeout: Nanoseconds = .seconds(60), resourceTimeout: Nanoseconds = .seconds(300)
  ) {
    self.fidelity = fidelity
    self.requestTimeout = requestTimeout
    self.resourceTimeout = resourceTimeout
  }

  private var isFaithful: Bool { fidelity == .faithful }

  /// The library's own headers; faithful: `Last-Event-ID` is there even when there is no id.
  package var headers: [(name: String, value: String)] {
    var headers = [(name: "Accept", value: "text/event-stream"), (name: "Cache-Control", value: "no-store")]
    if isFaithful || !lastMessageID.isEmpty {
      headers.append((name: "Last-Event-ID", value: String(decoding: lastMessageID, as: UTF8.self)))
    }
    return headers
  }

  // MARK: From none to closed

  /// The user asks for the events: the request goes out. A second time it is an error, and nothing else.
  package mutating func events(at now: Instant) -> Signal? {
    if isConsumed { return .error(.alreadyConsumed) }
    isConsumed = true
    readyState = .connecting
    began = now
    lastByte = now
    return nil
  }

  /// The response's head. A status of 2xx opens the stream; 204 closes it without having opened it.
  package mutating func head(status: Int, at now: Instant) -> Signal? {
    guard readyState == .connecting else { return nil }
    lastByte = now
    self.status = status
    if status == 204 {
      close()
      return .closed
    }
    guard (200..<300).contains(status) else { return nil }
    readyState = .open
    return .open
  }

  /// Bytes of the body; what comes back is empty while they are for the parser. The first chunk of an error's body is
  /// all that is waited for.
  package mutating func body(_ bytes: UnsafeRawBufferPointer, at now: Instant) -> [Signal] {
    lastByte = now
    guard readyState == .connecting else { return [] }
    close()
    return [.error(.connection(status: status, body: Array(bytes))), .closed]
  }

  /// An event that has an id was handed on.
  package mutating func delivered(id: [UInt8]) {
    if readyState == .open { lastMessageID = id }
  }

  /// The transfer is over. Faithful: a refusal without a body closes without an error.
  package mutating func ended(_ end: TransferEnd) -> [Signal] {
    guard readyState == .connecting || readyState == .open else { return [] }
    let isRefused = readyState == .connecting
    close()
    if end != .complete { return [.error(.transport(end)), .closed] }
    if isRefused && !isFaithful { return [.error(.connection(status: status, body: [])), .closed] }
    return [.closed]
  }

  /// The user gave up: the loop over the events just ends, without a word.
  package mutating func cancel() {
    if readyState != .none { close() }
  }

  private mutating func close() {
    readyState = .closed
    if isFaithful { lastMessageID = [] }
  }

  // MARK: Timeouts

  /// When `expire` has something to say. Faithful, as on Linux: whole seconds, and no resource timeout at all.
  package var deadline: Instant? {
    guard readyState == .connecting || readyState == .open else { return nil }
    if isFaithful {
      let whole = requestTimeout.value / 1_000_000_000 * 1_000_000_000
      return whole > 0 ? lastByte + Nanoseconds(whole) : nil
    }
    return min(lastByte + requestTimeout, began + resourceTimeout)
  }

  package mutating func expire(_ now: Instant) -> [Signal] {
    guard let deadline, now >= deadline else { return [] }
    let isWhole = !isFaithful && now >= began + resourceTimeout
    close()
    return [.error(isWhole ? .resourceTimeout : .requestTimeout), .closed]
  }
}
