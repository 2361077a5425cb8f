// What reading events needs beside the event: simdjson's reader and room for text without escapes. One a worker thread.

internal import CSimdjson
internal import CStreams

/// Decoding by code that this target does not know: `FoundationClients` provides it.
package protocol ForeignDecoder: AnyObject {
  /// Reads one event whole; nil where it is not what the API sends.
  func read(_ data: UnsafeRawBufferPointer, eventType: UnsafeRawBufferPointer, api: StreamAPI) -> EventReading?
}

/// Memory shared by all sessions of one thread. Not for two threads at once.
package final class ExtractorScratch {
  /// Reads events for `DecoderKind.foundation`.
  package var foreignDecoder: (any ForeignDecoder)?
  let reader: OpaquePointer
  /// Behind a pointer, so that a collector can hold it without counting references.
  let buffers: UnsafeMutablePointer<TextBuffers>

  package init(foreignDecoder: (any ForeignDecoder)? = nil) {
    reader = CSimdjson_create(JSONKey.list, JSONKey.allCases.count - 1)
    buffers = .allocate(capacity: 1)
    buffers.initialize(to: TextBuffers())
    self.foreignDecoder = foreignDecoder
  }

  deinit {
    CSimdjson_destroy(reader)
    CStreams_release(&buffers.pointee.content)
    CStreams_release(&buffers.pointee.reasoning)
    CStreams_release(&buffers.pointee.arguments)
    CStreams_release(&buffers.pointee.repaired)
    buffers.deallocate()
  }

  /// The document of an event's data; bad UTF-8 is repaired first, as the standard decodes a stream. Nil where it is not JSON.
  func document(_ data: UnsafeRawBufferPointer) -> JSONDocument? {
    guard let base = data.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
    var nodes: UnsafePointer<CSimdjson_Node>?
    let found = CSimdjson_read(reader, base, data.count, &nodes)
    if found > 0, let nodes { return JSONDocument(text: base, nodes: nodes) }
    if found != Int32(CSimdjson_not_utf8) { return nil }
    var text = String(decoding: data, as: UTF8.self)
    buffers.pointee.repaired.count = 0
    text.withUTF8 { CStreams_append(&buffers.pointee.repaired, $0.baseAddress, $0.count) }
    let repaired = buffers.pointee.repaired
    guard CSimdjson_read(reader, repaired.bytes, Int(repaired.count), &nodes) > 0, let nodes else { return nil }
    return JSONDocument(text: UnsafePointer(repaired.bytes), nodes: nodes)
  }
}

/// Room for texts that are not one slice of the event.
struct TextBuffers {
  var content = CStreams_Bytes()
  var reasoning = CStreams_Bytes()
  var arguments = CStreams_Bytes()
  /// An event whose UTF-8 had to be repaired.
  var repaired = CStreams_Bytes()
}
