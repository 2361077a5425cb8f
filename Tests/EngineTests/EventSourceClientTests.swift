import Engine
import Primitives
import Scenarios
import Testing
import Transports

/// The checklist of an EventSource-like session, as far as it needs no socket.
struct EventSourceClientTests {
  private let zero = Instant(nanoseconds: 1_000_000_000_000)

  private func bytes(_ text: String, _ body: (UnsafeRawBufferPointer) -> Void) {
    Array(text.utf8).withUnsafeBytes(body)
  }

  @Test(arguments: [Fidelity.strict, .faithful])
  func readyStates_AreMinusOneZeroOneTwo(fidelity: Fidelity) {
    var task = EventSourceClient(fidelity)
    var states = [task.readyState.rawValue]

    #expect(task.events(at: zero) == nil)
    states.append(task.readyState.rawValue)
    #expect(task.head(status: 200, at: zero) == .open)
    states.append(task.readyState.rawValue)
    #expect(task.ended(.complete) == [.closed])
    states.append(task.readyState.rawValue)

    #expect(states == [-1, 0, 1, 2])
  }

  @Test(arguments: [Fidelity.strict, .faithful])
  func noContent_ClosesWithoutOpen(fidelity: Fidelity) {
    var task = EventSourceClient(fidelity)
    _ = task.events(at: zero)

    #expect(task.head(status: 204, at: zero) == .closed)
    #expect(task.readyState == .closed)
    #expect(task.ended(.complete) == [])
  }

  @Test(arguments: [Fidelity.strict, .faithful])
  func anErrorStatusWithABody_IsAnErrorWithTheFirstChunkThenClosed(fidelity: Fidelity) {
    var task = EventSourceClient(fidelity)
    _ = task.events(at: zero)

    #expect(task.head(status: 500, at: zero) == nil)
    bytes("first") { chunk in
      #expect(task.body(chunk, at: zero) == [.error(.connection(status: 500, body: Array("first".utf8))), .closed])
    }
    bytes("second") { chunk in #expect(task.body(chunk, at: zero) == []) }
    #expect(task.ended(.complete) == [])
  }

  @Test func anErrorStatusWithoutABody_OnlyClosesInTheLibraryAndIsAnErrorInStrict() {
    func signals(_ fidelity: Fidelity) -> [EventSourceClient.Signal] {
      var task = EventSourceClient(fidelity)
      _ = task.events(at: zero)
      _ = task.head(status: 500, at: zero)
      return task.ended(.complete)
    }

    #expect(signals(.faithful) == [.closed])
    #expect(signals(.strict) == [.error(.connection(status: 500, body: [])), .closed])
  }

  @Test func theFirstRequest_HasAnEmptyLastEventIDInFaithfulAndNoneInStrict() {
    let faithful = EventSourceClient(.faithful).headers
    let strict = EventSourceClient(.strict).headers

    #expect(faithful.map(\.name) == ["Accept", "Cache-Control", "Last-Event-ID"])
    #expect(faithful.map(\.value) == ["text/event-stream", "no-store", ""])
    #expect(strict.map(\.name) == ["Accept", "Cache-Control"])
  }

  @Test func anIDThatWasSetOrReceived_IsSent() {
    var task = EventSourceClient(.strict)
    _ = task.events(at: zero)
    _ = task.head(status: 200, at: zero)
    task.delivered(id: Array("41".utf8))
    _ = task.ended(.cut)

    var next = EventSourceClient(.faithful)
    next.lastMessageID = task.lastMessageID

    #expect(next.headers.last?.value == "41")
  }

  @Test func theID_SurvivesACloseInStrictAndIsClearedInFaithful() {
    func idAfterClose(_ fidelity: Fidelity) -> [UInt8] {
      var task = EventSourceClient(fidelity)
      _ = task.events(at: zero)
      _ = task.head(status: 200, at: zero)
      task.delivered(id: Array("41".utf8))
      _ = task.ended(.failed(.reset, detail: ""))
      return task.lastMessageID
    }

    #expect(idAfterClose(.strict) == Array("41".utf8))
    #expect(idAfterClose(.faithful) == [])
  }

  @Test(arguments: [Fidelity.strict, .faithful])
  func aSecondCallOfEvents_YieldsOneAlreadyConsumed(fidelity: Fidelity) {
    var task = EventSourceClient(fidelity)
    _ = task.events(at: zero)

    #expect(task.events(at: zero) == .error(.alreadyConsumed))
    #expect(task.readyState == .connecting)
  }

  @Test(arguments: [Fidelity.strict, .faithful])
  func cancel_EndsWithoutAWord(fidelity: Fidelity) {
    var task = EventSourceClient(fidelity)
    _ = task.events(at: zero)
    _ = task.head(status: 200, at: zero)

    task.cancel()

    #expect(task.ended(.cut) == [])
    #expect(task.readyState == .closed)
  }

  @Test func strictTimeouts_AreExactAndBytesOfAnyKindCount() {
    var task = EventSourceClient(
      .strict, requestTimeout: .milliseconds(300), resourceTimeout: .milliseconds(1000))
    _ = task.events(at: zero)
    _ = task.head(status: 200, at: zero)

    bytes(": ping\n") { _ = task.body($0, at: zero + .milliseconds(250)) }

    #expect(task.deadline == zero + .milliseconds(550))
    #expect(task.expire(zero + .milliseconds(549)) == [])
    bytes(": ping\n") { _ = task.body($0, at: zero + .milliseconds(549)) }
    bytes("data: a\n\n") { _ = task.body($0, at: zero + .milliseconds(800)) }
    #expect(task.deadline == zero + .milliseconds(1000))
    #expect(task.expire(zero + .milliseconds(1000)) == [.error(.resourceTimeout), .closed])
  }

  @Test func anIdleStream_EndsByTheRequestTimeout() {
    var task = EventSourceClient(.strict, requestTimeout: .milliseconds(300))
    _ = task.events(at: zero)
    _ = task.head(status: 200, at: zero + .milliseconds(10))

    #expect(task.expire(zero + .milliseconds(310)) == [.error(.requestTimeout), .closed])
  }

  @Test func theLibraryOnLinux_TimesOutInWholeSecondsAndHasNoResourceTimeout() {
    var task = EventSourceClient(.faithful, requestTimeout: .milliseconds(1900), resourceTimeout: .seconds(2))
    _ = task.events(at: zero)
    _ = task.head(status: 200, at: zero)
    for step in 1...10 {
      bytes("data: a\n\n") { _ = task.body($0, at: zero + .milliseconds(Double(step) * 500)) }
    }

    #expect(task.readyState == .open)
    #expect(task.deadline == zero + .seconds(6))
  }
}
