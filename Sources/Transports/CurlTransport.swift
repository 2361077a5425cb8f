// libcurl's multi interface on the worker's event queue: every protocol and option that the raw stack leaves out. One
// multi handle carries a few hundred transfers at most, since its cost per event grows with them.

internal import CCurl
package import EventLoops
package import Primitives

package final class CurlTransport: Transport, CurlMultiOwner {
  /// Transfers on one multi handle: libcurl looks sockets up in a hash of 911 buckets and walks the host's connections
  /// for a reusable one, so far more than this makes each event and each start dearer.
  static let placesPerMulti = 250
  /// Streams on one HTTP/2 connection: a readable socket makes libcurl visit every transfer attached to it.
  static let streamsPerConnection = 24

  private let queue: EventQueue
  unowned(unsafe) let receiver: any TransferReceiver
  let endpoint: EndpointAddress
  private let capacity: Int
  private let places: UnsafeMutablePointer<CurlPlace>
  private var multis: [CurlMulti] = []
  /// Which call into libcurl this is, and the places that rest until the next turn of the loop.
  private var turn: UInt32 = 0
  private var resting: [Int] = []
  private var wheel: TimerWheel
  private var sharedHeaders: [(name: String, value: String)]
  let usesHTTP2: Bool
  private let prefetched: [String]

  package init(
    endpoint: EndpointAddress, places capacity: Int, queue: EventQueue, receiver: any TransferReceiver, now: Instant
  ) {
    _ = Self.globalInitialisation
    self.queue = queue
    self.receiver = receiver
    self.endpoint = endpoint
    self.capacity = capacity
    sharedHeaders = endpoint.headers
    usesHTTP2 =
      endpoint.httpVersion == .http2
      || (endpoint.httpVersion == .automatic && WebAddress(endpoint.url)?.isSecure == true)
    prefetched = Self.prefetchedNames(endpoint)
    places = .allocate(capacity: capacity)
    wheel = TimerWheel(timers: capacity / Self.placesPerMulti + 1, now: now)
    for index in 0..<capacity {
      (places + index).initialize(to: CurlPlace(transport: Unmanaged.passUnretained(self), index: index))
    }
  }

  deinit {
    // `shutDown` has removed the handles: what is left here is only memory.
    for index in 0..<capacity {
      places[index].release()
    }
    places.deinitialize(count: capacity)
    places.deallocate()
  }

  /// `curl_global_init` is not thread-safe before 7.84 and costs milliseconds: once, on whichever thread comes first.
  private static let globalInitialisation: Void = {
    _ = curl_global_init(Int(CURL_GLOBAL_ALL))
  }()

  static func initialise() { _ = globalInitialisation }

  /// "libcurl/7.88.1 OpenSSL/3.0.17 …", for reports.
  package static var version: String { String(cString: curl_version()) }

  /// A name that many transfers share is looked up once: libcurl would start a thread for each of them.
  private static func prefetchedNames(_ endpoint: EndpointAddress) -> [String] {
    guard endpoint.proxy == nil, endpoint.unixSocket == nil, endpoint.resolve.isEmpty,
      let address = WebAddress(endpoint.url)
    else { return [] }
    return address.lookedUp.map { [$0] } ?? []
  }

  // MARK: Transport

  package func start(_ place: Int, _ request: TransferRequest, at now: Instant) {
    let pointer = places + place
    if pointer.pointee.easy == nil {
      guard let easy = curl_easy_init() else {
        receiver.transferEnded(place, .failed(.refused, detail: "libcurl has no memory for a handle"), at: now)
        return
      }
      pointer.pointee.easy = easy
      configure(easy, pointer)
    }
    guard let easy = pointer.pointee.easy else { return }
    pointer.pointee.begin()
    setHeaders(easy, pointer, request)
    let urls = endpoint.alternatives
    if let url = request.url ?? (urls.isEmpty ? nil : urls[place % urls.count]) {
      _ = CCurl_setopt_string(easy, CURLOPT_URL, url)
    }
    if let body = request.body {
      _ = CCurl_setopt_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
      _ = body.withUnsafeBytes {
        CCurl_setopt_string(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress?.assumingMemoryBound(to: CChar.self))
      }
    }
    if !usesHTTP2 || !endpoint.reusesConnections {
      // The first transfer of a place has no connection to find; looking for one costs more with each live transfer.
      _ = CCurl_setopt_long(easy, CURLOPT_FRESH_CONNECT, pointer.pointee.hasRun && endpoint.reusesConnections ? 0 : 1)
    }
    pointer.pointee.hasRun = true
    let multi = multi(of: place)
    let code = curl_multi_add_handle(multi.handle, easy)
    if code != CURLM_OK {
      receiver.transferEnded(
        place, .failed(.refused, detail: String(cString: curl_multi_strerror(code))), at: now)
      return
    }
    pointer.pointee.isActive = true
    pointer.pointee.startedAt = now
  }

  package func cancel(_ place: Int) {
    guard places[place].isActive, let easy = places[place].easy else { return }
    places[place].isActive = false
    curl_multi_remove_handle(multi(of: place).handle, easy)
  }

  package func setPaused(_ place: Int, _ paused: Bool) {
    guard places[place].isActive, let easy = places[place].easy else { return }
    places[place].isHeld = paused
    curl_easy_pause(easy, paused ? CURLPAUSE_RECV : CURLPAUSE_CONT)
    finishDone(multi(of: place))
  }

  /// libcurl reads a readable stream a hundred times and then goes on with it by a timer, before any other: one that is
  /// always ready would be read to its end while the others wait. Shortly before, it rests until the loop's next turn.
  private var bytesPerTurn: Int { 96 * endpoint.readBuffer }

  func rest(_ place: UnsafeMutablePointer<CurlPlace>, _ count: Int) {
    if place.pointee.turn != turn {
      place.pointee.turn = turn
      place.pointee.bytesInTurn = 0
    }
    place.pointee.bytesInTurn += count
    // Streams of one HTTP/2 connection share its turn anyhow.
    guard place.pointee.bytesInTurn > bytesPerTurn, !usesHTTP2, !place.pointee.isResting, let easy = place.pointee.easy
    else { return }
    place.pointee.isResting = true
    resting.append(place.pointee.index)
    curl_easy_pause(easy, CURLPAUSE_RECV)
  }

  private func wakeResting() {
    turn &+= 1
    let woken = resting
    resting.removeAll(keepingCapacity: true)
    for index in woken where places[index].isResting {
      places[index].isResting = false
      guard places[index].isActive, !places[index].isHeld, let easy = places[index].easy else { continue }
      curl_easy_pause(easy, CURLPAUSE_CONT)
      finishDone(multi(of: index))
    }
  }

  package func handle(_ readiness: Readiness) {
    turn &+= 1
    let multi = multis[Int(QueueToken.generation(readiness.token))]
    multi.act(on: readiness, socket: curl_socket_t(QueueToken.number(readiness.token)))
    finishDone(multi)
  }

  package var bytesPerPlace: Int? { MemoryLayout<CurlPlace>.stride }

  /// libcurl calls once for each chunk of HTTP/1.1 and each frame of HTTP/2.
  package var splitsReads: Bool { true }

  package func nextDeadline() -> Instant? { resting.isEmpty ? wheel.nextDeadline() : Instant(nanoseconds: 0) }

  package func expire(_ now: Instant) {
    var due: [CurlMulti] = []
    wheel.expire(now) { index, _ in due.append(multis[index]) }
    if !resting.isEmpty { wakeResting() }
    for multi in due {
      turn &+= 1
      multi.timeOut()
      finishDone(multi)
    }
    guard usesHTTP2 else { return }
    for multi in multis where multi.isLimited && (multi.limitIsWrong || now >= multi.nextLook) { lookAfter(multi, now) }
  }

  /// The bound on connections holds only where many streams share one: with an HTTP/1.1 server, or one that admits
  /// fewer streams, transfers would wait for each other's ends. Then it is lifted and those that wait begin anew. While a
  /// connection is on its way (a TLS handshake may be slow) nobody knows yet how many streams it will carry.
  private func lookAfter(_ multi: CurlMulti, _ now: Instant) {
    multi.nextLook = now + .milliseconds(500)
    let first = multi.index * Self.placesPerMulti
    let unsent = (first..<min(first + Self.placesPerMulti, capacity)).filter {
      places[$0].isActive && !places[$0].isSent && places[$0].easy != nil
    }
    let waiting = unsent.filter { !places[$0].isConnecting }
    if waiting.count < unsent.count { multi.lastConnecting = now }
    let since = multi.lastConnecting
    guard multi.limitIsWrong || waiting.contains(where: { now - max(places[$0].startedAt, since) > .seconds(2) })
    else { return }
    multi.lift()
    for place in waiting {
      guard let easy = places[place].easy else { continue }
      curl_multi_remove_handle(multi.handle, easy)
      if curl_multi_add_handle(multi.handle, easy) != CURLM_OK {
        places[place].isActive = false
        receiver.transferEnded(place, .failed(.refused, detail: "libcurl took the transfer for no second time"), at: now)
      }
    }
  }

  package func shutDown() {
    for index in 0..<capacity {
      cancel(index)
      places[index].release()
    }
    for multi in multis { multi.close() }
    multis = []
  }

  // MARK: Multi handles

  func multi(of place: Int) -> CurlMulti {
    let index = place / Self.placesPerMulti
    while multis.count <= index {
      multis.append(
        CurlMulti(
          index: multis.count, owner: self, maximumConnections: Self.placesPerMulti + 8,
          streamsPerConnection: usesHTTP2 ? Self.streamsPerConnection : nil,
          // Without a bound each transfer that finds all connections full, or still in their handshake, makes one more.
          hostConnections: usesHTTP2 && endpoint.reusesConnections
            ? (Self.placesPerMulti + Self.streamsPerConnection - 1) / Self.streamsPerConnection : nil))
    }
    return multis[index]
  }

  func socketChanged(_ multi: CurlMulti, _ socket: curl_socket_t, _ what: Int32, isKnown: Bool) {
    let token = QueueToken.curl | UInt64(multi.index) << 32 | UInt64(UInt32(bitPattern: socket))
    multi.watch(socket, what, isKnown: isKnown, on: queue, token: token)
  }

  func timerChanged(_ multi: CurlMulti, _ milliseconds: Int) {
    if milliseconds < 0 {
      wheel.cancel(multi.index)
    } else {
      wheel.set(multi.index, at: .now() + .milliseconds(Double(milliseconds)))
    }
  }

  private func finishDone(_ multi: CurlMulti) {
    var result = CURLE_OK
    while let easy = CCurl_next_done(multi.handle, &result) {
      var context: UnsafeMutableRawPointer?
      _ = CCurl_getinfo_pointer(easy, CURLINFO_PRIVATE, &context)
      guard let place = context?.assumingMemoryBound(to: CurlPlace.self) else { continue }
      curl_multi_remove_handle(multi.handle, easy)
      place.pointee.isActive = false
      let now = Instant.now()
      // To libcurl a response that ends inside its head is whole. It ends at a 101, too, which is no cut.
      let headIsCut = result == CURLE_OK && place.pointee.awaitsHead && place.pointee.head.status != 101
      if result == CURLE_OK && !place.pointee.headIsReported && place.pointee.head.status > 0 && !headIsCut {
        place.pointee.headIsReported = true
        receiver.headReceived(place.pointee.index, place.pointee.head, at: now)
      }
      receiver.transferEnded(place.pointee.index, headIsCut ? .cut : end(of: place, easy, result), at: now)
    }
  }

  private func end(
    of place: UnsafeMutablePointer<CurlPlace>, _ easy: UnsafeMutableRawPointer, _ code: CURLcode
  ) -> TransferEnd {
    if code == CURLE_OK { return .complete }
    if code == CURLE_PARTIAL_FILE { return .cut }
    let failure = CurlFailure(easy, code, words: place.pointee.errorWords)
    return .failed(failure.kind, detail: failure.detail)
  }

  // MARK: Requests

  private func configure(_ easy: UnsafeMutableRawPointer, _ place: UnsafeMutablePointer<CurlPlace>) {
    _ = CCurl_setopt_pointer(easy, CURLOPT_PRIVATE, place)
    _ = CCurl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, place.pointee.makeErrorBuffer())
    _ = CCurl_setopt_string(easy, CURLOPT_URL, endpoint.url)
    // Signals are process-wide: with threads libcurl must not use them for its timeouts.
    _ = CCurl_setopt_long(easy, CURLOPT_NOSIGNAL, 1)
    _ = CCurl_setopt_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    _ = CCurl_setopt_string(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
    _ = CCurl_setopt_long(easy, CURLOPT_FOLLOWLOCATION, endpoint.followsRedirects ? 1 : 0)
    // Fetch Standard, "HTTP-redirect fetch".
    _ = CCurl_setopt_long(easy, CURLOPT_MAXREDIRS, 20)
    // A POST stays a POST through 301 and 302: RFC 9110 allows either, and a GET would measure another thing. 303 asks for a GET.
    _ = CCurl_setopt_long(easy, CURLOPT_POSTREDIR, 3)
    _ = CCurl_setopt_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(endpoint.connectTimeout.milliseconds)))
    _ = CCurl_setopt_long(easy, CURLOPT_BUFFERSIZE, endpoint.readBuffer)
    _ = CCurl_setopt_long(easy, CURLOPT_TCP_NODELAY, 1)
    // Only the scenario's proxy counts: a proxy from the environment would be a hidden part of the path.
    _ = CCurl_setopt_string(easy, CURLOPT_PROXY, endpoint.proxy ?? "")
    if let path = endpoint.unixSocket { _ = CCurl_setopt_string(easy, CURLOPT_UNIX_SOCKET_PATH, path) }
    if !endpoint.reusesConnections { _ = CCurl_setopt_long(easy, CURLOPT_FORBID_REUSE, 1) }
    switch endpoint.httpVersion {
    case .http1: _ = CCurl_setopt_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    case .automatic: _ = CCurl_setopt_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    case .http2:
      let version =
        WebAddress(endpoint.url)?.isSecure == true ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
      _ = CCurl_setopt_long(easy, CURLOPT_HTTP_VERSION, version)
    }
    if usesHTTP2 { _ = CCurl_setopt_long(easy, CURLOPT_PIPEWAIT, 1) }
    SecureSettings(endpoint).apply(to: easy)
    if endpoint.method == "POST" {
      _ = CCurl_setopt_long(easy, CURLOPT_POST, 1)
      _ = CCurl_setopt_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(endpoint.body.count))
      _ = endpoint.body.withUnsafeBytes {
        CCurl_setopt_string(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress?.assumingMemoryBound(to: CChar.self))
      }
    } else if endpoint.method != "GET" {
      _ = CCurl_setopt_string(easy, CURLOPT_CUSTOMREQUEST, endpoint.method)
    }
    // Any value turns decoding on, so a server that compresses unasked is understood. The user's header wins.
    let asked = endpoint.headers.first { $0.name.lowercased() == "accept-encoding" }?.value
    _ = CCurl_setopt_string(easy, CURLOPT_ACCEPT_ENCODING, asked ?? "identity")
    let names = endpoint.resolve + prefetched
    if !names.isEmpty {
      var list: UnsafeMutablePointer<curl_slist>?
      for name in names { list = curl_slist_append(list, name) }
      place.pointee.names = list
      _ = CCurl_setopt_pointer(easy, CURLOPT_RESOLVE, list)
    }
    _ = CCurl_setopt_data_callback(easy, CURLOPT_WRITEFUNCTION, bodyCallback)
    _ = CCurl_setopt_pointer(easy, CURLOPT_WRITEDATA, place)
    _ = CCurl_setopt_data_callback(easy, CURLOPT_HEADERFUNCTION, headerCallback)
    _ = CCurl_setopt_pointer(easy, CURLOPT_HEADERDATA, place)
    _ = CCurl_setopt_prerequest(easy, prerequestCallback)
    _ = CCurl_setopt_pointer(easy, CURLOPT_PREREQDATA, place)
  }

  private func setHeaders(
    _ easy: UnsafeMutableRawPointer, _ place: UnsafeMutablePointer<CurlPlace>, _ request: TransferRequest
  ) {
    if place.pointee.headers != nil && request.headers.isEmpty && place.pointee.headersAreShared { return }
    var headers = sharedHeaders
    for header in request.headers {
      headers.removeAll { $0.name.lowercased() == header.name.lowercased() }
      headers.append(header)
    }
    var list: UnsafeMutablePointer<curl_slist>?
    for header in headers where header.name.lowercased() != "accept-encoding" {
      // libcurl's form for a header without a value is "Name;".
      list = curl_slist_append(list, header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
    }
    _ = CCurl_setopt_pointer(easy, CURLOPT_HTTPHEADER, list)
    if let old = place.pointee.headers { curl_slist_free_all(old) }
    place.pointee.headers = list
    place.pointee.headersAreShared = request.headers.isEmpty
  }
}
