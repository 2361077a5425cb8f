// What the transport reports becomes instants, counts and events of a session. Ends are noted here and acted on later: the transport must
// not be called from inside itself.

internal import CPlatform
import EventLoops
import Primitives
import Recording
import Scenarios
import Streams
import Synchronization
import Transports

extension Worker: TransferReceiver {
  // MARK: What the transport reports

  func requestSent(_ place: Int, at: Instant, connection: ConnectionTimes) {
    let session = sessions + place
    let now = at.nanoseconds
    session.pointee.connectionSent = now
    if session.pointee.requestSent < 0 {
      session.pointee.requestSent = now
      session.pointee.connect = connection.connect.value
      session.pointee.tls = connection.tls.value
    }
    session.pointee.lastActivity = now
    let record = session.pointee.isCounted ? interval : uncounted
    if connection.isReused {
      record.counters.reusedConnections += 1
    } else {
      record.counters.newConnections += 1
      if connection.connect.value >= 0 { record.record(.connect, connection.connect.value) }
      if connection.tls.value >= 0 { record.record(.tls, connection.tls.value) }
      if let isResumed = connection.isResumed {
        if isResumed { record.counters.resumedTLS += 1 } else { record.counters.fullTLS += 1 }
      }
    }
    if let recovery = session.pointee.recovery, recovery.record.requestSent < 0 {
      recovery.record.requestSent = now - origin
    }
  }

  func headReceived(_ place: Int, _ head: ResponseHead, at: Instant) {
    let session = sessions + place
    session.pointee.status = Int32(head.status)
    session.pointee.retryAfter = head.retryAfter
    if let url = head.finalURL, settings.remembers(url) { session.pointee.movedTo = url }
    session.pointee.lastActivity = at.nanoseconds
    let essence = MediaType.essence(head.contentType)
    let typeIsRight = settings.contentTypes.isEmpty || settings.contentTypes.contains(essence)
    let signal = session.pointee.task?.head(status: head.status, at: at)
    if settings.client.opensAnyType ? signal == .open : head.status == 200 && typeIsRight {
      session.pointee.phase = .streaming
      session.pointee.connectionOpened = at.nanoseconds
    } else {
      session.pointee.contentType = head.contentType
      session.pointee.contentTypeIsWrong = head.status == 200
    }
  }

  func bodyReceived(_ place: Int, _ bytes: UnsafeRawBufferPointer, at: Instant) {
    let session = sessions + place
    // Decided, and the transport is told at the next safe point: what it hands over until then is nobody's.
    guard session.pointee.phase != .closing else { return }
    let now = at.nanoseconds
    session.pointee.lastActivity = now
    session.pointee.bytes += Int64(bytes.count)
    let record = session.pointee.isCounted ? interval : uncounted
    record.hot.pointee.bytes += Int64(bytes.count)
    if !splitsReads || session.pointee.readTurn != turn {
      endRead(session, record)
      session.pointee.readTurn = turn
      session.pointee.reads += 1
      record.hot.pointee.reads += 1
    }
    session.pointee.readBytes += Int64(bytes.count)
    if session.pointee.connectionFirstByte < 0 {
      session.pointee.connectionFirstByte = now
      if session.pointee.firstByte < 0 {
        session.pointee.firstByte = now
        record.record(.ttfb, now - session.pointee.latencyStart)
        record.record(.scheduledTTFB, now - session.pointee.scheduled)
      }
      if let recovery = session.pointee.recovery, recovery.record.firstByte < 0 {
        recovery.record.firstByte = now - origin
      }
    }
    switch session.pointee.phase {
    case .streaming, .finished: break
    case .requesting:
      if session.pointee.errorBody.count < 512 {
        session.pointee.errorBody.append(contentsOf: bytes.prefix(512 - session.pointee.errorBody.count))
      }
      return
    default: return
    }
    readCount &+= 1
    let before = session.pointee.events
    let tokensBefore = session.pointee.readTokens
    var sink = SessionSink(
      worker: self, session: session, hot: record.hot, cells: record.cells, rules: rules, now: now)
    do {
      if readCount & Self.sampledCPU == 0 {
        let start = settings.cpuClock()
        try session.pointee.parser.feed(bytes, into: &sink)
        let spent = settings.cpuClock() - start
        record.counters.sampledParseNanoseconds += max(0, spent - meters.clockCost)
        record.counters.sampledEvents += session.pointee.events - before
        record.counters.sampledBytes += Int64(bytes.count)
      } else {
        try session.pointee.parser.feed(bytes, into: &sink)
      }
      if readCount & Self.sampledDwell == Self.sampledDwell { record.record(.callbackDwell, Instant.now().nanoseconds - now) }
    } catch {
      session.pointee.streamFailed = .tooLarge
      close(place, .fail(.tooLarge, error.description), now)
      return
    }
    let burst = session.pointee.readTokens
    if burst > session.pointee.largestBurst { session.pointee.largestBurst = burst }
    // The first token of a read is of a burst once a second one has come.
    if burst > 1 { record.hot.pointee.burstTokens += burst - (tokensBefore > 1 ? tokensBefore : 0) }
    let events = session.pointee.events - before
    if case .slow(let time) = settings.consumer, events > 0 {
      session.pointee.resumeAt = max(session.pointee.resumeAt, now) + time.value * events
      pauses.append(place)
      armTimer(place)
    }
    if session.pointee.phase == .finished { armTimer(place) }
  }

  /// The read that was being counted is whole.
  func endRead(_ session: UnsafeMutablePointer<Session>, _ record: IntervalRecord) {
    if session.pointee.readBytes > 0 { record.cells[IntervalRecord.readBytesIndex].record(session.pointee.readBytes) }
    session.pointee.readBytes = 0
    session.pointee.readTokens = 0
  }

  func transferEnded(_ place: Int, _ end: TransferEnd, at: Instant) {
    ended.append((place, end, at.nanoseconds))
  }

  /// Decides a session's end while its transfer is still going on; the transport is told at the next safe point.
  func close(_ place: Int, _ step: NextStep, _ at: Int64) {
    guard sessions[place].phase != .closing else { return }
    sessions[place].phase = .closing
    closing.append((place, step, at))
  }

  func cancelSession(_ place: Int, _ now: Int64) {
    guard sessions[place].cancelledAt < 0 else { return }
    sessions[place].cancelledAt = now
    sessions[place].isCancelled = true
    sessions[place].task?.cancel()
    if settings.client.leaksOnCancel && sessions[place].phase == .streaming { return }
    close(place, .complete, now)
  }

  func noteModel(_ name: UnsafeRawBufferPointer) {
    if !name.elementsEqual(lastModel.utf8) { lastModel = String(decoding: name.prefix(256), as: UTF8.self) }
    modelsSeen.append(lastModel)
  }

  /// Keeps memory for ever: the test-only consumer that must be found out.
  func leak(_ bytes: Int) {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(8, bytes), alignment: 8)
    block.storeBytes(of: leaked, as: UnsafeMutableRawPointer?.self)
    leaked = block
  }

  func noteError(_ kind: SessionErrorKind, _ message: String) {
    guard sampledErrors[Int(kind.rawValue)] < 3, !message.isEmpty else { return }
    sampledErrors[Int(kind.rawValue)] += 1
    errorSamples.append((kind, String(message.prefix(300))))
  }
}
