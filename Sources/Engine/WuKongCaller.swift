// HTTP calls of the WuKongIM workload: a few keep-alive connections, one request at a time on each, the rest in a
// queue. Part of one loop; knows nothing of what is asked.

internal import EventLoops
internal import Primitives
internal import Transports
internal import WuKongIM

/// How a call ended.
enum WuKongCallResult {
  case answer(status: Int, body: [UInt8])
  /// The transport failed or the time was over; whether the server acted is not known.
  case failed(DialFailure)
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
    var channel = StreamChannel.closed
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
  private let dialer: StreamDialer
  private let destination: ChannelDestination
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
    queue: EventQueue, dialer: StreamDialer, destination: ChannelDestination, hostHeader: String,
    headers: [(String, String)], lines: Int
  ) {
    self.queue = queue
    self.dialer = dialer
    self.destination = destination
    self.hostHeader = hostHeader
    self.headers = headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    maximumLines = lines
  }

  deinit {
    for line in lines { line.channel.end(on: queue) }
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
    if !line.channel.isClosed {
      write(number)
      return
    }
    line.reader = HTTPAnswerReader()
    line.isReused = false
    line.epoch += 1
    do throws(SocketError) { line.channel = try dialer.open(destination, token: token(number)) } catch {
      finish(number, .failed(DialFailure(kind: .refused, detail: error.message)))
      return
    }
    line.isConnecting = true
  }

  private func token(_ number: Int) -> UInt64 { Self.tokenBase | lines[number].epoch << 24 | UInt64(number) }

  /// A readiness whose token is above `tokenBase`.
  func ready(_ event: Readiness) {
    let number = Int(event.token & 0xFF_FFFF)
    guard number < lines.count, token(number) == event.token, !lines[number].channel.isClosed else { return }
    let line = lines[number]
    if line.isConnecting {
      guard event.isWritable || event.isClosed else { return }
      if let failure = line.channel.dialFailure {
        lost(number, failure)
        return
      }
      line.isConnecting = false
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
        line.channel.transmit(UnsafeBufferPointer(rebasing: $0[line.sent...]))
      }
      switch outcome {
      case .bytes(let count): line.sent += count
      case .wouldBlock:
        try? queue.modify(line.channel.descriptor, [.read, .write], token: token(number))
        return
      case .ended:
        lost(number, Self.cut)
        return
      }
    }
    try? queue.modify(line.channel.descriptor, .read, token: token(number))
  }

  private func read(_ number: Int) {
    let epoch = lines[number].epoch
    // What a secure connection has decrypted already is not seen by the queue.
    repeat {
      if !readOnce(number) { return }
    } while lines[number].epoch == epoch && lines[number].channel.mayHoldBytes
  }

  /// False where there was nothing more to read.
  private func readOnce(_ number: Int) -> Bool {
    let line = lines[number]
    switch line.channel.receive(buffer) {
    case .wouldBlock: return false
    case .ended:
      if line.call != nil, let answer = try? line.reader.end() {
        hangUp(number)
        finish(number, .answer(status: answer.status, body: answer.body))
      } else {
        lost(number, Self.cut)
      }
      return false
    case .bytes(let count):
      do throws(HTTPAnswerReader.Problem) {
        let bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count])
        guard let answer = try line.reader.feed(bytes) else { return true }
        if answer.keepsAlive { line.isReused = true } else { hangUp(number) }
        finish(number, .answer(status: answer.status, body: answer.body))
      } catch {
        hangUp(number)
        finish(number, .failed(DialFailure(kind: .protocolViolation, detail: "\(error)")))
      }
      return true
    }
  }

  private static let cut = DialFailure(kind: .reset, detail: "the connection ended without an answer")

  /// The connection is gone: a reused one is dialled once more, for the server may have closed it idle.
  private func lost(_ number: Int, _ failure: DialFailure) {
    let line = lines[number]
    let mayRetry = line.call != nil && line.isReused && !line.hasRetried
    hangUp(number)
    if mayRetry {
      line.hasRetried = true
      line.sent = 0
      start(number)
    } else {
      finish(number, .failed(failure))
    }
  }

  private func hangUp(_ number: Int) {
    let line = lines[number]
    if line.channel.isClosed { return }
    line.channel.end(on: queue)
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
      let kind: TransportFailure = lines[number].isConnecting ? .connectTimeout : .idleTimeout
      hangUp(number)
      finish(
        number, .failed(DialFailure(kind: kind, detail: "no answer within \(Int(Self.timeout.seconds)) s")))
    }
  }
}
