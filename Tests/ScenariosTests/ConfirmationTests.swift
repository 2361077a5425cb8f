// Who needs --yes: more than 50 live sessions to an address that is not loopback.

import Primitives
import Scenarios
import Testing

@Suite struct ConfirmationTests {
  @Test(arguments: [
    "localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.255.3.4", "::1", "[::1]", "::ffff:127.0.0.1",
    "0:0:0:0:0:0:0:1",
  ])
  func isLoopback(_ host: String) { #expect(WebAddress.isLoopback(host)) }

  @Test(arguments: [
    "localhost.com", "127.0.0.1.com", "128.0.0.1", "127.0.0", "127.1", "0177.0.0.1", "127.0.0.256", "::2",
    "0.0.0.0", "", "notlocalhost", "::ffff:10.0.0.1", "127.0.0.1a", "１27.0.0.1",
  ])
  func isNotLoopback(_ host: String) { #expect(!WebAddress.isLoopback(host)) }

  @Test(arguments: [
    ("http://host/a", "host", 80), ("https://Host:8443/a?b@c", "host", 8443), ("http://[::1]:9/x", "::1", 9),
    ("wss://h", "h", 443),
    ("http://localhost@evil.com/", "evil.com", 80), ("http://u:p@127.0.0.1:5", "127.0.0.1", 5),
    ("http://evil.com#@localhost", "evil.com", 80),
    ("proxy:3128", "proxy", 3128),
  ])
  func authorityIsTheHostThatIsConnectedTo(_ url: String, _ host: String, _ port: Int) {
    let address = WebAddress(anyScheme: url)
    #expect(address?.host.lowercased() == host && address?.port == port)
  }

  private func live(_ load: String, _ endpoint: String) throws -> (live: Int?, host: String)? {
    try ScenariosTests.load("{\"load\": \(load), \"endpoint\": \(endpoint)}").needsConfirmation
  }

  @Test func fiftyFirstLiveSessionNeedsIt() throws {
    let remote = #"{"url": "https://api.test/x"}"#

    #expect(try live(#"{"concurrency": 50, "sessions": 500}"#, remote) == nil)
    let asked = try live(#"{"concurrency": 51, "sessions": 500}"#, remote)
    #expect(asked?.live == 51)
    #expect(asked?.host == "api.test")
    #expect(try live(#"{"concurrency": 500, "sessions": 50}"#, remote) == nil)
    #expect(try live(#"{"concurrency": 5000, "sessions": 9000}"#, #"{"url": "http://127.0.0.1:8/x"}"#) == nil)
    #expect(
      try live(
        #"{"concurrency": 5000, "sessions": 9000}"#, #"{"url": "http://h/x", "unix_socket": "/tmp/s"}"#)
        == nil)
    #expect(try live(#"{"concurrency": 5000, "sessions": 9000}"#, "{}") == nil)
  }

  @Test func openLoadWithoutABoundNeedsIt() throws {
    let remote = #"{"url": "https://api.test/x"}"#

    let unbounded = try live(#"{"model": "poisson", "rate": "1/s", "duration": "5s"}"#, remote)
    #expect(unbounded != nil)
    #expect(unbounded?.live == nil)
    #expect(
      try live(#"{"model": "poisson", "rate": "1/s", "duration": "5s", "max_live": 50}"#, remote) == nil)
    #expect(try live(#"{"model": "poisson", "rate": "1/s", "sessions": 50}"#, remote) == nil)
    #expect(try live(#"{"model": "burst", "burst": {"sessions": 51}}"#, remote)?.live == 51)
    #expect(
      try live(
        #"{"model": "sweep", "sessions": 90, "sweep": {"key": "concurrency", "values": [1, 60]}}"#, remote)?
        .live == 60)
  }

  @Test func addressThatDNSIsReplacedBy_Decides() throws {
    let many = #"{"concurrency": 500, "sessions": 900}"#

    #expect(try live(many, #"{"url": "https://api.test/x", "resolve": ["api.test:443:127.0.0.1"]}"#) == nil)
    #expect(try live(many, #"{"url": "https://api.test/x", "resolve": ["api.test:80:127.0.0.1"]}"#) != nil)
    #expect(try live(many, #"{"url": "http://localhost/x", "resolve": ["localhost:80:10.0.0.1"]}"#) != nil)
    #expect(try live(many, #"{"url": "http://localhost/x", "proxy": "http://proxy.test:3128"}"#) != nil)
  }
}
