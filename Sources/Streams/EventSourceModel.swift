// The modes `eventsource` and `eventsource-data-only`: a model of the parser in recouse/EventSource 0.1.7 (commit 713f8c0, February 2026),
// mode `.default` and `.dataOnly`, faults included; with `hasBufferFix`, of its pull request 49 (May 2026, known from its text alone),
// which changes what a read costs, not what comes out.
//
// Departs from the standard: a lone CR ends nothing, and a read that holds LF LF and CRLF CRLF is cut at one of the two only; no BOM is
// dropped; empty data is no event; an event needs no data; an `id` is the event's own and never resets; `retry` is an
// unknown field; NUL is allowed in ids; the space after the colon goes only where it is a Character of its own; in data-only mode a
// whole block is one field. Cost: each read copies and searches all that is held, so one large event takes quadratic time.

final class EventSourceModel: ModelParser {
  private var buffer: [UInt8] = []

  private static let lf: UInt8 = 0x0A
  private static let cr: UInt8 = 0x0D
  private static let separators: [[UInt8]] = [[lf, lf], [cr, lf, cr, lf]]

  override func take(_ chunk: UnsafeRawBufferPointer, into sink: inout ErasedSink) throws(StreamError) {
    let work: [UInt8]
    var searchFrom = 0
    if settings.hasBufferFix {
      searchFrom = max(0, buffer.count - 3)
      buffer.append(contentsOf: chunk)
      work = buffer
    } else {
      // A copy of everything held, as `buffer + data` makes it.
      work = Array(buffer[...]) + Array(chunk)
    }
    guard let (separator, end) = Self.lastSeparator(in: work, from: searchFrom) else {
      if !settings.hasBufferFix { buffer = work }
      // The library has no limit.
      if buffer.count > settings.eventLimit { throw .eventTooLarge(limit: settings.eventLimit, atByte: bytes) }
      return
    }
    buffer = Array(work[end...])
    for piece in Self.split(work[..<end], by: separator) {
      if let event = Block(Self.cleaned(piece), isOneField: settings.mode == .eventsourceDataOnly) {
        event.withSlices { deliver($0, to: &sink) }
      }
    }
  }

  override func clear() { buffer = [] }

  override package var heldBytes: Int { buffer.capacity }

  /// The separator whose last occurrence ends later, and where it ends.
  private static func lastSeparator(in work: [UInt8], from: Int) -> (separator: [UInt8], end: Int)? {
    var best: (separator: [UInt8], end: Int)?
    for separator in separators {
      var at = work.count - separator.count
      while at >= from {
        if work[at..<(at + separator.count)].elementsEqual(separator) {
          if at + separator.count > best?.end ?? 0 { best = (separator, at + separator.count) }
          break
        }
        at -= 1
      }
    }
    return best
  }

  /// From left to right, empty pieces left out.
  private static func split(_ bytes: ArraySlice<UInt8>, by separator: [UInt8]) -> [ArraySlice<UInt8>] {
    var pieces: [ArraySlice<UInt8>] = []
    var start = bytes.startIndex
    var at = start
    while at + separator.count <= bytes.endIndex {
      if bytes[at] == separator[0], bytes[at..<(at + separator.count)].elementsEqual(separator) {
        if at > start { pieces.append(bytes[start..<at]) }
        at += separator.count
        start = at
      } else {
        at += 1
      }
    }
    if start < bytes.endIndex { pieces.append(bytes[start...]) }
    return pieces
  }

  /// CR and LF are taken off the end, empty lines out, and CRs off both ends of each line.
  private static func cleaned(_ piece: ArraySlice<UInt8>) -> [UInt8] {
    var piece = piece
    while let last = piece.last, last == cr || last == lf { piece.removeLast() }
    return Array(
      piece.split(separator: lf).map { line in
        var line = line
        while line.first == cr { line.removeFirst() }
        while line.last == cr { line.removeLast() }
        return line
      }.joined(separator: [lf]))
  }
}

/// One cleaned block, read as the library reads it: with Swift Strings, whose prefix test works on Characters.
private struct Block {
  var id: String?
  var event: String?
  var data: String?
  var time: String?
  /// A dictionary, since the library's has one entry for canonically equivalent names.
  var other: [String: String]?

  /// Nil where all fields are empty.
  init?(_ block: [UInt8], isOneField: Bool) {
    let rows = isOneField ? [block[...]] : block.split(separator: 0x0A)
    for row in rows where !row.isEmpty && row.first != 0x3A {
      // Empty parts are left out: `data:` has no value at all, `data: ` an empty one.
      let parts = row.split(separator: 0x3A, maxSplits: 1)
      var value = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : nil
      if let text = value, text.hasPrefix(" ") { value = String(text.dropFirst()) }
      switch String(decoding: parts[0], as: UTF8.self) {
      case "id": id = value
      case "event": event = value
      case "time": time = value
      case "data":
        if let earlier = data { data = earlier + "\n" + (value ?? "") } else { data = value }
      default:
        if !row.contains(0x3A) { other = (other ?? [:]).merging([String(decoding: row, as: UTF8.self): ""]) { $1 } }
      }
    }
    if [id, event, data, time].allSatisfy({ $0?.isEmpty ?? true }) && other?.isEmpty ?? true { return nil }
  }

  /// The block as slices of one buffer, valid during `body`.
  func withSlices(_ body: (EventSlices) -> Void) {
    var text: [UInt8] = []
    var ranges: [Range<Int>] = []
    // Sorted, since a dictionary has no order to keep.
    let names = (other ?? [:]).keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    let fields = [data, event, id, time].map { Array(($0 ?? "").utf8) } + [Array(names.joined(separator: [0xFF]))]
    for field in fields {
      let start = text.count
      text.append(contentsOf: field)
      ranges.append(start..<text.count)
    }
    text.withUnsafeBytes { whole in
      func slice(_ index: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: whole[ranges[index]]) }
      var slices = EventSlices(data: slice(0), type: slice(1), lastEventID: slice(2), fields: [])
      slices.time = slice(3)
      slices.other = slice(4)
      if data != nil { slices.fields.insert(.data) }
      if event != nil { slices.fields.insert(.type) }
      if id != nil { slices.fields.formUnion([.lastEventID, .ownID]) }
      if time != nil { slices.fields.insert(.time) }
      if other != nil { slices.fields.insert(.other) }
      body(slices)
    }
  }
}
