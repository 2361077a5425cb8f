internal import Primitives
internal import Scenarios

enum Meeting { case goOn, again, leave }

extension MockServer {
  mutating func scheduleServerFaults() {}
  mutating func fireServerTimer(_ timer: Int) {}
  mutating func maySlowlyAccept(_ rate: Double) -> Bool { true }
  mutating func pauseAccepting(until: Int64) {}
  mutating func answerByFault(_ slot: Int, _ request: HTTPRequest, next: Int) -> Bool { false }
  mutating func resume(_ slot: Int, at next: Int, lastID: Int?, now: Int64) -> Int { next }
  mutating func armFaults(_ slot: Int) {}
  func fixedLength(_ slot: Int) -> Int? { nil }
  mutating func meetFaults(_ slot: Int, now: Int64) -> Meeting { .goOn }
  mutating func reachByte(_ slot: Int, itemStart: Int) -> Bool { true }
  mutating func reachTime(_ slot: Int) {}
  mutating func release(_ slot: Int) {}
  mutating func pulse(_ slot: Int) {}
  mutating func dripIsOver(_ slot: Int) {}
}
