// The mode `ndjson`: one JSON text a line, as Ollama sends it. LF alone ends a line, so U+2028 or a lone CR inside a string is data; a CR before
// the LF is white space and taken off; empty lines are no events; one BOM at the start is dropped; a last line without LF counts.
// It has nothing to do with the HTML Standard: an SSE parser finds no event in such a body.

internal import CStreams

final class NDJSONParser: ModelParser {
  private var line = CStreams_Bytes()
  private var isFirst = true

  deinit { CStreams_release(&line) }

  override func take(_ chunk: UnsafeRawBufferPointer, into sink: inout ErasedSink) throws(StreamError) {
    var at = 0
    while let end = find(0x0A, in: chunk, from: at) {
      try check(end - at, lineStart: at)
      if line.count > 0 {
        CStreams_append(&line, chunk.baseAddress! + at, end - at)
        deliver(line: UnsafeRawBufferPointer(start: line.bytes, count: Int(line.count)), &sink)
        line.count = 0
      } else {
        deliver(line: UnsafeRawBufferPointer(rebasing: chunk[at..<end]), &sink)
      }
      at = end + 1
    }
    try check(chunk.count - at, lineStart: at)
    if at < chunk.count {
      CStreams_append(&line, chunk.baseAddress! + at, chunk.count - at)
    } else if line.count == 0, line.capacity > 0 {
      CStreams_release(&line)
    }
  }

  override package func finish(into sink: inout ErasedSink) throws(StreamError) {
    deliver(line: UnsafeRawBufferPointer(start: line.bytes, count: Int(line.count)), &sink)
    CStreams_release(&line)
  }

  override func clear() {
    CStreams_release(&line)
    isFirst = true
  }

  override package var heldBytes: Int { Int(line.capacity) }

  private func check(_ more: Int, lineStart: Int) throws(StreamError) {
    if Int(line.count) + more > settings.lineLimit {
      throw .lineTooLong(limit: settings.lineLimit, atByte: bytes + lineStart - Int(line.count) + settings.lineLimit)
    }
  }

  private func deliver(line: UnsafeRawBufferPointer, _ sink: inout ErasedSink) {
    var text = line[...]
    if isFirst, text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
    isFirst = false
    if text.last == 0x0D { text.removeLast() }
    if text.isEmpty { return }
    deliver(
      EventSlices(data: UnsafeRawBufferPointer(rebasing: text), type: nothing, lastEventID: nothing, fields: .data),
      to: &sink)
  }
}

/// The first `byte` at or after `from`, by memchr.
func find(_ byte: UInt8, in chunk: UnsafeRawBufferPointer, from: Int) -> Int? {
  guard from < chunk.count, let base = chunk.baseAddress else { return nil }
  guard let hit = CStreams_find(base + from, byte, chunk.count - from) else { return nil }
  return hit - base
}
