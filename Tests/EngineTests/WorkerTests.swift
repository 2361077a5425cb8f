import Engine
import Foundation
import Primitives
import Recording
import Streams
import Synchronization
import TestSupport
import Testing

/// What a worker counts of what its transport hands over.
@Suite struct WorkerTests {
  // MARK: Reads

  /// libcurl hands over each chunk by itself; they lay in the socket together.
  @Test(arguments: ["curl", "raw"]) func chunksOfOneRead_AreOneBurst(stack: String) throws {
    let chunks = Array(repeating: WorkerRun.token, count: 20) + [WorkerRun.done]
    let body = chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
    let server = try ScriptedServer.answering(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    defer { server.end() }

    let run = try WorkerRun(client: "{\"stack\": \"\(stack)\"}", url: server.url)

    let record = try #require(run.records.first)
    #expect(record.outcome == .completed && record.tokenEvents == 20)
    #expect(record.largestBurst == 20 && record.reads == 1)
    #expect(record.isFakeStreaming)
    #expect(run.total.counters.burstTokens == 20 && run.total.counters.reads == 1)
    #expect(run.total.readBytes.count == 1 && run.total.readBytes.largest == Int64(chunks.joined().utf8.count))
  }

  @Test func readsOfOneTokenEach_AreNoBurst() throws {
    let reads = (Array(repeating: WorkerRun.token, count: 20) + [WorkerRun.done]).map { Array($0.utf8) }

    let run = try WorkerRun(client: "{}", reads: reads)

    #expect(run.records.first?.largestBurst == 1 && run.records.first?.reads == 21)
    #expect(run.total.counters.burstTokens == 0 && run.total.readBytes.count == 21)
  }

  // MARK: Cancellation

  @Test func nothingOfASession_CountsAfterItsCancellation() throws {
    let first = Array((String(repeating: WorkerRun.token, count: 10) + WorkerRun.usage).utf8)
    let second = Array((WorkerRun.token + WorkerRun.done).utf8)

    let run = try WorkerRun(
      client: #"{"cancel": {"share": 1, "after": {"tokens": 3}}}"#, reads: [first, second], sessions: 4)

    #expect(run.records.count == 4 && run.records.allSatisfy { $0.outcome == .cancelled })
    #expect(run.records.allSatisfy { $0.tokenEvents == 3 && $0.tokens == 3 && $0.events == 3 && $0.tokensAfterCancel == 0 })
    #expect(run.records.allSatisfy { $0.reads == 1 && $0.bytes == Int64(first.count) })
    #expect(run.total.counters.tokenEvents == 12 && run.total.counters.tokens == 12)
  }

  // MARK: The cost of an event

  /// A CPU clock that stands still but for what a decoder spends.
  private final class SpendingDecoder: ForeignDecoder, Sendable {
    static let cost: Int64 = 1_234
    let spent = Atomic<Int64>(0)

    func read(_ data: UnsafeRawBufferPointer, eventType: UnsafeRawBufferPointer, api: StreamAPI) -> EventReading? {
      spent.wrappingAdd(Self.cost, ordering: .relaxed)
      return nil
    }
  }

  /// The clock of the thread's CPU and no other says what an event costs: one that waits costs nothing more.
  @Test func costOfAnEvent_IsWhatTheCPUClockSays() throws {
    let reads = Array(repeating: Array(WorkerRun.token.utf8), count: 200)
    let decoder = SpendingDecoder()

    let run = try WorkerRun(client: #"{"decoder": "foundation"}"#, reads: reads) { settings in
      settings.foreignDecoder = { decoder }
      settings.cpuClock = { decoder.spent.load(ordering: .relaxed) }
    }

    let counters = run.total.counters
    #expect(counters.sampledEvents >= 3)
    #expect(counters.sampledParseNanoseconds == counters.sampledEvents * SpendingDecoder.cost)
  }
}
