// Plain HTTP/1.1 straight on the event queue, for the highest loads on unencrypted connections: GET and POST,
// Content-Length, chunked, keep-alive and close. No TLS, HTTP/2, proxies, redirects or compression: that is libcurl's.

package import EventLoops
package import Primitives

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

package final class RawTransport: Transport {
  private enum Phase: UInt8 { case closed, connecting, sending, receiving, idle }

  /// One place: a connection and the transfer on it, some 150 bytes.
  private struct Place: ~Copyable {
    var descriptor: Int32 = -1
    var phase = Phase.closed
    var generation: UInt32 = 0
    var isPaused = false
    var isReused = false
    var watched: Interest = []
    /// Which of the addresses to try next, of those that the name has.
    var attempt: UInt8 = 0
    var started: Int64 = 0
    var reader = HTTPResponseReader()
    /// The request, kept until the response begins, since a reused connection may turn out to be dead.
    var request: [UInt8] = []
    var sent = 0
  }

  private let queue: EventQueue
  private unowned(unsafe) let receiver: any TransferReceiver
  private let endpoint: EndpointAddress
  /// For each URL of the endpoint: where it points, the bytes before and after the headers of one request.
  private var targets: [Target] = []
  private let places: UnsafeMutablePointer<Place>
  private let capacity: Int
  private var wheel: TimerWheel
  private let buffer: UnsafeMutableRawBufferPointer
  private var openConnections = 0

  private struct Target {
    var addresses: [SocketAddress]
    var problem: String
    var requestLine: String
    var host: String
  }

  /// - Parameters:
  ///   - places: how many transfers there can be at once.
  ///   - receiver: not retained; outlives the transport.
  package init(
    endpoint: EndpointAddress, places capacity: Int, queue: EventQueue, receiver: any TransferReceiver, now: Instant
  ) {
    self.queue = queue
    self.receiver = receiver
    self.endpoint = endpoint
    self.capacity = capacity
    places = .allocate(capacity: capacity)
    for index in 0..<capacity { (places + index).initialize(to: Place()) }
    wheel = TimerWheel(timers: capacity, now: now)
    buffer = .allocate(byteCount: max(16384, endpoint.readBuffer), alignment: 64)
    targets = (endpoint.alternatives.isEmpty ? [endpoint.url] : endpoint.alternatives).map { target(for: $0) }
  }

  deinit {
    for index in 0..<capacity {
      if places[index].descriptor >= 0 { close(places[index].descriptor) }
    }
    places.deinitialize(count: capacity)
    places.deallocate()
    buffer.deallocate()
  }

  /// What of a scenario's endpoint this transport cannot do, in a sentence; nil where it can do all.
  package static func objection(to endpoint: EndpointAddress) -> String? {
    guard let address = WebAddress(endpoint.url) else { return "the URL is not an absolute http URL" }
    if address.isSecure { return "the stack raw has no TLS; use the stack curl for https" }
    if endpoint.httpVersion == .http2 { return "the stack raw speaks HTTP/1.1 alone; use the stack curl for HTTP/2" }
    if endpoint.proxy != nil { return "the stack raw knows no proxies; use the stack curl" }
    if let value = endpoint.headers.first(where: { $0.name.lowercased() == "accept-encoding" })?.value.lowercased(),
      value != "identity"
    {
      return "the stack raw decodes no compression; use the stack curl, or Accept-Encoding: identity"
    }
    return nil
  }

  private func target(for url: String) -> Target {
    guard let address = WebAddress(url) else {
      return Target(addresses: [], problem: "not an absolute http URL", requestLine: "", host: "")
    }
    var found: (addresses: [SocketAddress], problem: String)
    if let path = endpoint.unixSocket {
      found = SocketAddress.unix(path: path).map { ([$0], "") } ?? ([], "the path of the Unix socket is too long")
    } else if let override = resolved(address) {
      found = SocketAddress.lookUp(host: override, port: address.port)
    } else {
      found = SocketAddress.lookUp(host: address.host, port: address.port)
    }
    return Target(
      addresses: found.addresses, problem: found.problem, requestLine: "\(endpoint.method) \(address.target) HTTP/1.1\r\n",
      host: address.hostHeader)
  }

  /// The address that the scenario's `resolve` names for a host.
  private func resolved(_ address: WebAddress) -> String? {
    for entry in endpoint.resolve {
      let prefix = "\(address.host):\(address.port):"
      if entry.hasPrefix(prefix) {
        return entry.dropFirst(prefix.count).split(separator: ",").first.map {
          String($0.filter { $0 != "[" && $0 != "]" })
        }
      }
    }
    return nil
  }

  // MARK: Transport

  package func start(_ place: Int, _ request: TransferRequest, at now: Instant) {
    places[place].request = bytes(of: request, for: targets[place % targets.count])
    places[place].sent = 0
    places[place].started = now.nanoseconds
    places[place].attempt = 0
    places[place].isPaused = false
    places[place].reader.startResponse()
    if places[place].phase == .idle {
      places[place].isReused = true
      places[place].phase = .sending
      announce(place)
      send(place)
    } else {
      connectPlace(place, now)
    }
  }

  package func cancel(_ place: Int) {
    wheel.cancel(place)
    closePlace(place)
  }

  package func setPaused(_ place: Int, _ paused: Bool) {
    guard places[place].phase == .receiving, places[place].isPaused != paused else { return }
    places[place].isPaused = paused
    watch(place)
  }

  package var bytesPerPlace: Int? { MemoryLayout<Place>.stride + TimerWheel.bytesPerTimer }

  package func nextDeadline() -> Instant? { wheel.nextDeadline() }

  package func expire(_ now: Instant) {
    var late: [Int] = []
    wheel.expire(now) { place, _ in late.append(place) }
    for place in late where places[place].phase == .connecting {
      end(place, .failed(.connectTimeout, detail: "no connection within the connect timeout"), now)
    }
  }

  package func shutDown() {
    for place in 0..<capacity { cancel(place) }
  }

  package func handle(_ readiness: Readiness) {
    let place = QueueToken.number(readiness.token)
    guard QueueToken.generation(readiness.token) == places[place].generation & 0xFF_FFFF else { return }
    switch places[place].phase {
    case .closed: break
    case .connecting: connected(place)
    case .sending, .receiving:
      if readiness.isWritable && places[place].phase == .sending { send(place) }
      if (readiness.isReadable || readiness.isClosed), places[place].descriptor >= 0, !places[place].isPaused {
        receive(place)
      }
    case .idle:
      // The server closed a connection that waits for its next request, or sent what nobody asked for.
      closePlace(place)
    }
  }

  // MARK: Connecting

  private func connectPlace(_ place: Int, _ now: Instant) {
    let target = targets[place % targets.count]
    guard Int(places[place].attempt) < target.addresses.count else {
      end(place, .failed(.nameLookup, detail: target.problem), now)
      return
    }
    let address = target.addresses[Int(places[place].attempt)]
    #if canImport(Glibc)
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
    let descriptor = socket(address.family, SOCK_STREAM, 0)
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    #endif
    if descriptor < 0 {
      end(place, .failed(.refused, detail: "no socket: \(systemMessage(errno))"), now)
      return
    }
    if address.family != AF_UNIX {
      var one: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }
    places[place].descriptor = descriptor
    places[place].generation &+= 1
    places[place].isReused = false
    openConnections += 1
    let result = address.withSockaddr { connect(descriptor, $0, $1) }
    let code = errno
    if result == 0 {
      places[place].phase = .sending
      guard addToQueue(place, .read) else { return }
      announce(place)
      send(place)
    } else if code == EINPROGRESS {
      places[place].phase = .connecting
      wheel.set(place, at: Instant(nanoseconds: places[place].started) + endpoint.connectTimeout)
      _ = addToQueue(place, .write)
    } else {
      refused(place, code)
    }
  }

  private func addToQueue(_ place: Int, _ interest: Interest) -> Bool {
    do {
      try queue.add(places[place].descriptor, interest, token: token(place))
      places[place].watched = interest
      return true
    } catch {
      end(place, .failed(.refused, detail: "\(error.call): \(systemMessage(error.errno))"), .now())
      return false
    }
  }

  private func connected(_ place: Int) {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(places[place].descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
    if code != 0 {
      refused(place, code)
      return
    }
    wheel.cancel(place)
    places[place].phase = .sending
    announce(place)
    send(place)
  }

  /// A connection attempt that failed: the host's next address, if it has one.
  private func refused(_ place: Int, _ code: Int32) {
    wheel.cancel(place)
    closePlace(place)
    let now = Instant.now()
    if Int(places[place].attempt) + 1 < targets[place % targets.count].addresses.count {
      places[place].attempt += 1
      connectPlace(place, now)
      return
    }
    let kind: TransportFailure = code == ETIMEDOUT ? .connectTimeout : .refused
    let detail =
      code == EADDRNOTAVAIL ? "no local port is left towards this address" : systemMessage(code)
    end(place, .failed(kind, detail: detail), now)
  }

  // MARK: Sending

  private func bytes(of request: TransferRequest, for target: Target) -> [UInt8] {
    let body = request.body ?? endpoint.body
    var line = target.requestLine
    var host = target.host
    if let url = request.url, let address = WebAddress(url) {
      line = "\(endpoint.method) \(address.target) HTTP/1.1\r\n"
      host = address.hostHeader
    }
    var headers = endpoint.headers
    for header in request.headers {
      headers.removeAll { $0.name.lowercased() == header.name.lowercased() }
      headers.append(header)
    }
    var text = line
    // A header that the user sets wins.
    func isOwn(_ names: String...) -> Bool { !headers.contains { names.contains($0.name.lowercased()) } }
    if isOwn("host") { text += "Host: \(host)\r\n" }
    for header in headers { text += "\(header.name): \(header.value)\r\n" }
    if !body.isEmpty || endpoint.method == "POST", isOwn("content-length", "transfer-encoding") {
      text += "Content-Length: \(body.count)\r\n"
    }
    if !endpoint.reusesConnections, isOwn("connection") { text += "Connection: close\r\n" }
    text += "\r\n"
    return Array(text.utf8) + body
  }

  private func announce(_ place: Int) {
    let now = Instant.now()
    var times = ConnectionTimes()
    times.isReused = places[place].isReused
    if !times.isReused { times.connect = now - Instant(nanoseconds: places[place].started) }
    receiver.requestSent(place, at: now, connection: times)
  }

  private func send(_ place: Int) {
    while places[place].sent < places[place].request.count {
      let count = places[place].request.withUnsafeBytes { bytes in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[places[place].sent...])
        #if canImport(Glibc)
        return Glibc.send(places[place].descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        #else
        return Darwin.send(places[place].descriptor, rest.baseAddress, rest.count, 0)
        #endif
      }
      if count < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN {
          watch(place)
          return
        }
        lost(place, errno)
        return
      }
      places[place].sent += count
    }
    places[place].phase = .receiving
    // A reused connection may be dead: its request is kept until the response begins.
    if !places[place].isReused { places[place].request = [] }
    watch(place)
  }

  /// Tells the queue what this place waits for, when that has changed.
  private func watch(_ place: Int) {
    var interest: Interest = places[place].isPaused ? [] : .read
    if places[place].phase == .sending { interest.insert(.write) }
    guard interest != places[place].watched else { return }
    places[place].watched = interest
    try? queue.modify(places[place].descriptor, interest, token: token(place))
  }

  // MARK: Receiving

  /// One read a turn of the loop, so that a stream which is always ready takes no time from the others; what is left is
  /// reported again.
  private func receive(_ place: Int) {
    var count = 0
    repeat { count = recv(places[place].descriptor, buffer.baseAddress, buffer.count, 0) } while count < 0 && errno == EINTR
    let code = errno
    let at = Instant.now()
    if count > 0 {
      deliver(place, UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at)
    } else if count == 0 {
      closedByPeer(place, at)
    } else if code != EAGAIN {
      lost(place, code)
    }
  }

  /// Hands on what a read brought.
  private func deliver(_ place: Int, _ bytes: UnsafeMutableRawBufferPointer, _ at: Instant) {
    if !places[place].request.isEmpty && places[place].phase == .receiving { places[place].request = [] }
    var position = 0
    while true {
      switch places[place].reader.next(bytes, &position) {
      case .needsMore: return
      case .head(let head):
        if head.status < 200 { continue }
        receiver.headReceived(place, head, at: at)
        let encoding = head.contentEncoding.lowercased()
        if !encoding.isEmpty && encoding != "identity" {
          end(place, .failed(.unsupportedEncoding, detail: "Content-Encoding: \(head.contentEncoding)"), at)
          return
        }
      case .body(let range):
        receiver.bodyReceived(place, UnsafeRawBufferPointer(rebasing: bytes[range]), at: at)
      case .complete:
        let reusable =
          places[place].reader.canBeReused && endpoint.reusesConnections && position == bytes.count
          && places[place].phase == .receiving
        if reusable {
          places[place].phase = .idle
          places[place].request = []
          places[place].isPaused = false
          watch(place)
        } else {
          closePlace(place)
        }
        receiver.transferEnded(place, .complete, at: at)
        return
      case .failed(let sentence):
        end(place, .failed(.protocolViolation, detail: sentence), at)
        return
      }
    }
  }

  private func closedByPeer(_ place: Int, _ at: Instant) {
    if retriesOnFreshConnection(place, at) { return }
    if places[place].reader.endsAtClose {
      closePlace(place)
      receiver.transferEnded(place, .complete, at: at)
    } else if places[place].reader.isUntouched {
      end(place, .failed(.reset, detail: "the server closed the connection without an answer"), at)
    } else {
      end(place, .cut, at)
    }
  }

  private func lost(_ place: Int, _ code: Int32) {
    let now = Instant.now()
    if retriesOnFreshConnection(place, now) { return }
    end(place, .failed(.reset, detail: systemMessage(code)), now)
  }

  /// RFC 9112, 9.3.1: a reused connection that ends before any byte of the response was probably closed before the
  /// request reached it; the request goes out once more on a new one.
  private func retriesOnFreshConnection(_ place: Int, _ now: Instant) -> Bool {
    guard places[place].isReused, places[place].reader.isUntouched, !places[place].request.isEmpty else { return false }
    closePlace(place, keepingRequest: true)
    places[place].sent = 0
    places[place].started = now.nanoseconds
    places[place].reader.startResponse()
    connectPlace(place, now)
    return true
  }

  // MARK: Ending

  private func end(_ place: Int, _ end: TransferEnd, _ at: Instant) {
    wheel.cancel(place)
    closePlace(place)
    receiver.transferEnded(place, end, at: at)
  }

  private func closePlace(_ place: Int, keepingRequest: Bool = false) {
    if places[place].descriptor >= 0 {
      close(places[place].descriptor)
      places[place].descriptor = -1
      places[place].generation &+= 1
      openConnections -= 1
    }
    if !keepingRequest { places[place].request = [] }
    places[place].phase = .closed
  }

  private func token(_ place: Int) -> UInt64 {
    QueueToken.raw | UInt64(places[place].generation & 0xFF_FFFF) << 32 | UInt64(place)
  }

}
