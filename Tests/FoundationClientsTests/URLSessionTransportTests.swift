import EventLoops
import Foundation
import FoundationClients
import Primitives
import Testing
import Transports

@Suite(.serialized) struct URLSessionTransportTests {
  private func endpoint(_ server: LoopbackServer, _ headers: [(String, String)] = []) -> EndpointAddress {
    var endpoint = EndpointAddress(url: server.url)
    endpoint.headers = headers.map { (name: $0.0, value: $0.1) }
    return endpoint
  }

  @Test func headBodyAndEndCome_InOrderAndWithoutRequestSent() throws {
    let server = LoopbackServer([.chunked(["data: a\n\n", "data: b\n\n"])])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server))
    let start = Instant.now()

    bench.transport.start(0, TransferRequest(), at: start)
    try bench.run { bench.recorder.end(0) != nil }

    let notes = bench.recorder.notes[0] ?? []
    #expect(notes.first == .head(200))
    #expect(notes.last == .end(.complete))
    #expect(bench.recorder.body(0) == "data: a\n\ndata: b\n\n")
    #expect(bench.recorder.heads[0]?.contentType == "text/event-stream")
    let instants = bench.recorder.instants[0] ?? []
    #expect(instants == instants.sorted { $0 < $1 })
    #expect(instants.allSatisfy { $0 >= start })
    bench.transport.shutDown()
  }

  @Test func headersOfTheUserAndAnEmptyLastEventID_GoOnTheWire() throws {
    let server = LoopbackServer([.stream("data: a\n\n")])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server, [("X-Mine", "yes"), ("Accept-Encoding", "identity")]))
    var request = TransferRequest()
    request.headers = [(name: "Last-Event-ID", value: "")]

    bench.transport.start(0, request, at: .now())
    try bench.run { bench.recorder.end(0) != nil }

    #expect(server.header("X-Mine", ofRequest: 0) == "yes")
    #expect(server.header("Accept-Encoding", ofRequest: 0) == "identity")
    #expect(server.header("Last-Event-ID", ofRequest: 0) == "")
    bench.transport.shutDown()
  }

  @Test func aBodyThatBreaksOff_IsCut() throws {
    let server = LoopbackServer([.chunked(["data: a\n\n"], isWhole: false)])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server))

    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { bench.recorder.end(0) != nil }

    #expect(bench.recorder.body(0) == "data: a\n\n")
    #expect(bench.recorder.end(0) == .cut)
    bench.transport.shutDown()
  }

  @Test func aClosedPort_IsRefused() throws {
    let server = LoopbackServer([.stream("")])
    server.stop()
    let bench = try TransportBench(endpoint(server))

    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { bench.recorder.end(0) != nil }

    guard case .failed(let kind, _)? = bench.recorder.end(0) else { return #expect(Bool(false), "no failure came") }
    #expect(kind == .refused)
    bench.transport.shutDown()
  }

  @Test func aRedirect_IsFollowedAndNotReported() throws {
    let server = LoopbackServer([
      .answer("307 Temporary Redirect", ["Location: /other", "Content-Length: 0", "Connection: close"], ""),
      .stream("data: there\n\n"),
    ])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server))

    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { bench.recorder.end(0) != nil }

    #expect(bench.recorder.body(0) == "data: there\n\n")
    #expect(bench.recorder.heads[0]?.status == 200)
    #expect(server.requests.last?.hasPrefix("GET /other ") == true)
    bench.transport.shutDown()
  }

  @Test(arguments: ["", "Location: http://[::bad"]) func aRedirectToNowhere_HasItsStatus(_ location: String) throws {
    let headers = ["Content-Length: 0", "Connection: close"] + (location.isEmpty ? [] : [location])
    let server = LoopbackServer([.answer("302 Found", headers, "")])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server))

    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { bench.recorder.end(0) != nil }

    #expect(bench.recorder.heads[0]?.status == 302 || bench.recorder.end(0) != .complete)
    bench.transport.shutDown()
  }

  @Test(arguments: [true, false])
  func cancel_ClosesTheSocketAndReportsNothingMore(isFresh: Bool) throws {
    let server = LoopbackServer([.chunked(["data: a\n\n"], more: [.waitForClose])])
    defer { server.stop() }
    var options = URLSessionOptions()
    options.sessionPerTransfer = isFresh
    let bench = try TransportBench(endpoint(server), options)
    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { !bench.recorder.body(0).isEmpty }
    let notes = bench.recorder.notes[0]?.count

    let cancelled = Instant.now()
    bench.transport.cancel(0)
    let isClosed = try bench.run { !server.closedAt.isEmpty }

    #expect(isClosed)
    #expect(bench.recorder.notes[0]?.count == notes)
    if let closed = server.closedAt.first { print("cancel to close, fresh \(isFresh): \((closed - cancelled).milliseconds) ms") }
    bench.transport.shutDown()
  }

  @Test func manyCancellations_LeaveNoDescriptor() throws {
    let server = LoopbackServer([.chunked(["data: a\n\n"], more: [.waitForClose])])
    defer { server.stop() }
    var options = URLSessionOptions()
    options.sessionPerTransfer = true
    let bench = try TransportBench(endpoint(server), options)
    func cycle() throws {
      let closes = server.closedAt.count
      let seen = bench.recorder.bodyBytes
      bench.transport.start(0, TransferRequest(), at: .now())
      try bench.run { bench.recorder.bodyBytes > seen }
      bench.transport.cancel(0)
      try bench.run { server.closedAt.count > closes }
    }
    for _ in 0..<10 { try cycle() }
    let before = openDescriptors()

    for _ in 0..<200 { try cycle() }

    // Foundation closes its own on threads of its own: what counts is that they do not grow with the cycles.
    try bench.run { openDescriptors() <= before + 8 }
    #expect(openDescriptors() <= before + 8)
    bench.transport.shutDown()
  }

  @Test func aPausedPlace_HoldsBytesAndCountsThem() throws {
    let gate = Gate()
    let piece = "data: " + String(repeating: "x", count: 4000) + "\n\n"
    let server = LoopbackServer([.chunked(["data: first\n\n"], more: [.gate(gate)] + chunks(piece, 50))])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server))
    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { !bench.recorder.body(0).isEmpty }

    bench.transport.setPaused(0, true)
    gate.open()
    try bench.run { bench.transport.peakQueuedBytes >= 50 * piece.utf8.count }
    let seenWhilePaused = bench.recorder.bodyBytes
    bench.transport.setPaused(0, false)
    try bench.run { bench.recorder.end(0) != nil }

    #expect(seenWhilePaused == "data: first\n\n".utf8.count)
    #expect(bench.recorder.bodyBytes == seenWhilePaused + 50 * piece.utf8.count)
    #expect(bench.recorder.end(0) == .complete)
    bench.transport.shutDown()
  }

  @Test func whatASlowConsumerWouldHold_IsBounded() throws {
    let piece = "data: " + String(repeating: "x", count: 4000) + "\n\n"
    let gate = Gate()
    let server = LoopbackServer([.chunked(["data: first\n\n"], more: [.gate(gate)] + chunks(piece, 200) + [.waitForClose])])
    defer { server.stop() }
    var options = URLSessionOptions()
    options.queueLimit = 64 << 10
    let bench = try TransportBench(endpoint(server), options)
    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { !bench.recorder.body(0).isEmpty }

    bench.transport.setPaused(0, true)
    gate.open()
    try bench.run { bench.recorder.end(0) != nil }

    guard case .failed(let kind, _)? = bench.recorder.end(0) else { return #expect(Bool(false), "no failure came") }
    #expect(kind == .overflow)
    #expect(bench.transport.peakQueuedBytes <= options.queueLimit)
    bench.transport.shutDown()
  }

  /// Between two turns a worker serves its timers.
  @Test func aFlood_IsHandedOverInPieces() throws {
    let piece = "data: " + String(repeating: "x", count: 4000) + "\n\n"
    let all = 1000 * piece.utf8.count
    let server = LoopbackServer([.chunked([], more: chunks(piece, 1000))])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server))
    bench.transport.start(0, TransferRequest(), at: .now())
    // Everything waits before the first turn.
    #expect(try bench.wait { bench.transport.peakQueuedBytes >= all })

    var most = 0
    var turns = 0
    // A turn that hands over nothing would never end it.
    while bench.recorder.end(0) == nil && turns < 10_000 {
      let before = bench.recorder.bodyBytes
      bench.transport.expire(.now())
      most = max(most, bench.recorder.bodyBytes - before)
      turns += 1
      if bench.recorder.bodyBytes < all { #expect(bench.transport.nextDeadline() != nil) }
    }

    #expect(bench.recorder.bodyBytes == all)
    #expect(most <= 512 << 10 && turns >= 8, "\(most) bytes in a turn, \(turns) turns")
    bench.transport.shutDown()
  }

  /// What a worker has not dealt with counts against the bound wherever it lies.
  @Test func bytesTakenAndNotDealtWith_CountAsQueued() throws {
    let piece = "data: " + String(repeating: "x", count: 4000) + "\n\n"
    let server = LoopbackServer([.chunked([], more: chunks(piece, 1000) + [.waitForClose])])
    defer { server.stop() }
    var options = URLSessionOptions()
    options.queueLimit = 1 << 20
    let bench = try TransportBench(endpoint(server), options)
    bench.transport.start(0, TransferRequest(), at: .now())
    #expect(try bench.wait { bench.transport.peakQueuedBytes >= 1 << 19 })

    bench.transport.expire(.now())
    #expect(try bench.wait { !server.closedAt.isEmpty })
    try bench.run { bench.recorder.end(0) != nil }

    guard case .failed(let kind, _)? = bench.recorder.end(0) else { return #expect(Bool(false), "no failure came") }
    #expect(kind == .overflow)
    #expect(bench.recorder.bodyBytes <= options.queueLimit + (320 << 10))
    bench.transport.shutDown()
  }

  /// Foundation on Linux cuts its only timeout to whole seconds.
  @Test func aSilentServer_EndsByFoundationsOwnTimeout() throws {
    let server = LoopbackServer([.chunked(["data: a\n\n"], more: [.hold])])
    defer { server.stop() }
    var options = URLSessionOptions()
    options.requestTimeout = 1.9
    let bench = try TransportBench(endpoint(server), options)
    let start = Instant.now()

    bench.transport.start(0, TransferRequest(), at: start)
    try bench.run { bench.recorder.end(0) != nil }

    guard case .failed(let kind, _)? = bench.recorder.end(0) else { return #expect(Bool(false), "no failure came") }
    #expect(kind == .idleTimeout)
    #expect(Instant.now() - start >= .milliseconds(990))
    bench.transport.shutDown()
  }

  @Test func aCompressedBody_IsDecoded() throws {
    // "data: hello\n\n" by gzip, without a name or a time.
    let packed: [UInt8] = [
      0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x4B, 0x49, 0x2C, 0x49, 0xB4, 0x52, 0xC8, 0x48, 0xCD, 0xC9,
      0xC9, 0xE7, 0xE2, 0x02, 0x00,
    ]
    let trailer = gzipTrailer("data: hello\n\n")
    let head = Script.head("200 OK", ["Content-Type: text/event-stream", "Content-Encoding: gzip", "Connection: close"])
    let server = LoopbackServer([Script(steps: [.send(head), .send(packed + trailer)])])
    defer { server.stop() }
    let bench = try TransportBench(endpoint(server))

    bench.transport.start(0, TransferRequest(), at: .now())
    try bench.run { bench.recorder.end(0) != nil }

    #expect(bench.recorder.body(0) == "data: hello\n\n")
    bench.transport.shutDown()
  }

  @Test func whatURLSessionCannotSet_IsRefusedInWords() throws {
    var endpoint = EndpointAddress(url: "http://127.0.0.1:1/")
    endpoint.proxy = "http://127.0.0.1:2"

    #expect(throws: URLSessionRefusal.self) { try TransportBench(endpoint) }
    #expect(throws: URLSessionRefusal.self) { try TransportBench(EndpointAddress(url: "http://[::1]:1/")) }
  }

  private func chunks(_ piece: String, _ count: Int) -> [Script.Step] {
    (0..<count).map { _ in .send(Array("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n".utf8)) }
  }

  private func openDescriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  /// CRC-32 and length, as RFC 1952 ends a member.
  private func gzipTrailer(_ text: String) -> [UInt8] {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in text.utf8 {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    crc ^= 0xFFFF_FFFF
    return [crc, UInt32(text.utf8.count)].flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
  }
}
