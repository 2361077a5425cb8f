// HTTP calls of the WuKongIM workload: a few keep-alive connections, one request at a time on each, the rest in a
// queue. Part of one loop; knows nothing of what is asked.

internal import EventLoops
internal import Primitives
internal import WuKongIM

/// How a call ended.
enum WuKongCallResult {
  case answer(status: Int, body: [UInt8])
  /// The transport failed or the time was over; whether the server acted is not known.
  case failed
}

struct WuKongCall {
  var method = "POST"
  var path: String
  var body: [UInt8] = []
  /// Instant 0: when the request's bytes were handed to the socket.
  var completion: (WuKongCallResult, _ sent: Instant) -> Void
}

final class WuKongCaller {
  private final class Line {
    var descriptor: Int32 = -1
    var epoch: UInt64 = 0
    var isConnecting = false
    var call: WuKongCall?
    var sentAt = Instant(nanoseconds: 0)
    var due = Instant(nanoseconds: 0)
    var output: [UInt8] = []
    var sent = 0
    var reader = HTTPAnswerReader()
    /// The connection had answered before: a failure of a reused one may be the server's idle close.
    var isReused = false
    var hasRetried = false
  }

  static let tokenBase: UInt64 = 1 << 62
  static let timeout = Nanoseconds.seconds(10)

  private let queue: EventQueue
  private let destination: SocketDestination
  private let hostHeader: String
  private let headers: String
  private var lines: [Line] = []
  private var waiting: [WuKongCall] = []
  private var waitingHead = 0
  private var idle: [Int] = []
  private var busyCount = 0
  private let maximumLines: Int
  private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

  init(
    queue: EventQueue, destination: SocketDestination, hostHeader: String, headers: [(String, String)],
    lines: Int
  ) {
    self.queue = queue
    self.destination = destination
    self.hostHeader = hostHeader
    self.headers = headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    maximumLines = lines
  }

  deinit {
    for line in lines where line.descriptor >= 0 { StreamSocket.end(line.descriptor) }
    buffer.deallocate()
  }

  var outstanding: Int { waiting.count - waitingHead + busyCount }

  func call(_ call: WuKongCall) {
    waiting.append(call)
    pump()
  }

  private func pump() {
    while waitingHead < waiting.count {
      let number: Int
      if let free = idle.popLast() {
        number = free
      } else if lines.count < maximumLines {
        lines.append(Line())
        number = lines.count - 1
      } else {
        break
      }
      let call = waiting[waitingHead]
      waitingHead += 1
      if waitingHead > 1_024 {
        waiting.removeFirst(waitingHead)
        waitingHead = 0
      }
      busyCount += 1
      begin(call, on: number)
    }
  }

  private func begin(_ call: WuKongCall, on number: Int) {
    let line = lines[number]
    line.call = call
    line.hasRetried = false
    line.due = Instant.now() + Self.timeout
    line.output = Array(
      ("\(call.method) \(call.path) HTTP/1.1\r\nHost: \(hostHeader)\r\n\(headers)"
        + "Content-Type: application/json\r\nContent-Length: \(call.body.count)\r\n\r\n").utf8)
    line.output.append(contentsOf: call.body)
    line.sent = 0
    start(number)
  }

  private func start(_ number: Int) {
    let line = lines[number]
    if line.descriptor >= 0 {
      write(number)
      return
    }
    line.reader = HTTPAnswerReader()
    line.isReused = false
    line.epoch += 1
    do throws(SocketError) { line.descriptor = try StreamSocket.dial(destination) } catch {
      finish(number, .failed)
      return
    }
    line.isConnecting = true
    do throws(EventQueueError) {
      try queue.add(line.descriptor, [.read, .write], token: token(number))
    } catch {
      hangUp(number)
      finish(number, .failed)
    }
  }

  private func token(_ number: Int) -> UInt64 { Self.tokenBase | lines[number].epoch << 24 | UInt64(number) }

  /// A readiness whose token is above `tokenBase`.
  func ready(_ event: Readiness) {
    let number = Int(event.token & 0xFF_FFFF)
    guard number < lines.count, token(number) == event.token, lines[number].descriptor >= 0 else { return }
    let line = lines[number]
    if line.isConnecting {
      guard event.isWritable || event.isClosed else { return }
      line.isConnecting = false
      if StreamSocket.dialError(line.descriptor) != 0 {
        lost(number)
        return
      }
      try? queue.modify(line.descriptor, .read, token: token(number))
      write(number)
      return
    }
    if event.isWritable && line.sent < line.output.count { write(number) }
    if event.isReadable || event.isClosed { read(number) }
  }

  private func write(_ number: Int) {
    let line = lines[number]
    if line.sent == 0 { line.sentAt = Instant.now() }
    while line.sent < line.output.count {
      let outcome = line.output.withUnsafeBufferPointer {
        StreamSocket.transmit(line.descriptor, UnsafeBufferPointer(rebasing: $0[line.sent...]))
      }
      switch outcome {
      case .bytes(let count): line.sent += count
      case .wouldBlock:
        try? queue.modify(line.descriptor, [.read, .write], token: token(number))
        return
      case .ended:
        lost(number)
        return
      }
    }
    try? queue.modify(line.descriptor, .read, token: token(number))
  }

  private func read(_ number: Int) {
    let line = lines[number]
    switch StreamSocket.receive(line.descriptor, buffer) {
    case .wouldBlock: return
    case .ended:
      if line.call != nil, let answer = try? line.reader.end() {
        hangUp(number)
        finish(number, .answer(status: answer.status, body: answer.body))
      } else {
        lost(number)
      }
    case .bytes(let count):
      do throws(HTTPAnswerReader.Problem) {
        let bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count])
        guard let answer = try line.reader.feed(bytes) else { return }
        if answer.keepsAlive { line.isReused = true } else { hangUp(number) }
        finish(number, .answer(status: answer.status, body: answer.body))
      } catch {
        hangUp(number)
        finish(number, .failed)
      }
    }
  }

  /// The connection is gone: a reused one is dialled once more, for the server may have closed it idle.
  private func lost(_ number: Int) {
    let line = lines[number]
    let mayRetry = line.call != nil && line.isReused && !line.hasRetried
    hangUp(number)
    if mayRetry {
      line.hasRetried = true
      line.sent = 0
      start(number)
    } else {
      finish(number, .failed)
    }
  }

  private func hangUp(_ number: Int) {
    let line = lines[number]
    guard line.descriptor >= 0 else { return }
    queue.remove(line.descriptor)
    StreamSocket.end(line.descriptor)
    line.descriptor = -1
    line.epoch += 1
    line.isConnecting = false
  }

  private func finish(_ number: Int, _ result: WuKongCallResult) {
    let line = lines[number]
    guard let call = line.call else { return }
    line.call = nil
    busyCount -= 1
    idle.append(number)
    call.completion(result, line.sentAt)
    pump()
  }

  /// Ends calls whose time is over; call now and then.
  func sweep(_ now: Instant) {
    for number in lines.indices where lines[number].call != nil && now >= lines[number].due {
      hangUp(number)
      finish(number, .failed)
    }
  }
}
