// One multi handle of libcurl and the way from its callbacks to whoever owns it. Knows no transfers.

internal import CCurl
internal import EventLoops
internal import Primitives

/// Who is told what a multi handle wants to wait for.
protocol CurlMultiOwner: AnyObject {
  /// `what` is one of libcurl's CURL_POLL numbers.
  func socketChanged(_ multi: CurlMulti, _ socket: curl_socket_t, _ what: Int32, isKnown: Bool)
  /// Below 0: no timer.
  func timerChanged(_ multi: CurlMulti, _ milliseconds: Int)
}

/// libcurl's callbacks get its address.
final class CurlMulti {
  let index: Int
  let handle: UnsafeMutableRawPointer
  fileprivate unowned let owner: any CurlMultiOwner
  /// No more connections than the streams of all places need.
  private(set) var isLimited = false
  /// An answer has shown that streams do not share connections here.
  var limitIsWrong = false
  var nextLook = Instant(nanoseconds: 0)
  /// When a connection was last seen on its way: whoever waits meanwhile may wait for it.
  var lastConnecting = Instant(nanoseconds: 0)

  /// - Parameters:
  ///   - maximumConnections: how many it keeps; nil: four for each transfer.
  ///   - streamsPerConnection: of HTTP/2; nil: without it.
  ///   - hostConnections: the most at a time to one host; nil: any number.
  init(
    index: Int, owner: any CurlMultiOwner, maximumConnections: Int? = nil, streamsPerConnection: Int? = nil,
    hostConnections: Int? = nil
  ) {
    self.index = index
    self.owner = owner
    guard let handle = curl_multi_init() else {
      preconditionFailure("libcurl has no memory for a multi handle")
    }
    self.handle = handle
    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = CCurl_multi_setopt_socket_callback(handle, socketCallback)
    _ = CCurl_multi_setopt_pointer(handle, CURLMOPT_SOCKETDATA, context)
    _ = CCurl_multi_setopt_timer_callback(handle, timerCallback)
    _ = CCurl_multi_setopt_pointer(handle, CURLMOPT_TIMERDATA, context)
    if let maximumConnections {
      _ = CCurl_multi_setopt_long(handle, CURLMOPT_MAXCONNECTS, maximumConnections)
    }
    if let streamsPerConnection {
      _ = CCurl_multi_setopt_long(handle, CURLMOPT_MAX_CONCURRENT_STREAMS, streamsPerConnection)
    }
    if let hostConnections {
      isLimited = true
      _ = CCurl_multi_setopt_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, hostConnections)
    }
  }

  func lift() {
    isLimited = false
    _ = CCurl_multi_setopt_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, 0)
  }

  /// Ends what is left. The owner hears nothing of it, for it may be about to go.
  func close() {
    _ = CCurl_multi_setopt_socket_callback(handle, nil)
    _ = CCurl_multi_setopt_timer_callback(handle, nil)
    curl_multi_cleanup(handle)
  }

  /// Does on `queue` what the socket callback asks for.
  func watch(_ socket: curl_socket_t, _ what: Int32, isKnown: Bool, on queue: EventQueue, token: UInt64) {
    if what == CURL_POLL_REMOVE {
      if isKnown { queue.remove(socket) }
      return
    }
    var interest: Interest = []
    if what & CURL_POLL_IN != 0 { interest.insert(.read) }
    if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
    if isKnown {
      try? queue.modify(socket, interest, token: token)
    } else {
      do {
        try queue.add(socket, interest, token: token)
      } catch {
        // The descriptor was added before under another transfer.
        try? queue.modify(socket, interest, token: token)
      }
      curl_multi_assign(handle, socket, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  /// Acts on a descriptor that is ready.
  func act(on readiness: Readiness, socket: curl_socket_t) {
    var flags: Int32 = 0
    if readiness.isReadable || readiness.isClosed { flags |= CURL_CSELECT_IN }
    if readiness.isWritable { flags |= CURL_CSELECT_OUT }
    var running: Int32 = 0
    curl_multi_socket_action(handle, socket, flags, &running)
  }

  /// Acts on the timer.
  func timeOut() {
    var running: Int32 = 0
    curl_multi_socket_action(handle, CURL_SOCKET_TIMEOUT, 0, &running)
  }
}

// C function pointers capture nothing: all they know comes through their context.

private let socketCallback: CCurl_socket_callback = { _, socket, what, context, socketContext in
  guard let context else { return 0 }
  let multi = Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
  multi.owner.socketChanged(multi, socket, what, isKnown: socketContext != nil)
  return 0
}

private let timerCallback: CCurl_timer_callback = { _, milliseconds, context in
  guard let context else { return 0 }
  let multi = Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
  multi.owner.timerChanged(multi, milliseconds)
  return 0
}
