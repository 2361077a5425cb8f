// Opens connections for a loop that must not wait: plain ones with the system's own calls, secure ones with libcurl's
// multi interface on the loop's queue. When a dial is over, the loop hears of it by the token that it gave. Owned by one
// thread.

internal import CCurl
package import EventLoops
package import Primitives

/// Where to dial. Making one may wait for the resolver; dialling it does not.
package enum ChannelDestination: Sendable {
  case plain(SocketDestination)
  case secure(url: String, names: [String])

  package init(host: String, port: Int, isSecure: Bool, settings: SecureSettings) throws(SocketError) {
    guard isSecure else {
      self = .plain(try SocketDestination(host: settings.address(of: host, port) ?? host, port: port))
      return
    }
    let url = "https://\(host.contains(":") ? "[\(host)]" : host):\(port)/"
    // Looked up once: libcurl would start a thread for each dial. A name that is not found fails there, with its kind.
    let known = settings.resolve.isEmpty ? WebAddress(url)?.lookedUp.map { [$0] } : settings.resolve
    self = .secure(url: url, names: known ?? [])
  }
}

package final class StreamDialer: CurlMultiOwner {
  /// Connections on one multi handle: libcurl walks them all at each read and write of one.
  static let streamsPerMulti = 32
  /// Tokens with this bit are the dialer's own; those that are given to `open` must not have it.
  package static let tokenMark: UInt64 = 1 << 63

  let queue: EventQueue
  private let settings: SecureSettings
  private var multis: [CurlMulti] = []
  /// By multi handle: its connections, and when it wants to be called.
  private var counts: [Int] = []
  private var dues: [Instant?] = []
  private var failed: [UInt64] = []

  package init(queue: EventQueue, settings: SecureSettings = SecureSettings()) {
    self.queue = queue
    self.settings = settings
  }

  deinit {
    for multi in multis { multi.close() }
  }

  /// Begins a connection. The queue reports `token` as writable when it stands; where it cannot be made, the token
  /// comes from `takeFailed` or is reported as closed, and the channel says why.
  package func open(_ destination: ChannelDestination, token: UInt64) throws(SocketError) -> StreamChannel {
    switch destination {
    case .plain(let address):
      let descriptor = try StreamSocket.dial(address)
      do throws(EventQueueError) {
        try queue.add(descriptor, [.read, .write], token: token)
      } catch {
        StreamSocket.end(descriptor)
        throw SocketError(call: error.call, errno: error.errno)
      }
      return .plain(descriptor)
    case .secure(let url, let names):
      CurlTransport.initialise()
      let multi = roomyMulti()
      counts[multi.index] += 1
      let stream = SecureStream(
        url: url, names: names, settings: settings, token: token, dialer: self, multi: multi)
      // At once: libcurl looks for dead connections when it begins one, and now none is finished without being held
      // (see `SecureStream.takeHold`).
      multi.timeOut()
      finishDone(multi)
      return .secure(stream)
    }
  }

  private func roomyMulti() -> CurlMulti {
    if let index = counts.firstIndex(where: { $0 < Self.streamsPerMulti }) { return multis[index] }
    let multi = CurlMulti(index: multis.count, owner: self)
    multis.append(multi)
    counts.append(0)
    dues.append(nil)
    return multi
  }

  /// A stream of the multi handle has ended.
  func left(_ multi: CurlMulti) { counts[multi.index] -= 1 }

  // MARK: The loop

  /// A readiness whose token has the mark.
  package func handle(_ readiness: Readiness) {
    let multi = multis[Int(QueueToken.generation(readiness.token))]
    multi.act(on: readiness, socket: curl_socket_t(QueueToken.number(readiness.token)))
    finishDone(multi)
  }

  /// When to call `expire` and `takeFailed`; nil: no need.
  package func nextDeadline() -> Instant? {
    if !failed.isEmpty { return Instant(nanoseconds: 0) }
    var next: Instant?
    for due in dues {
      if let due { next = min(next ?? due, due) }
    }
    return next
  }

  package func expire(_ now: Instant) {
    for index in dues.indices {
      guard let due = dues[index], now >= due else { continue }
      dues[index] = nil
      multis[index].timeOut()
      finishDone(multis[index])
    }
  }

  /// The tokens of dials that have failed since the last call.
  package func takeFailed() -> [UInt64] {
    if failed.isEmpty { return [] }
    defer { failed = [] }
    return failed
  }

  private func finishDone(_ multi: CurlMulti) {
    var code = CURLE_OK
    while let easy = CCurl_next_done(multi.handle, &code) {
      guard let stream = SecureStream.of(easy) else { continue }
      if stream.dialled(code) != nil {
        failed.append(stream.token)
        continue
      }
      do throws(EventQueueError) {
        try queue.add(stream.descriptor, [.read, .write], token: stream.token)
      } catch {
        stream.fail(error)
        failed.append(stream.token)
      }
    }
  }

  // MARK: What libcurl asks for

  func socketChanged(_ multi: CurlMulti, _ socket: curl_socket_t, _ what: Int32, isKnown: Bool) {
    let token = Self.tokenMark | UInt64(multi.index) << 32 | UInt64(UInt32(bitPattern: socket))
    multi.watch(socket, what, isKnown: isKnown, on: queue, token: token)
  }

  func timerChanged(_ multi: CurlMulti, _ milliseconds: Int) {
    dues[multi.index] = milliseconds < 0 ? nil : .now() + .milliseconds(Double(milliseconds))
  }
}
