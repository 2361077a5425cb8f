// What the libcurl of this process can do, in words.

internal import CCurl

package enum CurlFeatures {
  /// "7.88.1".
  package static var version: String { String(cString: CCurl_version_info().pointee.version) }

  /// Of "ssl", "http2", "brotli", "zstd", "gzip", "ipv6", "asyn-dns", those that are there.
  package static var names: Set<String> {
    let bits = Int32(CCurl_version_info().pointee.features)
    let known: [(Int32, String)] = [
      (CURL_VERSION_SSL, "ssl"), (CURL_VERSION_HTTP2, "http2"), (CURL_VERSION_BROTLI, "brotli"),
      (CURL_VERSION_ZSTD, "zstd"), (CURL_VERSION_LIBZ, "gzip"), (CURL_VERSION_IPV6, "ipv6"),
      (CURL_VERSION_ASYNCHDNS, "asyn-dns"),
    ]
    return Set(known.filter { bits & $0.0 != 0 }.map(\.1))
  }
}
