// One transfer of libcurl: its handle, its lists, and where it stands.

internal import CCurl
import Primitives

/// One place's handle and what its callbacks need; they get its address.
struct CurlPlace {
  let transport: Unmanaged<CurlTransport>
  let index: Int
  var easy: UnsafeMutableRawPointer?
  var headers: UnsafeMutablePointer<curl_slist>?
  var names: UnsafeMutablePointer<curl_slist>?
  var headersAreShared = false
  var hasRun = false
  var isActive = false
  var isSent = false
  /// Paused by its session; paused until the next turn of the loop.
  var isHeld = false
  var isResting = false
  var turn: UInt32 = 0
  var bytesInTurn = 0
  var startedAt = Instant(nanoseconds: 0)
  var headIsReported = false
  /// A request is out whose final head has not come.
  var awaitsHead = false
  /// When a proxy had answered CONNECT; nil without one.
  var tunnelledAt: Instant?
  var isRedirected = false
  var head = ResponseHead()

  init(transport: Unmanaged<CurlTransport>, index: Int) {
    self.transport = transport
    self.index = index
  }

  /// Whether its connection is being made. A transfer that waits for another's connection has looked up no name.
  var isConnecting: Bool {
    guard let easy else { return false }
    var lookedUp: curl_off_t = 0
    _ = CCurl_getinfo_offset(easy, CURLINFO_NAMELOOKUP_TIME_T, &lookedUp)
    return lookedUp > 0
  }

  mutating func begin() {
    errors?.pointee = 0
    isSent = false
    isHeld = false
    isResting = false
    headIsReported = false
    awaitsHead = false
    tunnelledAt = nil
    isRedirected = false
    head = ResponseHead()
  }

  /// What libcurl says of a failure; it writes here for as long as the handle lives.
  private var errors: UnsafeMutablePointer<CChar>?

  mutating func makeErrorBuffer() -> UnsafeMutablePointer<CChar> {
    let buffer = errors ?? .allocate(capacity: Int(CURL_ERROR_SIZE))
    buffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    errors = buffer
    return buffer
  }

  var errorWords: String { errors.map { String(cString: $0) } ?? "" }

  mutating func release() {
    if let easy { curl_easy_cleanup(easy) }
    errors?.deallocate()
    errors = nil
    if let headers { curl_slist_free_all(headers) }
    if let names { curl_slist_free_all(names) }
    easy = nil
    headers = nil
    names = nil
  }
}
