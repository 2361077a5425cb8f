// A code of libcurl and its words become the kind of a failure.

internal import CCurl

struct CurlFailure {
  var kind: TransportFailure
  var detail: String

  /// - Parameter words: of the handle's error buffer. They name the host, the header or the certificate; the code's own
  ///   words are the same for all.
  init(_ easy: UnsafeMutableRawPointer, _ code: CURLcode, words: String) {
    detail = words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
    var system = 0
    _ = CCurl_getinfo_long(easy, CURLINFO_OS_ERRNO, &system)
    if system != 0 && (code == CURLE_COULDNT_CONNECT || code == CURLE_RECV_ERROR && words.isEmpty) {
      detail += ": \(systemMessage(Int32(truncatingIfNeeded: system)))"
    }
    if code == CURLE_OUT_OF_MEMORY { detail = "a response head that is too large" }
    kind =
      switch code {
      case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameLookup
      case CURLE_COULDNT_CONNECT: .refused
      case CURLE_OPERATION_TIMEDOUT: .connectTimeout
      case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
        CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_USE_SSL_FAILED,
        CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        .tls
      case CURLE_TOO_MANY_REDIRECTS: .redirectLoop
      case CURLE_BAD_CONTENT_ENCODING: .unsupportedEncoding
      case CURLE_RECV_ERROR where words.contains("CONNECT tunnel failed"): .refused
      case CURLE_RECV_ERROR where words.contains("Too large response headers"): .protocolViolation
      case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_OUT_OF_MEMORY: .protocolViolation
      // CURLE_TOO_LARGE of libcurl 8.6 and later: what older ones call out of memory, a head beyond all limits.
      case _ where code.rawValue == 100: .protocolViolation
      // A wrong chunk has the code of a failed read, HTTP/0.9 and an odd status that of an unknown scheme.
      case CURLE_RECV_ERROR where system == 0 && words.contains("chunked-encoding"): .protocolViolation
      case CURLE_UNSUPPORTED_PROTOCOL where words.contains("HTTP"): .protocolViolation
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT: .unsupported
      default: .reset
      }
  }
}
