// Sessions that the client gave up, until the mock has said when it saw their sockets close. What the client believes
// of itself is not enough: a stack may say "cancelled" and go on reading.

import Engine
import Foundation
import Primitives
import Recording

struct CancellationAccount {
  /// The instant 0 of the load that the records count from.
  var origin = Instant(nanoseconds: 0)
  private var waiting: [(record: SessionRecord, stackTells: Bool)] = []
  /// When the mock saw sockets closed, by session.
  private var closes: [Int64: Int64] = [:]
  private var nextQuestion = Instant(nanoseconds: 0)

  /// Whether this record waits here for the mock's account.
  mutating func takes(_ record: SessionRecord, _ settings: SessionSettings) -> Bool {
    guard settings.usesMock, record.cancelToClose >= 0, waiting.count < 100_000 else { return false }
    // Where the producer goes on, the transfer's own end is the socket's; else only curl and raw close it themselves.
    waiting.append((record, settings.client.seesRequestSent || record.tokensAfterCancel > 0))
    return true
  }

  /// Records that are complete. `isLast`: no more is waited for than half a second.
  mutating func settle(_ mock: MockProcess?, isLast: Bool) -> [SessionRecord] {
    guard !waiting.isEmpty else { return [] }
    let deadline = Instant.now() + .milliseconds(500)
    var done: [SessionRecord] = []
    repeat {
      if Instant.now() < nextQuestion && !isLast { return done }
      nextQuestion = Instant.now() + .milliseconds(isLast ? 10 : 100)
      ask(mock)
      waiting.removeAll { entry in
        var record = entry.record
        let cancelled = origin.nanoseconds + record.end - record.cancelToClose
        guard let closed = closes[record.session], closed >= cancelled else { return false }
        record.cancelToClose = closed - cancelled
        closes[record.session] = nil
        done.append(record)
        return true
      }
      if isLast && !waiting.isEmpty { usleep(10_000) }
    } while isLast && !waiting.isEmpty && Instant.now() < deadline
    if isLast {
      for entry in waiting {
        var record = entry.record
        if !entry.stackTells { record.cancelToClose = -1 }
        done.append(record)
      }
      waiting = []
      closes = [:]
    }
    return done
  }

  private mutating func ask(_ mock: MockProcess?) {
    guard let mock, mock.isRunning, let answer = mock.ask("closes")?["closes"]?.asObject else { return }
    for pair in answer.pairs {
      if let session = Int64(pair.key), let at = pair.value.asInt { closes[session] = Int64(at) }
    }
  }
}
