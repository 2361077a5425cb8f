// Reads in, events out, in any of the modes; one value per session. Knows nothing of sockets and of what an event says.

/// The parser of one stream, owned by its session.
///
/// - Memory: what is inline, plus, only while an event is unfinished, one or two buffers bounded by the limits. The modes that stand for a
///   library hold an object beside it.
/// - A reconnect is `reset(keepingLastEventID: true)`.
@usableFromInline
package struct StreamParser: ~Copyable {
  @usableFromInline package var standard: StandardParser
  @usableFromInline package let model: ModelParser?

  package init(_ settings: ParserSettings) {
    standard = StandardParser(
      onlyData: settings.mode == .dataOnly, lineLimit: settings.lineLimit, eventLimit: settings.eventLimit)
    model =
      switch settings.mode {
      case .whatwg, .dataOnly: nil
      case .eventsource, .eventsourceDataOnly: EventSourceModel(settings)
      case .lines: LinesModel(settings)
      case .ndjson: NDJSONParser(settings)
      case .custom: CustomParser(settings)
      }
  }

  /// Takes one read and hands every event that it completes to `sink`. Allocates nothing for an event that lies in one read (`whatwg`
  /// and `data-only`).
  @inlinable
  package mutating func feed<Sink: EventSink & ~Copyable>(
    _ bytes: UnsafeRawBufferPointer, into sink: inout Sink
  ) throws(StreamError) {
    guard let model else {
      try standard.feed(bytes, into: &sink)
      return
    }
    try feed(bytes, to: model, into: &sink)
  }

  /// The body has ended. In the standard's modes an unfinished event is dropped; the others may deliver one here.
  @inlinable
  package mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(StreamError) {
    guard let model else { return }
    try withErased(&sink) { (erased) throws(StreamError) in try model.finish(into: &erased) }
  }

  @inlinable @inline(never)
  package func feed<Sink: EventSink & ~Copyable>(
    _ bytes: UnsafeRawBufferPointer, to model: ModelParser, into sink: inout Sink
  ) throws(StreamError) {
    try withErased(&sink) { (erased) throws(StreamError) in try model.feed(bytes, into: &erased) }
  }

  /// Back to the state before the first byte, for a new connection.
  package mutating func reset(keepingLastEventID: Bool) {
    standard.reset(keepingLastEventID: keepingLastEventID)
    model?.reset(keepingLastEventID: keepingLastEventID)
  }

  /// The last event id that a reconnect would send. Valid until the parser is used again.
  package var lastEventID: UnsafeRawBufferPointer { model?.lastEventID ?? standard.lastEventID }

  /// Seeds the last event id, as an application may.
  package mutating func setLastEventID(_ id: UnsafeRawBufferPointer) {
    standard.setLastEventID(id)
    model?.setLastEventID(id)
  }

  /// The last valid `retry` value in milliseconds, at most Int64.max; nil where there was none.
  package var retry: Int64? { model == nil ? standard.retry : nil }
  /// Bytes fed since the start or the last reset.
  package var bytes: Int { model?.bytes ?? standard.bytes }
  /// Events handed out since the start or the last reset.
  package var events: Int { model?.events ?? standard.events }
  /// Bytes of heap held for an unfinished event and the last event id.
  package var heldBytes: Int { model?.heldBytes ?? standard.heldBytes }
}

/// A sink behind a pointer, for the models: they are far too slow for a call through a function pointer to matter.
@usableFromInline
package struct ErasedSink: EventSink {
  @usableFromInline let context: UnsafeMutableRawPointer
  @usableFromInline let call: (UnsafeMutableRawPointer, EventSlices) -> Void

  @inlinable
  init(context: UnsafeMutableRawPointer, call: @escaping (UnsafeMutableRawPointer, EventSlices) -> Void) {
    self.context = context
    self.call = call
  }

  @inlinable
  package mutating func receive(_ event: EventSlices) { call(context, event) }
}

@inlinable
package func withErased<Sink: EventSink & ~Copyable>(
  _ sink: inout Sink, _ body: (inout ErasedSink) throws(StreamError) -> Void
) throws(StreamError) {
  try withUnsafeMutablePointer(to: &sink) { (pointer) throws(StreamError) in
    var erased = ErasedSink(context: UnsafeMutableRawPointer(pointer)) { context, event in
      context.assumingMemoryBound(to: Sink.self).pointee.receive(event)
    }
    try body(&erased)
  }
}
