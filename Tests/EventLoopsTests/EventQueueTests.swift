// Readiness of real pipes, and waking from another thread.

import EventLoops
import Foundation
import Primitives
import Testing

@Suite struct EventQueueTests {
  @Test func bytesInAPipe_AreReportedUnderItsToken() throws {
    let queue = try EventQueue()
    let ends = try Self.pipe()
    defer { Self.close(ends) }
    try queue.add(ends.reading, .read, token: 77)

    #expect(try queue.wait(until: .now()).isEmpty)
    Self.write(ends.writing)
    let ready = try Array(queue.wait(until: nil))

    #expect(ready.map(\.token) == [77])
    #expect(ready.first?.isReadable == true)
  }

  @Test func readiness_StaysUntilTheBytesAreRead() throws {
    let queue = try EventQueue()
    let ends = try Self.pipe()
    defer { Self.close(ends) }
    try queue.add(ends.reading, .read, token: 1)
    Self.write(ends.writing)

    #expect(try queue.wait(until: nil).count == 1)
    #expect(try queue.wait(until: nil).count == 1)
    Self.read(ends.reading)
    #expect(try queue.wait(until: .now()).isEmpty)
  }

  @Test func closedWriter_IsReportedAsClosed() throws {
    let queue = try EventQueue()
    let ends = try Self.pipe()
    try queue.add(ends.reading, .read, token: 5)
    Foundation.close(ends.writing)

    #expect(try queue.wait(until: nil).first?.isClosed == true)
    Foundation.close(ends.reading)
  }

  @Test func modifiedInterest_CountsFromThenOn() throws {
    let queue = try EventQueue()
    let ends = try Self.pipe()
    defer { Self.close(ends) }
    try queue.add(ends.writing, [], token: 9)
    #expect(try queue.wait(until: .now()).isEmpty)

    try queue.modify(ends.writing, .write, token: 10)

    #expect(try queue.wait(until: nil).first?.token == 10)
    queue.remove(ends.writing)
    #expect(try queue.wait(until: .now()).isEmpty)
  }

  @Test func wake_EndsAWaitWithoutLimit() throws {
    let queue = try EventQueue()
    Thread.detachNewThread { queue.wake() }

    #expect(try queue.wait(until: nil).isEmpty)
  }

  /// Asserts "not earlier than" on the real clock.
  @Test func wait_DoesNotEndBeforeItsDeadline() throws {
    let queue = try EventQueue()
    let deadline = Instant.now() + .milliseconds(3)

    #expect(try queue.wait(until: deadline).isEmpty)
    #expect(Instant.now() >= deadline)
  }

  @Test func descriptorThatIsNone_IsAnErrorWithItsCall() throws {
    let queue = try EventQueue()

    #expect(throws: EventQueueError.self) { try queue.add(-1, .read, token: 0) }
  }

  private static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(Foundation.pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  private static func close(_ ends: (reading: Int32, writing: Int32)) {
    Foundation.close(ends.reading)
    Foundation.close(ends.writing)
  }

  private static func write(_ descriptor: Int32) {
    var byte: UInt8 = 1
    _ = Foundation.write(descriptor, &byte, 1)
  }

  private static func read(_ descriptor: Int32) {
    var byte: UInt8 = 0
    _ = Foundation.read(descriptor, &byte, 1)
  }
}
