// The mode `lines`: a model of `URLSession.bytes(for:)`, `.lines` and a client that takes what begins with "data: ". The line machine is that
// of Foundation's AsyncLineSequence (as in swift-corelibs-foundation pull request 3036), the rule that of the usual sample code.
//
// Departs from the standard: LF, VT, FF, CR, CRLF, NEL, LS and PS all end a line; there are no empty lines, so no event borders;
// each `data: ` line is an event of its own; the space is required, as a Character of its own; type, id and retry are not looked at;
// a line ended by CR waits for the next byte; the byte after C2, and those after E2 and E2 80, are not examined; the unfinished last
// line counts; no BOM is dropped. The library has no limit; ours is the only addition.

final class LinesModel: ModelParser {
  private enum State { case plain, afterCR, afterC2, afterE2, afterE280 }

  private var state = State.plain
  private var line: [UInt8] = []

  override func take(_ chunk: UnsafeRawBufferPointer, into sink: inout ErasedSink) throws(StreamError) {
    for (offset, byte) in chunk.enumerated() {
      switch state {
      case .plain: take(byte, &sink)
      case .afterCR:
        // The line was complete at the CR, but only now is it handed on.
        flush(&sink)
        state = .plain
        if byte != 0x0A { take(byte, &sink) }
      case .afterC2:
        state = .plain
        if byte == 0x85 {
          flush(&sink)
        } else {
          line.append(0xC2)
          line.append(byte)
        }
      case .afterE2:
        if byte == 0x80 {
          state = .afterE280
        } else {
          state = .plain
          line.append(0xE2)
          line.append(byte)
        }
      case .afterE280:
        state = .plain
        if byte == 0xA8 || byte == 0xA9 {
          flush(&sink)
        } else {
          line.append(0xE2)
          line.append(0x80)
          line.append(byte)
        }
      }
      if line.count > settings.lineLimit {
        throw .lineTooLong(limit: settings.lineLimit, atByte: bytes + offset)
      }
    }
  }

  override package func finish(into sink: inout ErasedSink) throws(StreamError) {
    switch state {
    case .afterC2: line.append(0xC2)
    case .afterE2: line.append(0xE2)
    case .afterE280: line.append(contentsOf: [0xE2, 0x80])
    case .plain, .afterCR: break
    }
    state = .plain
    flush(&sink)
  }

  override func clear() {
    line = []
    state = .plain
  }

  override package var heldBytes: Int { line.capacity }

  private func take(_ byte: UInt8, _ sink: inout ErasedSink) {
    switch byte {
    case 0x0A, 0x0B, 0x0C: flush(&sink)
    case 0x0D: state = .afterCR
    case 0xC2: state = .afterC2
    case 0xE2: state = .afterE2
    default: line.append(byte)
    }
  }

  private func flush(_ sink: inout ErasedSink) {
    if line.isEmpty { return }
    let text = String(decoding: line, as: UTF8.self)
    line.removeAll(keepingCapacity: true)
    guard text.hasPrefix("data: ") else { return }
    var payload = String(text.dropFirst(6))
    payload.withUTF8 { utf8 in
      deliver(
        EventSlices(data: UnsafeRawBufferPointer(utf8), type: nothing, lastEventID: nothing, fields: .data), to: &sink)
    }
  }
}
