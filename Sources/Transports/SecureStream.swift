// One connection that libcurl opened (TCP and TLS) and that others read and write: CURLOPT_CONNECT_ONLY, then
// curl_easy_recv and curl_easy_send, which never block. StreamDialer makes it and tells it how its dial went.

internal import CCurl
internal import EventLoops
package import Primitives

package final class SecureStream {
  /// What OpenSSL takes at a time: one TLS record.
  private static let largestWrite = 16_384

  /// −1 until the handshake is over.
  package private(set) var descriptor: Int32 = -1
  package private(set) var failure: DialFailure?
  /// From the connected socket to the end of the handshake.
  package private(set) var handshake = Nanoseconds(-1)
  /// What the queue is told once the descriptor is there.
  let token: UInt64

  private let dialer: StreamDialer
  private let multi: CurlMulti
  private let easy: UnsafeMutableRawPointer
  private let errors: UnsafeMutablePointer<CChar>
  private var names: UnsafeMutablePointer<curl_slist>?
  private var isEnded = false
  /// A byte that came with the first look at the connection.
  private var early: UInt8?
  /// What OpenSSL could not send whole. It wants the same bytes at the same address again, and an owner's array moves
  /// when it grows.
  private var stuck: UnsafeMutableBufferPointer<UInt8>?

  /// Begins to dial `url`, of which scheme, host and port count.
  init(
    url: String, names list: [String], settings: SecureSettings, token: UInt64, dialer: StreamDialer,
    multi: CurlMulti
  ) {
    guard let easy = curl_easy_init() else { preconditionFailure("libcurl has no memory for a handle") }
    self.easy = easy
    self.dialer = dialer
    self.multi = multi
    self.token = token
    errors = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errors.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    for name in list { names = curl_slist_append(names, name) }
    _ = CCurl_setopt_pointer(easy, CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque())
    _ = CCurl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errors)
    _ = CCurl_setopt_string(easy, CURLOPT_URL, url)
    _ = CCurl_setopt_long(easy, CURLOPT_CONNECT_ONLY, 1)
    _ = CCurl_setopt_long(easy, CURLOPT_FRESH_CONNECT, 1)
    // What follows is HTTP/1.1, so ALPN must not agree on anything else.
    _ = CCurl_setopt_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    _ = CCurl_setopt_long(easy, CURLOPT_NOSIGNAL, 1)
    _ = CCurl_setopt_long(easy, CURLOPT_TCP_NODELAY, 1)
    _ = CCurl_setopt_string(easy, CURLOPT_PROTOCOLS_STR, "https")
    // A proxy from the environment would be a hidden part of the path.
    _ = CCurl_setopt_string(easy, CURLOPT_PROXY, "")
    _ = CCurl_setopt_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(settings.connectTimeout.milliseconds)))
    if names != nil { _ = CCurl_setopt_pointer(easy, CURLOPT_RESOLVE, names) }
    settings.apply(to: easy)
    let code = curl_multi_add_handle(multi.handle, easy)
    precondition(
      code == CURLM_OK, "libcurl refused a new handle: \(String(cString: curl_multi_strerror(code)))")
  }

  deinit { end() }

  /// The stream of a handle that is done.
  static func of(_ easy: UnsafeMutableRawPointer) -> SecureStream? {
    var context: UnsafeMutableRawPointer?
    _ = CCurl_getinfo_pointer(easy, CURLINFO_PRIVATE, &context)
    return context.map { Unmanaged<SecureStream>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The dial is over; the failure, where it is one.
  func dialled(_ code: CURLcode) -> DialFailure? {
    if code != CURLE_OK {
      let words = CurlFailure(easy, code, words: String(cString: errors))
      let isLasting =
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
          CURLE_SSL_ISSUER_ERROR:
          true
        default: false
        }
      failure = DialFailure(kind: words.kind, detail: words.detail, isLasting: isLasting)
      return failure
    }
    var socket = curl_socket_t(-1)
    _ = CCurl_getinfo_socket(easy, CURLINFO_ACTIVESOCKET, &socket)
    descriptor = socket
    var connected: curl_off_t = 0
    var secured: curl_off_t = 0
    _ = CCurl_getinfo_offset(easy, CURLINFO_CONNECT_TIME_T, &connected)
    _ = CCurl_getinfo_offset(easy, CURLINFO_APPCONNECT_TIME_T, &secured)
    handshake = Nanoseconds(max(0, Int64(secured) - Int64(connected)) * 1000)
    takeHold()
    return nil
  }

  /// The connection stands, and the queue does not take it.
  func fail(_ error: EventQueueError) {
    failure = DialFailure(kind: .refused, detail: SocketError(call: error.call, errno: error.errno).message)
  }

  /// The first read attaches the handle to its connection. Until then the connection counts as idle, and an idle one
  /// with bytes to read, such as a session ticket, is closed when libcurl next looks for dead ones.
  private func takeHold() {
    var byte: UInt8 = 0
    var count = 0
    if curl_easy_recv(easy, &byte, 1, &count) == CURLE_OK && count == 1 { early = byte }
  }

  func receive(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> StreamSocket.Outcome {
    guard descriptor >= 0, !buffer.isEmpty else { return .ended }
    if let byte = early {
      early = nil
      buffer[0] = byte
      return .bytes(1)
    }
    var count = 0
    switch curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count) {
    case CURLE_OK: return count > 0 ? .bytes(count) : .ended
    case CURLE_AGAIN: return .wouldBlock
    default: return .ended
    }
  }

  func transmit(_ bytes: UnsafeBufferPointer<UInt8>) -> StreamSocket.Outcome {
    guard descriptor >= 0 else { return .ended }
    if bytes.isEmpty { return .bytes(0) }
    let piece: UnsafeMutableBufferPointer<UInt8>
    if let stuck {
      piece = stuck
    } else {
      piece = .allocate(capacity: min(bytes.count, Self.largestWrite))
      _ = piece.initialize(from: bytes.prefix(piece.count))
    }
    var count = 0
    let code = curl_easy_send(easy, piece.baseAddress, piece.count, &count)
    if code == CURLE_AGAIN {
      stuck = piece
      return .wouldBlock
    }
    stuck = nil
    piece.deallocate()
    return code == CURLE_OK ? .bytes(count) : .ended
  }

  func end() {
    if isEnded { return }
    isEnded = true
    if descriptor >= 0 { dialer.queue.remove(descriptor) }
    descriptor = -1
    // Says goodbye to the peer and closes the socket.
    curl_multi_remove_handle(multi.handle, easy)
    curl_easy_cleanup(easy)
    dialer.left(multi)
    if let names { curl_slist_free_all(names) }
    errors.deallocate()
    stuck?.deallocate()
    stuck = nil
  }
}
