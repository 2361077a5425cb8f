// What libcurl says through its callbacks becomes reports to the receiver: the request sent and how its connection came to be, the final
// head, and the body piece by piece.

internal import CCurl
import Primitives

extension CurlTransport {
  // MARK: What libcurl reports

  fileprivate func requestSent(_ place: UnsafeMutablePointer<CurlPlace>) {
    let now = Instant.now()
    place.pointee.awaitsHead = true
    if place.pointee.isSent { return }
    place.pointee.isSent = true
    var times = ConnectionTimes()
    if let easy = place.pointee.easy {
      var connections = 0
      _ = CCurl_getinfo_long(easy, CURLINFO_NUM_CONNECTS, &connections)
      times.isReused = connections == 0
      if connections > 0 {
        var connect: curl_off_t = 0
        var secured: curl_off_t = 0
        _ = CCurl_getinfo_offset(easy, CURLINFO_CONNECT_TIME_T, &connect)
        _ = CCurl_getinfo_offset(easy, CURLINFO_APPCONNECT_TIME_T, &secured)
        times.connect = Nanoseconds(Int64(connect) * 1000)
        if secured > 0 {
          times.tls = Nanoseconds(max(0, Int64(secured) - Int64(connect)) * 1000)
          let resumed = CCurl_tls_is_resumed(easy)
          times.isResumed = resumed < 0 ? nil : resumed > 0
          // libcurl has no time for a proxy's answer to CONNECT; the handshake began with it and has just ended.
          if let tunnelled = place.pointee.tunnelledAt {
            let both = times.connect + times.tls
            times.tls = min(times.tls, now - tunnelled)
            times.connect = both - times.tls
          }
        }
      }
    }
    receiver.requestSent(place.pointee.index, at: now, connection: times)
  }

  fileprivate func headerLine(_ place: UnsafeMutablePointer<CurlPlace>, _ line: UnsafeRawBufferPointer) {
    if place.pointee.headIsReported { return }
    // What comes before a request has gone out is a proxy's answer to CONNECT: no part of the response.
    guard place.pointee.awaitsHead else {
      if line.first == 0x0D || line.first == 0x0A { place.pointee.tunnelledAt = .now() }
      return
    }
    let text = String(decoding: line, as: UTF8.self)
    if text.hasPrefix("HTTP/") {
      place.pointee.head = ResponseHead()
      let parts = text.split(separator: " ", maxSplits: 2)
      place.pointee.head.status = parts.count > 1 ? Int(parts[1].prefix(3)) ?? 0 : 0
      place.pointee.head.version = parts[0].hasPrefix("HTTP/2") ? 20 : parts[0] == "HTTP/1.0" ? 10 : 11
      if endpoint.followsRedirects, (300..<400).contains(place.pointee.head.status), let easy = place.pointee.easy {
        // libcurl would follow any of them that has a Location.
        _ = CCurl_setopt_long(easy, CURLOPT_FOLLOWLOCATION, place.pointee.head.isRedirect ? 1 : 0)
      }
      return
    }
    guard let colon = text.firstIndex(of: ":") else {
      if text.utf8.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) { headIsComplete(place) }
      return
    }
    let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    let trimmed = String(value.reversed().drop { $0.isWhitespace }.reversed())
    switch text[..<colon].lowercased() {
    case "content-type": place.pointee.head.contentType = trimmed
    case "content-encoding": place.pointee.head.contentEncoding = trimmed
    case "retry-after": place.pointee.head.retryAfter = trimmed
    case "location": place.pointee.head.location = trimmed
    default:
      if endpoint.readsClock { ServerClock.read(String(text[..<colon]), trimmed, into: &place.pointee.head.clock) }
    }
  }

  private func headIsComplete(_ place: UnsafeMutablePointer<CurlPlace>) {
    let head = place.pointee.head
    if usesHTTP2 && head.version < 20 { multi(of: place.pointee.index).limitIsWrong = true }
    if head.status < 200 { return }
    place.pointee.awaitsHead = false
    if head.isRedirect && head.location != nil && endpoint.followsRedirects {
      place.pointee.isRedirected = true
      return
    }
    place.pointee.headIsReported = true
    if place.pointee.isRedirected, let easy = place.pointee.easy {
      var url: UnsafeMutablePointer<CChar>?
      _ = CCurl_getinfo_string(easy, CURLINFO_EFFECTIVE_URL, &url)
      place.pointee.head.finalURL = url.map { String(cString: $0) }
    }
    receiver.headReceived(place.pointee.index, place.pointee.head, at: .now())
  }

  fileprivate func bodyBytes(_ place: UnsafeMutablePointer<CurlPlace>, _ bytes: UnsafeRawBufferPointer, _ at: Instant) {
    receiver.bodyReceived(place.pointee.index, bytes, at: at)
    rest(place, bytes.count)
  }
}

// C function pointers capture nothing: all they know comes through their context.

let bodyCallback: CCurl_data_callback = { bytes, size, count, context in
  let at = Instant.now()
  guard let place = context?.assumingMemoryBound(to: CurlPlace.self), let bytes else { return 0 }
  place.pointee.transport._withUnsafeGuaranteedRef {
    $0.bodyBytes(place, UnsafeRawBufferPointer(start: bytes, count: size * count), at)
  }
  return size * count
}

let headerCallback: CCurl_data_callback = { bytes, size, count, context in
  guard let place = context?.assumingMemoryBound(to: CurlPlace.self), let bytes else { return 0 }
  place.pointee.transport._withUnsafeGuaranteedRef {
    $0.headerLine(place, UnsafeRawBufferPointer(start: bytes, count: size * count))
  }
  return size * count
}

let prerequestCallback: CCurl_prerequest_callback = { context, _, _, _, _ in
  guard let place = context?.assumingMemoryBound(to: CurlPlace.self) else { return CURL_PREREQFUNC_OK }
  place.pointee.transport._withUnsafeGuaranteedRef { $0.requestSent(place) }
  return CURL_PREREQFUNC_OK
}
