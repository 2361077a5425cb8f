// Runs transfers of one transport on an event queue of its own, on the test's thread, and keeps what it reported.

import EventLoops
import Primitives
import Transports

enum StackUnderTest: String, CaseIterable, Sendable {
  case raw, curl

  func make(
    _ endpoint: EndpointAddress, places: Int, _ queue: EventQueue, _ receiver: any TransferReceiver
  ) -> any Transport {
    switch self {
    case .raw: RawTransport(endpoint: endpoint, places: places, queue: queue, receiver: receiver, now: .now())
    case .curl: CurlTransport(endpoint: endpoint, places: places, queue: queue, receiver: receiver, now: .now())
    }
  }
}

/// What was reported of one transfer.
struct Transfer: Equatable {
  var head: ResponseHead?
  var heads = 0
  var body: [UInt8] = []
  var end: TransferEnd?
  var ends = 0
  var sentAt: Int64 = -1
  var firstByteAt: Int64 = -1
  var endedAt: Int64 = -1
  var isReused = false
  var hasConnectTime = false

  var text: String { String(decoding: body, as: UTF8.self) }
  /// The end without its words, which each stack has of its own.
  var endWord: String {
    switch end {
    case nil: "none"
    case .complete: "complete"
    case .cut: "cut"
    case .failed(let kind, _): "\(kind)"
    }
  }
}

final class TransferLog: TransferReceiver {
  private(set) var transfers: [Transfer]
  private let queue: EventQueue
  private var transport: (any Transport)!
  /// Bodies beyond this are counted and not kept.
  private let kept: Int
  private(set) var bytes = 0

  init(_ stack: StackUnderTest, _ endpoint: EndpointAddress, places: Int = 1, kept: Int = 1 << 20) throws {
    queue = try EventQueue(capacity: 64)
    transfers = Array(repeating: Transfer(), count: places)
    self.kept = kept
    transport = stack.make(endpoint, places: places, queue, self)
  }

  /// Starts one transfer on each place and waits for all ends; what is not over after 30 s stays without one.
  @discardableResult func run(_ request: TransferRequest = TransferRequest(), limit: Double = 30) -> [Transfer] {
    transfers = transfers.map { _ in Transfer() }
    for place in transfers.indices { transport.start(place, request, at: .now()) }
    turn(limit: limit) { self.transfers.allSatisfy { $0.end != nil } }
    return transfers
  }

  func cancel(_ place: Int) { transport.cancel(place) }
  func setPaused(_ place: Int, _ paused: Bool) { transport.setPaused(place, paused) }

  /// Turns the loop until `isOver` or the limit.
  func turn(limit: Double, until isOver: () -> Bool) {
    let deadline = Instant.now() + .seconds(limit)
    while !isOver() && Instant.now() < deadline {
      let wake = min(deadline, min(transport.nextDeadline() ?? deadline, Instant.now() + .milliseconds(20)))
      guard let ready = try? queue.wait(until: wake) else { return }
      for readiness in ready { transport.handle(readiness) }
      transport.expire(.now())
    }
  }

  /// One turn at an instant of the test's choice.
  func expire(_ at: Instant) { transport.expire(at) }

  func start(_ place: Int, _ request: TransferRequest = TransferRequest()) { transport.start(place, request, at: .now()) }

  deinit { transport?.shutDown() }

  // MARK: TransferReceiver

  func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes) {
    transfers[place].sentAt = at.nanoseconds
    transfers[place].isReused = connection.isReused
    transfers[place].hasConnectTime = connection.connect.value >= 0
  }

  func headReceived(_ place: Int, _ head: ResponseHead, at: Instant) {
    transfers[place].head = head
    transfers[place].heads += 1
  }

  func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant) {
    if transfers[place].firstByteAt < 0 { transfers[place].firstByteAt = at.nanoseconds }
    self.bytes += bytes.count
    if transfers[place].body.count < kept { transfers[place].body += bytes }
  }

  func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant) {
    transfers[place].end = end
    transfers[place].ends += 1
    transfers[place].endedAt = at.nanoseconds
  }
}
