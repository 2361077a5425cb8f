import Primitives
import Testing

@Suite struct WebAddressTests {
  static let read: [(text: String, host: String, port: Int, target: String, hostHeader: String)] = [
    ("http://example.test", "example.test", 80, "/", "example.test"),
    ("http://example.test/", "example.test", 80, "/", "example.test"),
    ("HTTP://example.test:8080/v1/chat?a=b&c=%20#top", "example.test", 8080, "/v1/chat?a=b&c=%20", "example.test:8080"),
    ("https://example.test/x", "example.test", 443, "/x", "example.test"),
    ("https://example.test:443/x", "example.test", 443, "/x", "example.test"),
    ("http://example.test:443/x", "example.test", 443, "/x", "example.test:443"),
    ("http://example.test?q", "example.test", 80, "/?q", "example.test"),
    ("http://example.test#f", "example.test", 80, "/", "example.test"),
    ("http://[::1]:9/x", "::1", 9, "/x", "[::1]:9"), ("http://[2001:db8::1]", "2001:db8::1", 80, "/", "[2001:db8::1]"),
    ("http://user:pass@example.test/x", "example.test", 80, "/x", "example.test"),
    ("http://example.test:/x", "example.test", 80, "/x", "example.test"),
    ("http://example.test/a@b:c", "example.test", 80, "/a@b:c", "example.test"),
  ]

  @Test(arguments: read.indices) func absoluteURL_IsTakenApart(_ index: Int) throws {
    let row = Self.read[index]

    let address = try #require(WebAddress(row.text), "\(row.text)")

    #expect(address.host == row.host && address.port == row.port, "\(row.text)")
    #expect(address.target == row.target && address.hostHeader == row.hostHeader, "\(row.text)")
    #expect(address.isSecure == row.text.lowercased().hasPrefix("https"))
    #expect(address.hasCredentials == row.text.contains("user:"))
  }

  @Test(arguments: [
    "", "/path", "example.test", "ftp://example.test", "http://", "http:///path", "http://:80/", "http://h:0/", "http://h:65536/",
    "http://h:x/", "http://[::1", "http://[::1]x/", "http://a b/", "http://h/a\r\nHost: evil", "http://h/\u{0}", "http://h/\t",
    "http://h/\u{7F}",
  ]) func anythingElse_IsRefused(_ text: String) {
    #expect(WebAddress(text) == nil)
  }

  @Test func loopback_IsThisMachineAlone() throws {
    let own = ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.255.0.9", "[::1]"]
    let other = [
      "example.test", "localhost.example.test", "127.0.0.1.example.test", "128.0.0.1", "127.0.0.256", "127.0.0", "10.0.0.1", "[::2]",
      "0.0.0.0", "notlocalhost",
    ]

    for host in own { #expect(WebAddress.isLoopback(try #require(WebAddress("http://\(host)/")).host), "\(host)") }
    for host in other { #expect(!WebAddress.isLoopback(try #require(WebAddress("http://\(host)/")).host), "\(host)") }
  }
}
