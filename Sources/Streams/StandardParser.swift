// The modes `whatwg` and `data-only`. In: the reads of one body, cut anywhere. Out: events as the HTML Standard wants them, sections
// 9.2.5 "Parsing an event stream" and 9.2.6 "Interpreting an event stream", as of 2026. `whatwg` departs from it nowhere but in the size
// limits and in clamping `retry` to Int64; `data-only` takes the standard's lines and blocks but ignores every field except `data`.
//
// How: the C scan writes where the lines of a read end (a whole read per call). A block that is one `data` line and a blank one goes out
// at once, as a slice of the read. Other lines are collected as slices too; only data lines that must be joined are copied, to
// the thread's scratch. What a read leaves unfinished is copied into buffers of the session's own, each byte once, and
// released with the event. Bytes of a long line that is cut already are looked at and copied in one go.

public import CStreams

@usableFromInline
package struct StandardParser: ~Copyable {
  /// What is true between two reads.
  @usableFromInline
  package struct Flags: OptionSet {
    @usableFromInline package let rawValue: UInt8
    @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Only `data` counts.
    @inlinable package static var onlyData: Flags { Flags(rawValue: 1) }
    /// The last read ended in CR: a LF that comes next belongs to it.
    @inlinable package static var afterCR: Flags { Flags(rawValue: 2) }
    /// The body's first bytes are behind us, BOM or not.
    @inlinable package static var pastMark: Flags { Flags(rawValue: 4) }
    /// The unfinished event has data, perhaps empty.
    @inlinable package static var hasData: Flags { Flags(rawValue: 8) }
    /// The unfinished event has an `id`, perhaps empty.
    @inlinable package static var hasID: Flags { Flags(rawValue: 16) }
    /// A limit was passed.
    @inlinable package static var failed: Flags { Flags(rawValue: 32) }
    /// A `retry` was seen.
    @inlinable package static var hasRetry: Flags { Flags(rawValue: 64) }
  }

  /// The line that the last read cut.
  @usableFromInline package var line = CStreams_Bytes()
  /// Data of the unfinished event.
  @usableFromInline package var data = CStreams_Bytes()
  /// Type, then id of the unfinished event.
  @usableFromInline package var names = CStreams_Bytes()
  /// The last event id.
  @usableFromInline package var id = CStreams_Bytes()
  @usableFromInline package var typeCount: UInt32 = 0
  @usableFromInline package let lineLimit: UInt32
  @usableFromInline package let eventLimit: UInt32
  @usableFromInline package var flags: Flags
  /// Bytes of the BOM that have matched so far.
  @usableFromInline package var markCount: UInt8 = 0
  @usableFromInline package var retryValue: Int64 = 0
  @usableFromInline package var bytes = 0
  @usableFromInline package var events = 0

  package init(onlyData: Bool, lineLimit: Int, eventLimit: Int) {
    self.lineLimit = UInt32(lineLimit)
    self.eventLimit = UInt32(eventLimit)
    flags = onlyData ? .onlyData : []
  }

  deinit {
    var (line, data, names, id) = (line, data, names, id)
    CStreams_release(&line)
    CStreams_release(&data)
    CStreams_release(&names)
    CStreams_release(&id)
  }

  package var retry: Int64? { flags.contains(.hasRetry) ? retryValue : nil }
  @inlinable package var lastEventID: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: id.bytes, count: Int(id.count)) }
  package var heldBytes: Int { Int(line.capacity) + Int(data.capacity) + Int(names.capacity) + Int(id.capacity) }

  package mutating func setLastEventID(_ new: UnsafeRawBufferPointer) {
    id.count = 0
    CStreams_append(&id, new.baseAddress, new.count)
  }

  package mutating func reset(keepingLastEventID: Bool) {
    CStreams_release(&line)
    CStreams_release(&data)
    CStreams_release(&names)
    if !keepingLastEventID {
      CStreams_release(&id)
      flags.remove(.hasRetry)
      retryValue = 0
    }
    typeCount = 0
    markCount = 0
    bytes = 0
    events = 0
    flags.formIntersection([.onlyData, .hasRetry])
  }

  @inlinable
  package mutating func feed<Sink: EventSink & ~Copyable>(
    _ chunk: UnsafeRawBufferPointer, into sink: inout Sink
  ) throws(StreamError) {
    var rest = chunk
    if chunk.count <= 256, line.count >= 6, names.count == 0, flags.subtracting([.onlyData, .hasRetry]) == .pastMark {
      let taken = try feedShort(chunk, into: &sink)
      if taken == chunk.count { return }
      rest = UnsafeRawBufferPointer(rebasing: chunk[taken...])
    }
    while rest.count > 0 {
      if line.count >= 512, rest.count >= 512 {
        let taken = feedLong(rest)
        rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
        if rest.count == 0 { return }
      }
      // Positions are 32 bits wide.
      let taken = try feedPart(UnsafeRawBufferPointer(rebasing: rest[..<min(rest.count, 1 << 30)]), into: &sink)
      rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
    }
  }

  /// A short read that goes on with a line where no event is begun, as streams of tokens bring it: it holds no line end, or the end of a
  /// `data` line and of its event, and then most often none. Returns how many bytes are taken; what is not is the general case.
  @inlinable
  mutating func feedShort<Sink: EventSink & ~Copyable>(
    _ chunk: UnsafeRawBufferPointer, into sink: inout Sink
  ) throws(StreamError) -> Int {
    let base = chunk.baseAddress.unsafelyUnwrapped
    let count = chunk.count
    let end = CStreams_line_end(base.assumingMemoryBound(to: UInt8.self), count)
    if end == count {
      if count == 0 { return 0 }
      try keep(rest: base, count, chunk, 0, 0)
      bytes &+= count
      return count
    }
    let length = Int(line.count) &+ end
    if end &+ 1 == count || base.loadUnaligned(fromByteOffset: end, as: UInt16.self) != 0x0A0A
      || !isData(UnsafeRawPointer(line.bytes.unsafelyUnwrapped)) || length > Int(min(lineLimit, eventLimit))
    {
      return 0
    }
    CStreams_append(&line, base, end)
    let start = UnsafeRawPointer(line.bytes.unsafelyUnwrapped)
    let skip = start.load(fromByteOffset: 5, as: UInt8.self) == 0x20 ? 6 : 5
    events &+= 1
    sink.receive(
      EventSlices(
        data: UnsafeRawBufferPointer(start: start + skip, count: length &- skip), type: messageType, lastEventID: lastEventID))
    let taken = end &+ 2
    let rest = count &- taken
    if rest > 0, CStreams_line_end(base.assumingMemoryBound(to: UInt8.self) + taken, rest) != rest {
      line.count = 0
      bytes &+= taken
      return taken
    }
    try keep(rest: base + taken, rest, chunk, taken, length)
    bytes &+= count
    return count
  }

  /// A read that goes on with a long line: what surely belongs to it is looked at and copied at once. Returns how many bytes that was.
  @usableFromInline
  mutating func feedLong(_ chunk: UnsafeRawBufferPointer) -> Int {
    if !flags.isDisjoint(with: [.failed, .afterCR]) { return 0 }
    let room = min(chunk.count, 1 << 16, Int(lineLimit) &- Int(line.count))
    let taken = CStreams_append_quiet(&line, chunk.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self), room)
    bytes &+= taken
    return taken
  }

  /// Returns how many bytes are taken: all, but for the rest of a long line that this read will most likely cut.
  @inlinable
  package mutating func feedPart<Sink: EventSink & ~Copyable>(
    _ chunk: UnsafeRawBufferPointer, into sink: inout Sink
  ) throws(StreamError) -> Int {
    let base = chunk.baseAddress.unsafelyUnwrapped
    var count = chunk.count
    var lineStart = 0
    if flags.intersection([.pastMark, .failed, .afterCR]) != .pastMark { lineStart = try begin(chunk) }
    let bytesAddress = base.assumingMemoryBound(to: UInt8.self)
    // How long the cut line has become that ends in this read.
    var carried = 0
    var scan = CStreams_Scan()
    let scratch = CStreams_begin(bytesAddress, lineStart, count, &scan).unsafelyUnwrapped
    defer { CStreams_return(scratch) }
    let positions = UnsafePointer(scratch.pointee.positions.unsafelyUnwrapped)

    let join = CStreams_join(scratch).unsafelyUnwrapped
    var open = resume()
    var index = 0

    if line.count > 0, scan.found > 0 {
      // The line that the last read cut ends here.
      let end = Int(positions[0])
      index = 1
      let length = Int(line.count) &+ end &- lineStart
      carried = length
      let start = bytes &+ end &- length
      if length > Int(lineLimit) { throw fail(.lineTooLong(limit: Int(lineLimit), atByte: start + Int(lineLimit)), chunk, open) }
      CStreams_append(&line, base + lineStart, end &- lineStart)
      lineStart = next(after: end, base, count)
      var taken = open
      let fits = take(UnsafeRawPointer(line.bytes.unsafelyUnwrapped), length, &taken, join)
      open = taken
      if !fits {
        throw fail(.eventTooLarge(limit: Int(eventLimit), atByte: start), chunk, open)
      }
    }

    let longest = Int(lineLimit)
    let fastLimit = min(longest, Int(eventLimit))
    while true {
      let found = Int(scan.found)
      let hasCR = scan.has_cr
      while index < found {
        if !open.isStarted, !hasCR {
          // Blocks of one data line, one after the other: the usual stream.
          var taken = 0
          while index &+ 1 < found {
            let end = Int(positions[index])
            let length = end &- lineStart
            if Int(positions[index &+ 1]) != end &+ 1 || length < 5 || length > fastLimit { break }
            let start = base + lineStart
            if start.loadUnaligned(as: UInt32.self) != 0x6174_6164 { break }
            // The colon, and what follows it: the line's end at the latest.
            let mark = start.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
            if mark & 0xFF != 0x3A { break }
            let skip = mark == 0x203A ? 6 : 5
            sink.receive(
              EventSlices(
                data: UnsafeRawBufferPointer(start: start + skip, count: length &- skip), type: messageType,
                lastEventID: UnsafeRawBufferPointer(start: open.id, count: open.idCount)))
            taken &+= 1
            lineStart = end &+ 2
            index &+= 2
          }
          events &+= taken
          if index == found { break }
        }
        let end = Int(positions[index])
        index &+= 1
        let start = base + lineStart
        let length = end &- lineStart
        let readable = count &- lineStart
        let before = lineStart
        lineStart = hasCR ? next(after: end, base, count) : end &+ 1
        if length == 0 {
          if open.isStarted { close(&open, join, into: &sink) }
          continue
        }
        if length > longest { throw fail(.lineTooLong(limit: longest, atByte: bytes &+ before &+ longest), chunk, open) }
        if readable >= 8 {
          // No line end is part of a name, so that a name that matches lies in the line.
          let word = start.loadUnaligned(as: UInt64.self)
          if word & 0xFF_FFFF_FFFF == 0x3A_6174_6164 {
            let skip = word &>> 40 & 0xFF == 0x20 ? 6 : 5
            if takeData(start + skip, length &- skip, &open, join) { continue }
            throw fail(.eventTooLarge(limit: Int(eventLimit), atByte: bytes &+ before), chunk, open)
          }
          if flags.contains(.onlyData) && word & 0xFFFF_FFFF != 0x6174_6164 { continue }
          if word & 0xFF_FFFF == 0x3A_6469, length <= 8 {
            let skip = word &>> 24 & 0xFF == 0x20 ? 4 : 3
            let inLine = length == 8 ? word : word | ~0 &<< UInt64(8 &* length)
            if (inLine &- 0x0101_0101_0101_0101) & ~inLine & 0x8080_8080_8080_8080 == 0 {
              open.takeID(start + skip, length &- skip)
            }
            continue
          }
          if word & 0xFFFF_FFFF_FFFF == 0x3A74_6E65_7665 {
            let skip = word &>> 48 & 0xFF == 0x20 ? 7 : 6
            open.takeType(start + skip, length &- skip)
            continue
          }
        }
        var taken = open
        let fits = take(start, length, &taken, join)
        open = taken
        if !fits { throw fail(.eventTooLarge(limit: Int(eventLimit), atByte: bytes &+ before), chunk, open) }
      }
      let scanned = Int(scan.scanned)
      if scanned >= count { break }
      if carried > count &- lineStart, scanned &- lineStart >= 512 {
        // As long as the line that the last read cut, and still no end.
        count = scanned
        break
      }
      // The LF of a CRLF between two scans is not reported again: the scan looks at the byte before.
      scan = CStreams_line_ends(bytesAddress, scanned, count, scratch.pointee.positions)
      index = 0
    }

    keep(open, join)
    try keep(rest: base + lineStart, count &- lineStart, chunk, lineStart, carried)
    bytes &+= count
    return count
  }

  /// Where the line after the one that ends at `end` begins; a CR at the very end of the read is remembered.
  @inlinable @inline(__always)
  mutating func next(after end: Int, _ base: UnsafeRawPointer, _ count: Int) -> Int {
    if base.load(fromByteOffset: end, as: UInt8.self) != 0x0D { return end + 1 }
    if end + 1 == count {
      flags.insert(.afterCR)
      return count
    }
    return base.load(fromByteOffset: end + 1, as: UInt8.self) == 0x0A ? end + 2 : end + 1
  }

  /// Whether five bytes are `data:`.
  @inlinable @inline(__always)
  func isData(_ start: UnsafeRawPointer) -> Bool {
    start.loadUnaligned(as: UInt32.self) == 0x6174_6164 && start.load(fromByteOffset: 4, as: UInt8.self) == 0x3A
  }

  /// What is unusual at the start of a read. Returns where lines begin.
  @usableFromInline
  mutating func begin(_ chunk: UnsafeRawBufferPointer) throws(StreamError) -> Int {
    if flags.contains(.failed) { throw .alreadyFailed }
    var lineStart = 0
    if !flags.contains(.pastMark) { lineStart = skipMark(chunk) }
    if flags.contains(.afterCR), lineStart < chunk.count {
      flags.remove(.afterCR)
      if chunk[lineStart] == 0x0A { lineStart += 1 }
    }
    return lineStart
  }

  /// The first bytes of a body: a BOM, which may come in pieces, is dropped once.
  mutating func skipMark(_ chunk: UnsafeRawBufferPointer) -> Int {
    let mark: (UInt8, UInt8, UInt8) = (0xEF, 0xBB, 0xBF)
    var at = 0
    while at < chunk.count {
      let expected = markCount == 0 ? mark.0 : markCount == 1 ? mark.1 : mark.2
      guard chunk[at] == expected else {
        // Not a BOM: what had matched in earlier reads belongs to the first line.
        flags.insert(.pastMark)
        let earlier = Int(markCount) - at
        if earlier > 0 { CStreams_append(&line, [mark.0, mark.1], earlier) }
        return 0
      }
      at += 1
      markCount += 1
      if markCount == 3 {
        flags.insert(.pastMark)
        return at
      }
    }
    return at
  }

  /// A limit is passed inside a read: the id of the events that went out stays.
  @usableFromInline
  mutating func fail(_ error: StreamError, _ chunk: UnsafeRawBufferPointer, _ open: OpenEvent) -> StreamError {
    if open.hasNewID { keepID(open) }
    return fail(error, chunk)
  }

  @usableFromInline
  mutating func fail(_ error: StreamError, _ chunk: UnsafeRawBufferPointer) -> StreamError {
    flags.insert(.failed)
    bytes &+= chunk.count
    CStreams_release(&line)
    CStreams_release(&data)
    CStreams_release(&names)
    return error
  }

  /// Keeps the line that the end of the read has cut.
  @inlinable
  mutating func keep(
    rest: UnsafeRawPointer, _ size: Int, _ chunk: UnsafeRawBufferPointer, _ lineStart: Int, _ carried: Int
  ) throws(StreamError) {
    // Lines have ended in this read, or there was no cut line before: what `line` holds is used up.
    if lineStart > 0 { line.count = 0 }
    if size == 0, line.count == 0 {
      if line.capacity != 0 { CStreams_release(&line) }
      return
    }
    if Int(line.count) + size > Int(lineLimit) {
      throw fail(.lineTooLong(limit: Int(lineLimit), atByte: bytes + lineStart - Int(line.count) + Int(lineLimit)), chunk)
    }
    // A large buffer stays while the lines that it held are large, too.
    if line.count == 0, line.capacity > 1 << 16, Int(line.capacity) / 8 > max(carried, size) { CStreams_release(&line) }
    // Reads that cut a line once will cut it again: room for a usual one, so that it does not grow step by step.
    if line.capacity == 0, size < 256 { CStreams_reserve(&line, 256) }
    CStreams_append(&line, rest, size)
  }
}
