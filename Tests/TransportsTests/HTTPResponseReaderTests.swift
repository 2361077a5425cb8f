import Primitives
import Testing
import Transports

/// Literal bytes of the wire in, heads and bodies out. Sections are RFC 9112's where nothing else is said.
@Suite struct HTTPResponseReaderTests {
  // MARK: Framing

  @Test func contentLength_EndsTheBody() {
    let read = ReadResponse.of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/event-stream\r\n\r\nhello")

    #expect(read.text == "hello")
    #expect(read.isComplete && read.canBeReused)
    #expect(read.final?.contentType == "text/event-stream")
  }

  @Test func chunks_AreJoinedAndTrailersSkipped() {
    let read = ReadResponse.of(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;name=\"a;b\"\r\nwiki\r\n0006\r\npedia \r\nb\r\nin \r\nchunks\r\n0\r\nX-Sum: 1\r\nX: 2\r\n\r\n")

    #expect(read.text == "wikipedia in \r\nchunks")
    #expect(read.isComplete && read.canBeReused)
    #expect(read.rest == 0)
  }

  @Test func noFraming_EndsWithTheConnection() {
    let read = ReadResponse.of("HTTP/1.1 200 OK\r\n\r\ndata: x\n\n")

    #expect(read.text == "data: x\n\n")
    #expect(!read.isComplete && read.endsAtClose && !read.canBeReused)
  }

  @Test func statusWithoutBody_IsCompleteWhateverItsHeadersSay() {
    for status in [204, 304] {
      let read = ReadResponse.of("HTTP/1.1 \(status) x\r\nContent-Length: 5\r\n\r\n")
      #expect(read.isComplete && read.canBeReused, "section 6.3, rule 1: \(status)")
    }
  }

  @Test func interimResponses_PrecedeTheFinalOne() {
    let read = ReadResponse.of(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    #expect(read.heads.map(\.status) == [100, 103, 200])
    #expect(read.text == "ok" && read.isComplete)
  }

  @Test func bytesBehindTheResponse_AreLeftAlone() {
    let read = ReadResponse.of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n")

    #expect(read.text == "ok")
    #expect(read.rest == "HTTP/1.1 200 OK\r\n".utf8.count)
  }

  @Test func secondResponse_IsReadAfterTheFirst() {
    var reader = HTTPResponseReader()
    var bodies: [String] = []
    for number in 1...3 {
      var bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)".utf8)
      reader.startResponse()
      bytes.withUnsafeMutableBytes { buffer in
        var position = 0
        loop: while true {
          switch reader.next(buffer, &position) {
          case .body(let range): bodies.append(String(decoding: buffer[range], as: UTF8.self))
          case .head: continue
          default: break loop
          }
        }
      }
    }

    #expect(bodies == ["1", "2", "3"])
  }

  // MARK: Reuse

  @Test func connectionField_SaysWhetherTheConnectionLives() {
    let reuse: [(head: String, canBeReused: Bool)] = [
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", true), ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n", false),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: TE, Close\r\n", false),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: te\r\nConnection: close\r\n", false),
      ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n", false),
      ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n", true),
      // Section 6.1: both framings may be an attack; the connection is not used again.
      ("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n", false),
    ]
    for (head, canBeReused) in reuse {
      let body = head.contains("chunked") ? "0\r\n\r\n" : ""
      let read = ReadResponse.of(head + "\r\n" + body)
      #expect(read.isComplete, "\(head)")
      #expect(read.canBeReused == canBeReused, "\(head)")
    }
  }

  // MARK: What is tolerated

  static let tolerated: [(why: String, text: String, body: String)] = [
    ("2.2: a bare LF ends a line", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "ok"),
    ("4: the reason may be missing", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", "ok"),
    ("4: and its space", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "ok"),
    ("5.1: white space around a value", "HTTP/1.1 200 OK\r\nContent-Length: \t 2 \t\r\n\r\nok", "ok"),
    ("RFC 9110, 5.1: names know no case", "HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh:2\r\n\r\nok", "ok"),
    ("RFC 9110, 8.6: one list of equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", "ok"),
    ("7: chunk sizes in either case", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"),
    ("7: a bare LF after a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\r\n0\n\n", "ok"),
    ("6.3: Transfer-Encoding overrides a length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok"),
  ]

  @Test(arguments: tolerated.indices) func oddButClearResponse_IsRead(_ index: Int) {
    let (why, text, body) = Self.tolerated[index]

    let read = ReadResponse.of(text)

    #expect(read.failure == nil, "\(why)")
    #expect(read.isComplete && read.text == body, "\(why)")
  }

  // MARK: What is refused

  static let refused: [(text: String, says: String)] = [
    ("HTTP/2 200 OK\r\n\r\n", "status line"), ("HTTP/1.1 OK\r\n\r\n", "status line"), ("HTTP/1.1 20 OK\r\n\r\n", "status line"),
    ("HTTP/1.1 2000 OK\r\n\r\n", "status line"), ("HTTP/1.1 099 x\r\n\r\n", "status line"), ("ICY 200 OK\r\n\r\n", "status line"),
    ("<html>hello</html>\r\n\r\n", "status line"), ("\r\n\r\n", "status line"), ("HTTP/1.1\t200 OK\r\n\r\n", "status line"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", "two different values"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\n", "two different values"),
    ("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", "not a number"), ("HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\n", "not a number"),
    ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "not a number"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999999\r\n\r\n", "not a number"),
    ("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n", "before the colon"), ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "without a name"),
    ("HTTP/1.1 200 OK\r\n: value\r\n\r\n", "without a name"),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "transfer coding"),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "transfer coding"),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", "transfer coding"),
    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "switched protocols"),
  ]

  @Test(arguments: refused.indices) func wrongHead_IsRefusedInASentence(_ index: Int) {
    let (text, says) = Self.refused[index]

    let read = ReadResponse.of(text)

    #expect(read.failure?.contains(says) == true, "\(text.debugDescription): \(read.failure ?? "accepted")")
    #expect(read.body.isEmpty)
  }

  static let wrongChunks: [(chunks: String, before: String, says: String)] = [
    ("zz\r\n", "", "without a size"), ("\r\n", "", "without a size"), ("-1\r\nx\r\n", "", "without a size"),
    ("0x2\r\nok\r\n", "", "not hexadecimal"), ("2 \rX", "", "no LF"), ("2\rXok", "", "no LF"),
    ("2\r\nokX\r\n0\r\n\r\n", "ok", "after a chunk"), ("2\r\nok\rX", "ok", "after a chunk"), ("2\r\nok\n0\r\n\r\n", "ok", "after a chunk"),
    ("fffffffffffffffff\r\n", "", "too large"), ("00000000000000001\r\nx", "", "too large"),
    ("2;\(String(repeating: "e", count: 5000))\r\nok", "", "extension over"),
    ("2\r\nok\r\n0\r\nX: \(String(repeating: "t", count: 70_000))\r\n\r\n", "ok", "trailers over"),
  ]

  @Test(arguments: wrongChunks.indices) func wrongChunk_FailsAfterTheBytesBeforeIt(_ index: Int) {
    let (chunks, before, says) = Self.wrongChunks[index]

    let read = ReadResponse.of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)

    #expect(read.text == before)
    #expect(read.failure?.contains(says) == true, "\(chunks.prefix(20).debugDescription): \(read.failure ?? "accepted")")
  }

  // MARK: Limits

  @Test func headOverItsLimit_IsRefused() {
    let limit = HTTPResponseReader.maximumHead
    func head(_ filler: Int) -> [UInt8] {
      Array("HTTP/1.1 204 x\r\nX: \(String(repeating: "a", count: filler))\r\n\r\n".utf8)
    }
    let frame = head(0).count

    let fits = head(limit - frame)
    let cuts = Array(stride(from: 1000, to: fits.count, by: 1000))
    #expect(ReadResponse.of(fits, cuts: cuts).isComplete)
    let tooLarge = [UInt8](repeating: UInt8(ascii: "a"), count: limit * 2)
    #expect(ReadResponse.of(Array("HTTP/1.1 200 OK\r\nX: ".utf8) + tooLarge, cuts: [10, 500]).failure?.contains("over") == true)
  }

  @Test func endlessHeadInSmallPieces_IsRefusedAtTheLimit() {
    let bytes = Array("HTTP/1.1 200 OK\r\n".utf8) + (0..<40_000).flatMap { _ in Array("X: y\r\n".utf8) }

    let read = ReadResponse.of(bytes, cuts: Array(stride(from: 7, to: bytes.count, by: 7)))

    #expect(read.failure?.contains("head over") == true)
    #expect(read.heads.isEmpty)
  }

  // MARK: Properties

  /// Responses with every framing, each fed with every single cut and with random cuts: the same must come out.
  static let scripted: [String] = [
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: a\n\ndata: ",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n2\r\ncd\r\n00\r\n\r\nextra",
    "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: until close\n\n",
    "HTTP/1.1 204 No Content\r\n\r\nextra", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nq\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nbad\r\n\r\n",
  ]

  @Test(arguments: scripted) func everySingleCut_GivesTheSame(_ text: String) {
    let bytes = Array(text.utf8)
    let whole = ReadResponse.of(bytes)

    for cut in 1..<bytes.count {
      #expect(ReadResponse.of(bytes, cuts: [cut]) == whole, "cut at \(cut)")
    }
    #expect(ReadResponse.of(bytes, cuts: Array(1..<bytes.count)) == whole, "byte by byte")
  }

  @Test(arguments: scripted) func everyPairOfCuts_GivesTheSame(_ text: String) {
    let bytes = Array(text.utf8)
    let whole = ReadResponse.of(bytes)
    var wrong = 0

    for first in 1..<bytes.count - 1 {
      for second in first + 1..<bytes.count where ReadResponse.of(bytes, cuts: [first, second]) != whole { wrong += 1 }
    }

    #expect(wrong == 0)
  }

  @Test func damagedResponses_EndWithoutACrashAndAlike() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)

    for _ in 0..<4_000 {
      var bytes = Array(Self.scripted[Int.random(in: 0..<Self.scripted.count, using: &random)].utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        if Bool.random(using: &random) { bytes[at] = UInt8.random(in: 0...255, using: &random) } else { bytes.remove(at: at) }
      }
      let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
      let whole = ReadResponse.of(bytes)
      let pieces = ReadResponse.of(bytes, cuts: cuts)
      #expect(whole == pieces, "seed \(seed), cuts \(cuts): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
    }
  }

  @Test func anyBodyInAnyChunks_ComesOutWhole() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)

    for _ in 0..<300 {
      let body = (0..<Int.random(in: 0...600, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      var bytes = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
      var at = 0
      while at < body.count {
        let count = min(body.count - at, Int.random(in: 1...40, using: &random))
        bytes += Array(String(count, radix: 16, uppercase: Bool.random(using: &random)).utf8) + [13, 10]
        bytes += Array(body[at..<at + count]) + [13, 10]
        at += count
      }
      bytes += Array("0\r\n\r\n".utf8)
      let cuts = (0..<Int.random(in: 0...20, using: &random)).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()

      let read = ReadResponse.of(bytes, cuts: cuts)

      #expect(read.body == body && read.isComplete, "seed \(seed)")
    }
  }
}
