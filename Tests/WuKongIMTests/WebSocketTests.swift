// RFC 6455 against literal bytes, and the two sides of a session against each other under any split.

import Primitives
import Testing
import WuKongIM

extension WebSocketSession {
  /// Feeds bytes in pieces of `size`; what arrived, and the error if there was one.
  func feed(_ bytes: [UInt8], size: Int = .max) -> ([WebSocketMessage], WebSocketError?) {
    var messages: [WebSocketMessage] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(size))
      rest = rest.dropFirst(size)
      do throws(WebSocketError) { try receive(piece) { messages.append($0) } } catch {
        return (messages, error)
      }
    }
    return (messages, nil)
  }
}

/// A frame by hand; masked frames use the mask 1 2 3 4.
func frame(_ first: UInt8, _ payload: [UInt8], masked: Bool = true) -> [UInt8] {
  var out = [first]
  let bit: UInt8 = masked ? 0x80 : 0
  if payload.count < 126 {
    out.append(bit | UInt8(payload.count))
  } else if payload.count < 65_536 {
    out += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
  } else {
    out.append(bit | 127)
    for shift in stride(from: 56, through: 0, by: -8) {
      out.append(UInt8(truncatingIfNeeded: payload.count >> shift))
    }
  }
  if !masked { return out + payload }
  let mask: [UInt8] = [1, 2, 3, 4]
  return out + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
}

@Suite struct WebSocketTests {
  @Test func acceptKeyOfTheRFC() {
    #expect(WebSocketHandshake.acceptKey(for: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test func base64ReadsWhatItWrites() {
    for (plain, coded) in [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ] {
      #expect(Base64.encode(Array(plain.utf8)) == coded)
      #expect(Base64.decode(Array(coded.utf8)) == Array(plain.utf8))
    }
    for bad in ["Zg", "Zg=", "Zh==", "Z===", "Zm9=", "Z m9", "=Zm9", "Zg==Zg=="] {
      #expect(Base64.decode(Array(bad.utf8)) == nil, "\(bad)")
    }
  }

  @Test func examplesOfTheRFC() {
    let server = WebSocketSession(role: .server)
    let client = WebSocketSession(role: .client)

    // Section 5.7.
    #expect(client.feed([0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]).0 == [.text(Array("Hello".utf8))])
    #expect(
      server.feed([0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]).0 == [
        .text(Array("Hello".utf8))
      ])
    #expect(
      client.feed([0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f]).0 == [.text(Array("Hello".utf8))])
    #expect(client.feed([0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]).0 == [.ping(Array("Hello".utf8))])
    let pong = client.takeOutput()
    #expect(pong.count == 11 && pong[0] == 0x8A && pong[1] == 0x85)
    #expect(server.feed(pong).0 == [.pong(Array("Hello".utf8))])
  }

  @Test func controlFramesBetweenFragments() {
    let server = WebSocketSession(role: .server)
    let bytes =
      frame(0x01, [0xE4, 0xBD]) + frame(0x89, [7]) + frame(0x00, [0xA0, 0xE5]) + frame(0x8A, [])
      + frame(0x80, [0xA5, 0xBD])

    for size in [1, 2, 3, 7, 1_000] {
      let (messages, error) = server.feed(bytes, size: size)
      #expect(error == nil)
      #expect(messages == [.ping([7]), .pong([]), .text(Array("你好".utf8))], "pieces of \(size)")
      #expect(server.takeOutput() == [0x8A, 0x01, 7])
    }
  }

  struct Hostile: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: [UInt8]
    var code: UInt16

    init(_ what: String, _ bytes: [UInt8], _ code: UInt16) {
      testDescription = what
      self.bytes = bytes
      self.code = code
    }
  }

  static let hostile: [Hostile] = {
    var all: [Hostile] = []
    all.append(Hostile("no mask", frame(0x81, [0x78], masked: false), 1002))
    all.append(Hostile("reserved bit", frame(0xC1, []), 1002))
    all.append(Hostile("reserved opcode", frame(0x83, []), 1002))
    all.append(Hostile("reserved control opcode", frame(0x8B, []), 1002))
    all.append(Hostile("continuation of nothing", frame(0x80, []), 1002))
    all.append(Hostile("message inside a message", frame(0x01, []) + frame(0x81, []), 1002))
    all.append(Hostile("fragmented ping", frame(0x09, []), 1002))
    all.append(Hostile("long ping", frame(0x89, [UInt8](repeating: 0, count: 126)), 1002))
    all.append(Hostile("16-bit length below 126", [0x81, 0xFE, 0x00, 0x7D, 1, 2, 3, 4], 1002))
    all.append(Hostile("64-bit length with the top bit", [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002))
    all.append(Hostile("FF in text", frame(0x81, [0xFF]), 1007))
    all.append(Hostile("surrogate in text", frame(0x81, [0xED, 0xA0, 0x80]), 1007))
    all.append(Hostile("overlong NUL", frame(0x81, [0xC0, 0x80]), 1007))
    all.append(Hostile("scalar cut by the end", frame(0x81, [0xE4, 0xBD]), 1007))
    all.append(Hostile("scalar broken by a fragment", frame(0x01, [0xE4]) + frame(0x80, [0x41]), 1007))
    all.append(Hostile("above U+10FFFF", frame(0x81, [0xF4, 0x90, 0x80, 0x80]), 1007))
    all.append(Hostile("close code of one byte", frame(0x88, [3]), 1002))
    all.append(Hostile("close code 1005", frame(0x88, [3, 0xED]), 1002))
    all.append(Hostile("close code 0", frame(0x88, [0, 0]), 1002))
    all.append(Hostile("close reason not UTF-8", frame(0x88, [3, 0xE8, 0xFF]), 1007))
    all.append(Hostile("1 MiB and a byte", [0x82, 0xFF, 0, 0, 0, 0, 0, 0x10, 0, 1, 1, 2, 3, 4, 0], 1009))
    var pieces = frame(0x01, [])
    for _ in 0..<4_097 { pieces += frame(0x00, []) }
    all.append(Hostile("4,098 fragments", pieces, 1009))
    return all
  }()

  @Test(arguments: hostile)
  func hostileFramesCloseWithTheirCode(_ hostile: Hostile) {
    for size in [1, 5, 1 << 20] {
      let server = WebSocketSession(role: .server)

      let (_, error) = server.feed(hostile.bytes, size: size)

      #expect(error?.closeCode == hostile.code)
      #expect(server.state == .closed)
      #expect(server.takeOutput() == [0x88, 0x02, UInt8(hostile.code >> 8), UInt8(hostile.code & 0xFF)])
      #expect(server.feed(frame(0x81, [])).0.isEmpty)
    }
  }

  @Test func aClientRefusesMaskedFrames() {
    let client = WebSocketSession(role: .client)

    #expect(client.feed(frame(0x81, [0x41])).1?.closeCode == 1002)
  }

  @Test func theLimitCountsAllFragments() {
    var limits = WebSocketLimits()
    limits.messageBytes = 10
    let server = WebSocketSession(role: .server, limits: limits)

    #expect(server.feed(frame(0x02, [UInt8](repeating: 1, count: 6))).1 == nil)
    #expect(
      server.feed(frame(0x80, [UInt8](repeating: 1, count: 4))).0 == [
        .binary([UInt8](repeating: 1, count: 10))
      ])
    #expect(server.feed(frame(0x02, [UInt8](repeating: 1, count: 6))).1 == nil)
    #expect(server.feed(frame(0x80, [UInt8](repeating: 1, count: 5))).1?.kind == .messageTooBig(limit: 10))
  }

  @Test func aCloseIsEchoedOnceAndEndsBothSides() {
    let server = WebSocketSession(role: .server)
    let client = WebSocketSession(role: .client)

    client.close(code: 4001, reason: "bye")
    client.send(text: Array("late".utf8))
    #expect(client.state == .closing)
    #expect(server.feed(client.takeOutput()).0 == [.close(code: 4001, reason: "bye")])
    #expect(server.state == .closed)
    #expect(client.feed(server.takeOutput()).0 == [.close(code: 4001, reason: "")])
    #expect(client.state == .closed)
    #expect(!client.hasOutput && !server.hasOutput)
    #expect(
      WebSocketSession(role: .client).feed(frame(0x88, [], masked: false)).0 == [
        .close(code: 1005, reason: "")
      ])
  }

  @Test func messagesCrossUnchangedUnderAnySplit() {
    let seed: UInt64 = 11
    var random = SeededRandom(seed: seed)
    let client = WebSocketSession(role: .client)
    let server = WebSocketSession(role: .server)
    for (from, to) in [(client, server), (server, client)] {
      var sent: [WebSocketMessage] = []
      for _ in 0..<200 {
        let size = [0, 1, 125, 126, 127, 4_095, 4_096, 65_535, 65_536, 70_000][Int(random.next() % 10)]
        let fragments = 1 + Int(random.next() % 5)
        let text = [UInt8](repeating: 0x61, count: size)
        if random.next() % 2 == 0 {
          from.send(text: text, fragments: fragments)
          sent.append(.text(text))
        } else {
          from.send(binary: text, fragments: fragments)
          sent.append(.binary(text))
        }
      }

      let (received, error) = to.feed(from.takeOutput(), size: 1 + Int(random.next() % 9_000))

      #expect(error == nil, "seed \(seed)")
      #expect(received == sent, "seed \(seed)")
    }
  }

  @Test func upgradeOfBothSides() throws {
    let key = WebSocketHandshake.newKey()
    let request = WebSocketHandshake.request(host: "127.0.0.1:5200", path: "/", key: key)
    let whole = try UpgradeHead.length(in: request + [1, 2])
    let cut = try UpgradeHead.length(in: request.dropLast())
    #expect(whole == request.count)
    #expect(cut == nil)

    let response = try WebSocketHandshake.response(to: try UpgradeHead(request))

    try WebSocketHandshake.check(try UpgradeHead(response), key: key)
    #expect(throws: WebSocketError.self) {
      try WebSocketHandshake.check(try UpgradeHead(response), key: WebSocketHandshake.newKey())
    }
  }

  @Test(arguments: [
    "POST / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "GET / HTTP/1.0\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: short\r\nSec-WebSocket-Version: 13",
    "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8",
    "GET / HTTP/1.1\r\n: a", "", "GET / HTTP/1.1\r\nHo st: a",
  ])
  func badUpgradesAreRefused(_ request: String) {
    #expect(throws: WebSocketError.self) {
      try WebSocketHandshake.response(to: try UpgradeHead(Array(request.utf8)))
    }
  }

  @Test func anEndlessHeadIsRefused() {
    #expect(throws: WebSocketError.self) {
      try UpgradeHead.length(in: [UInt8](repeating: 0x41, count: 20_000))
    }
  }
}
