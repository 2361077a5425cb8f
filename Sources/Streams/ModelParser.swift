// What the modes other than the standard's have in common: an object beside the session, fed the same reads. Slow on purpose
// where what they stand for is slow, so a class and a function pointer do not matter here.

internal import CStreams

@usableFromInline
package class ModelParser {
  package final let settings: ParserSettings
  package final var bytes = 0
  package final var events = 0
  private final var failed = false
  private final var id = CStreams_Bytes()

  init(_ settings: ParserSettings) { self.settings = settings }

  deinit { CStreams_release(&id) }

  @usableFromInline package final func feed(_ chunk: UnsafeRawBufferPointer, into sink: inout ErasedSink) throws(StreamError) {
    if failed { throw .alreadyFailed }
    defer { bytes += chunk.count }
    if chunk.count == 0 { return }
    do {
      try take(chunk, into: &sink)
    } catch {
      failed = true
      clear()
      throw error
    }
  }

  /// One read, whole; never empty.
  func take(_ chunk: UnsafeRawBufferPointer, into sink: inout ErasedSink) throws(StreamError) {
    preconditionFailure("a model says how it takes a read")
  }

  /// The body has ended.
  @usableFromInline package func finish(into sink: inout ErasedSink) throws(StreamError) {}

  /// Forgets what is unfinished.
  func clear() {}

  package final func reset(keepingLastEventID: Bool) {
    bytes = 0
    events = 0
    failed = false
    if !keepingLastEventID { CStreams_release(&id) }
    clear()
  }

  package final var lastEventID: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: id.bytes, count: Int(id.count)) }

  package final func setLastEventID(_ new: UnsafeRawBufferPointer) {
    id.count = 0
    CStreams_append(&id, new.baseAddress, new.count)
  }

  /// Bytes held for what is unfinished.
  package var heldBytes: Int { 0 }

  final func deliver(_ event: EventSlices, to sink: inout ErasedSink) {
    events += 1
    if event.fields.contains(.lastEventID) { setLastEventID(event.lastEventID) }
    sink.receive(event)
  }
}

var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
