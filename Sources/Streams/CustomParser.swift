// The mode `custom`: records and fields with separators of the user's own; what a user writes an `EventParser` of recouse/EventSource for. A record
// has the fields of the format in order, the last takes the rest; what a record lacks is nil; empty records are no events; the last
// record needs no separator. Nothing of the standard applies: no comments, no BOM, no sticky id.

internal import CStreams

final class CustomParser: ModelParser {
  private let record: [UInt8]
  private let field: [UInt8]
  private var held = CStreams_Bytes()
  /// What of `held` has been searched for a separator.
  private var searched = 0

  override init(_ settings: ParserSettings) {
    record = Array(settings.custom.record.utf8)
    field = Array(settings.custom.field.utf8)
    precondition(!record.isEmpty && !field.isEmpty, "the separators of a custom format are not empty")
    super.init(settings)
  }

  deinit { CStreams_release(&held) }

  override func take(_ chunk: UnsafeRawBufferPointer, into sink: inout ErasedSink) throws(StreamError) {
    var chunk = chunk
    var offset = 0
    if held.count > 0 {
      // The unfinished record grows by what of the read it needs; a separator may be cut, too.
      let before = Int(held.count)
      CStreams_append(&held, chunk.baseAddress, chunk.count)
      let whole = UnsafeRawBufferPointer(start: held.bytes, count: Int(held.count))
      guard let end = find(record, in: whole, from: searched) else {
        held.count = UInt32(whole.count)
        searched = max(0, whole.count - record.count + 1)
        try check(whole.count, start: bytes - before)
        return
      }
      try check(end, start: bytes - before)
      deliver(record: UnsafeRawBufferPointer(rebasing: whole[..<end]), &sink)
      offset = end + record.count - before
      CStreams_release(&held)
      searched = 0
      chunk = UnsafeRawBufferPointer(rebasing: chunk[offset...])
    }
    var at = 0
    while let end = find(record, in: chunk, from: at) {
      try check(end - at, start: bytes + offset + at)
      deliver(record: UnsafeRawBufferPointer(rebasing: chunk[at..<end]), &sink)
      at = end + record.count
    }
    try check(chunk.count - at, start: bytes + offset + at)
    if at < chunk.count {
      CStreams_append(&held, chunk.baseAddress! + at, chunk.count - at)
      searched = max(0, Int(held.count) - record.count + 1)
    }
  }

  override package func finish(into sink: inout ErasedSink) throws(StreamError) {
    deliver(record: UnsafeRawBufferPointer(start: held.bytes, count: Int(held.count)), &sink)
    clear()
  }

  override func clear() {
    CStreams_release(&held)
    searched = 0
  }

  override package var heldBytes: Int { Int(held.capacity) }

  private func check(_ count: Int, start: Int) throws(StreamError) {
    if count > settings.lineLimit {
      throw .lineTooLong(limit: settings.lineLimit, atByte: start + settings.lineLimit)
    }
  }

  private func deliver(record: UnsafeRawBufferPointer, _ sink: inout ErasedSink) {
    if record.isEmpty { return }
    var event = EventSlices(data: nothing, type: nothing, lastEventID: nothing, fields: [])
    var at = 0
    for (index, name) in settings.custom.fields.enumerated() {
      let isLast = index == settings.custom.fields.count - 1
      let end = isLast ? record.count : find(field, in: record, from: at) ?? record.count
      let value = UnsafeRawBufferPointer(rebasing: record[at..<end])
      switch name {
      case "data": (event.data, event.fields) = (value, event.fields.union(.data))
      case "event": (event.type, event.fields) = (value, event.fields.union(.type))
      case "id": (event.lastEventID, event.fields) = (value, event.fields.union([.lastEventID, .ownID]))
      case "time": (event.time, event.fields) = (value, event.fields.union(.time))
      default: break
      }
      at = end + field.count
      if at > record.count { break }
    }
    deliver(event, to: &sink)
  }

  /// The first `needle` at or after `from`.
  private func find(_ needle: [UInt8], in text: UnsafeRawBufferPointer, from: Int) -> Int? {
    var at = from
    while let hit = Streams.find(needle[0], in: text, from: at), hit + needle.count <= text.count {
      if text[hit..<(hit + needle.count)].elementsEqual(needle) { return hit }
      at = hit + 1
    }
    return nil
  }
}
