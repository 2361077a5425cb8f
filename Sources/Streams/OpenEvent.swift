// The event that is being put together while one read is looked at: slices of the read, of the session's buffers or of the
// thread's scratch. Lives for one call of `StandardParser.feedPart`.

public import CStreams

@usableFromInline
package struct OpenEvent {
  /// Where the data is.
  @usableFromInline
  package enum Place: UInt8 {
    case nowhere
    /// One line, in the read or in the buffer of the cut line.
    case borrowed
    /// Joined in the thread's scratch.
    case scratch
    /// In the session's buffer, since earlier reads brought some of it.
    case own
  }

  @usableFromInline package var place = Place.nowhere
  @usableFromInline package var hasPendingID = false
  /// Whether the type or the pending id is other than what the session keeps.
  @usableFromInline package var hasNewNames = false
  /// Whether the last event id is other than what the session keeps.
  @usableFromInline package var hasNewID = false
  @usableFromInline package var data: UnsafeRawPointer?
  @usableFromInline package var dataCount = 0
  @usableFromInline package var type: UnsafeRawPointer?
  @usableFromInline package var typeCount = 0
  @usableFromInline package var pendingID: UnsafeRawPointer?
  @usableFromInline package var pendingIDCount = 0
  @usableFromInline package var id: UnsafeRawPointer?
  @usableFromInline package var idCount: Int

  /// Whether a blank line would do anything.
  @inlinable @inline(__always)
  package var isStarted: Bool { place != .nowhere || hasPendingID || typeCount != 0 }

  @inlinable @inline(__always)
  package mutating func takeID(_ value: UnsafeRawPointer, _ count: Int) {
    pendingID = value
    pendingIDCount = count
    hasPendingID = true
    hasNewNames = true
  }

  @inlinable @inline(__always)
  package mutating func takeType(_ value: UnsafeRawPointer, _ count: Int) {
    type = value
    typeCount = count
    hasNewNames = true
  }

  @inlinable @inline(__always)
  package init(id: UnsafeRawPointer?, idCount: Int) {
    self.id = id
    self.idCount = idCount
  }
}

extension StandardParser {
  /// What earlier reads have left unfinished.
  @inlinable @inline(__always)
  func resume() -> OpenEvent {
    var open = OpenEvent(id: UnsafeRawPointer(id.bytes), idCount: Int(id.count))
    if flags.contains(.hasData) { open.place = .own }
    if names.count > 0 || flags.contains(.hasID) {
      open.type = UnsafeRawPointer(names.bytes)
      open.typeCount = Int(typeCount)
      if flags.contains(.hasID) {
        open.hasPendingID = true
        open.pendingID = names.bytes.map { UnsafeRawPointer($0 + Int(typeCount)) }
        open.pendingIDCount = Int(names.count) - Int(typeCount)
      }
    }
    return open
  }

  /// A line that is not blank. False where the event would pass its limit.
  @usableFromInline
  mutating func take(
    _ line: UnsafeRawPointer, _ count: Int, _ open: inout OpenEvent, _ join: UnsafeMutablePointer<CStreams_Bytes>
  ) -> Bool {
    if count >= 5, isData(line) {
      let skip = count > 5 && line.load(fromByteOffset: 5, as: UInt8.self) == 0x20 ? 6 : 5
      return takeData(line + skip, count - skip, &open, join)
    }
    if count == 4, line.loadUnaligned(as: UInt32.self) == 0x6174_6164 { return takeData(line + 4, 0, &open, join) }
    if !flags.contains(.onlyData) { takeOther(line, count, &open) }
    return true
  }

  @inlinable @inline(__always)
  mutating func takeData(
    _ value: UnsafeRawPointer, _ count: Int, _ open: inout OpenEvent, _ join: UnsafeMutablePointer<CStreams_Bytes>
  ) -> Bool {
    let limit = Int(eventLimit)
    switch open.place {
    case .nowhere:
      if count > limit { return false }
      open.data = value
      open.dataCount = count
      open.place = .borrowed
    case .borrowed:
      if open.dataCount &+ 1 &+ count > limit { return false }
      join.pointee.count = 0
      CStreams_join_lines(join, open.data, open.dataCount, value, count)
      open.place = .scratch
    case .scratch:
      if Int(join.pointee.count) &+ 1 &+ count > limit { return false }
      CStreams_append_byte(join, 0x0A)
      CStreams_append(join, value, count)
    case .own:
      if Int(data.count) &+ 1 &+ count > limit { return false }
      CStreams_append_byte(&data, 0x0A)
      CStreams_append(&data, value, count)
    }
    return true
  }

  /// A line other than `data`: comment, event, id, retry or an unknown field. Names are compared byte by byte, as the standard says.
  @inlinable
  mutating func takeOther(_ line: UnsafeRawPointer, _ count: Int, _ open: inout OpenEvent) {
    switch line.load(as: UInt8.self) {
    case UInt8(ascii: "i"):
      guard count >= 2, line.load(fromByteOffset: 1, as: UInt8.self) == UInt8(ascii: "d"),
        let start = valueStart(line, count, after: 2)
      else { return }
      if CStreams_has_nul(line + start, count - start) { return }
      open.takeID(line + start, count - start)
    case UInt8(ascii: "e"):
      guard count >= 5, line.loadUnaligned(as: UInt32.self) == 0x6E65_7665,
        line.load(fromByteOffset: 4, as: UInt8.self) == UInt8(ascii: "t"), let start = valueStart(line, count, after: 5)
      else { return }
      open.takeType(line + start, count - start)
    case UInt8(ascii: "r"):
      guard count >= 5, line.loadUnaligned(as: UInt32.self) == 0x7274_6572,
        line.load(fromByteOffset: 4, as: UInt8.self) == UInt8(ascii: "y"), let start = valueStart(line, count, after: 5)
      else { return }
      takeRetry(line + start, count - start)
    default: break
    }
  }

  /// Where the value begins after a name of `length` bytes; nil where the line's name is longer.
  @inlinable @inline(__always)
  func valueStart(_ line: UnsafeRawPointer, _ count: Int, after length: Int) -> Int? {
    if count == length { return length }
    if line.load(fromByteOffset: length, as: UInt8.self) != 0x3A { return nil }
    if count > length + 1, line.load(fromByteOffset: length + 1, as: UInt8.self) == 0x20 { return length + 2 }
    return length + 1
  }

  /// ASCII digits alone count; more than Int64 holds becomes Int64.max.
  @usableFromInline
  mutating func takeRetry(_ value: UnsafeRawPointer, _ count: Int) {
    if count == 0 { return }
    var number: Int64 = 0
    for index in 0..<count {
      let byte = value.load(fromByteOffset: index, as: UInt8.self)
      guard byte >= 0x30, byte <= 0x39 else { return }
      let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(Int64(byte - 0x30))
      number = overflow || carry ? .max : sum
    }
    retryValue = number
    flags.insert(.hasRetry)
  }

  /// A blank line: the id is committed, and the event goes out if it has data.
  @inlinable @inline(__always)
  mutating func close<Sink: EventSink & ~Copyable>(
    _ open: inout OpenEvent, _ join: UnsafeMutablePointer<CStreams_Bytes>, into sink: inout Sink
  ) {
    var fields: EventSlices.Fields = [.data, .type, .lastEventID]
    if open.hasPendingID {
      fields.insert(.ownID)
      open.id = open.pendingID
      open.idCount = open.pendingIDCount
      open.hasNewID = true
      open.hasPendingID = false
    }
    if open.place != .nowhere {
      let whole: UnsafeRawBufferPointer
      switch open.place {
      case .borrowed: whole = UnsafeRawBufferPointer(start: open.data, count: open.dataCount)
      case .scratch: whole = UnsafeRawBufferPointer(start: join.pointee.bytes, count: Int(join.pointee.count))
      default: whole = UnsafeRawBufferPointer(start: data.bytes, count: Int(data.count))
      }
      let type = open.typeCount == 0 ? messageType : UnsafeRawBufferPointer(start: open.type, count: open.typeCount)
      events &+= 1
      sink.receive(
        EventSlices(
          data: whole, type: type, lastEventID: UnsafeRawBufferPointer(start: open.id, count: open.idCount),
          fields: fields))
      if open.place == .own { data.count = 0 }
      open.place = .nowhere
    }
    open.typeCount = 0
  }

  /// The read ends: what the event has so far is copied out of it, or the buffers are released.
  @inlinable @inline(__always)
  mutating func keep(_ open: OpenEvent, _ join: UnsafeMutablePointer<CStreams_Bytes>) {
    if open.hasNewID { keepID(open) }
    if open.isStarted {
      keepStarted(open, join)
    } else {
      flags.subtract([.hasData, .hasID])
      typeCount = 0
      if data.capacity | names.capacity != 0 {
        CStreams_release(&data)
        CStreams_release(&names)
      }
    }
  }

  @usableFromInline
  mutating func keepID(_ open: OpenEvent) {
    id.count = 0
    CStreams_append(&id, open.id, open.idCount)
  }

  @usableFromInline
  mutating func keepStarted(_ open: OpenEvent, _ join: UnsafeMutablePointer<CStreams_Bytes>) {
    switch open.place {
    case .nowhere: data.count = 0
    case .own: break
    case .borrowed:
      data.count = 0
      CStreams_append(&data, open.data, open.dataCount)
    case .scratch:
      data.count = 0
      CStreams_append(&data, join.pointee.bytes, Int(join.pointee.count))
    }
    if open.place == .nowhere { flags.remove(.hasData) } else { flags.insert(.hasData) }
    if open.hasNewNames || (open.typeCount == 0 && !open.hasPendingID && names.count > 0) {
      // Both may point into the buffer that they replace.
      var fresh = CStreams_Bytes()
      CStreams_append(&fresh, open.type, open.typeCount)
      if open.hasPendingID { CStreams_append(&fresh, open.pendingID, open.pendingIDCount) }
      CStreams_release(&names)
      names = fresh
    }
    typeCount = UInt32(open.typeCount)
    if open.hasPendingID { flags.insert(.hasID) } else { flags.remove(.hasID) }
  }
}

/// `message`, the type of an event that names none.
@inlinable @inline(__always)
package var messageType: UnsafeRawBufferPointer {
  let name: StaticString = "message"
  return UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
}
