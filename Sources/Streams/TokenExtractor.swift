// Events in, meanings out: the end marker, text, usage, errors of one API. A few bytes a session; the memory is the worker's
// (ExtractorScratch). Knows nothing of what came before but, for `scan`, where the last event had its text.

internal import CSimdjson
internal import CStreams

/// Reads the events of one session.
package struct TokenExtractor {
  package let api: StreamAPI
  package let decoder: DecoderKind
  /// What the `scan` decoder remembers of the last plain event.
  private var memory = TextPlace()

  package init(api: StreamAPI, decoder: DecoderKind) {
    self.api = api
    self.decoder = decoder
  }

  /// What `event` says. `stamp`: whether to look for the mock's stamp. Allocates nothing, except with `foundation`.
  package mutating func read(_ event: EventSlices, stamp: Bool, scratch: ExtractorScratch) -> EventMeaning {
    var meaning = EventMeaning()
    read(event, stamp: stamp, scratch: scratch, into: &meaning)
    return meaning
  }

  /// The same, into a fresh `EventMeaning` of the caller's.
  package mutating func read(
    _ event: EventSlices, stamp: Bool, scratch: ExtractorScratch, into meaning: inout EventMeaning
  ) {
    let data = event.data
    guard stamp, let mark = EventStamp(data) else {
      read(data, event.type, nil, scratch, &meaning)
      return
    }
    meaning.stampNumber = mark.number
    meaning.stampCRC = mark.crc
    meaning.stampTime = mark.time
    read(data, event.type, mark.start, scratch, &meaning)
  }

  /// `mark` is where a stamp begins.
  private mutating func read(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ mark: Int?, _ scratch: ExtractorScratch,
    _ meaning: inout EventMeaning
  ) {
    if decoder == .scan, memory.recall(data, type, mark, scratch.buffers, &meaning) { return }
    if decoder == .none || data.count == 0 || data[0] != UInt8(ascii: "{") {
      if EventReader.readWithoutJSON(data, type, api, decoder, &meaning) { return }
    }
    if decoder == .foundation, let foreign = scratch.foreignDecoder {
      let reading = foreign.read(data, eventType: type, api: api)
      meaning.take(reading, api, data, type, scratch.buffers)
      return
    }
    guard let document = scratch.document(data), document.isObject(document.root) else {
      EventReader.markUndecodable(data, type, api, &meaning)
      return
    }
    withUnsafeMutablePointer(to: &meaning) { meaning in
      var collector = MeaningCollector(meaning, scratch.buffers)
      Dialect.read(document, api: api, eventType: type, into: &collector)
      collector.finish()
      if api == .sse, !meaning.pointee.hasContent { EventReader.takePlainText(data, document, &meaning.pointee) }
      if decoder == .scan, let only = collector.onlyText, UnsafeRawPointer(document.text) == data.baseAddress {
        let kind = meaning.pointee.flags.contains(.toolCall) ? only.kind.union(.toolCall) : only.kind
        memory.remember(data, type, document.start(only.node), document.end(only.node), kind, mark)
      }
    }
  }
}

/// Where the last plain event had its text: the type, all bytes before the text and all after it, up to the stamp, are the same in the next event or nothing
/// is concluded. Since the event that is remembered was read whole, equal surroundings mean equal structure: the bytes between
/// are one JSON string.
struct TextPlace {
  private var hash: UInt64 = 0
  /// Bytes before the text; 0 when nothing is remembered.
  private var before: UInt32 = 0
  /// Bytes from the text's closing quote to the end, or to the comma before the stamp.
  private var after: UInt32 = 0
  private var kind: EventMeaning.Flags = []

  mutating func remember(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ start: Int, _ end: Int, _ kind: EventMeaning.Flags,
    _ mark: Int?
  ) {
    let limit = mark ?? data.count
    guard end < limit, limit - end < 4096, start < 4096 else { return }
    before = UInt32(start)
    after = UInt32(limit - end)
    self.kind = kind
    hash = surroundings(data, type, end, mark != nil)
  }

  func recall(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ mark: Int?,
    _ buffers: UnsafeMutablePointer<TextBuffers>, _ meaning: inout EventMeaning
  ) -> Bool {
    let start = Int(before)
    let limit = mark ?? data.count
    let end = limit - Int(after)
    guard start > 0, end > start else { return false }
    let base = data.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
    guard base[end] == UInt8(ascii: "\""), surroundings(data, type, end, mark != nil) == hash else { return false }
    var allASCII = true
    let count = end - start
    let plain = CStreams_string_end(base + start, count, &allASCII)
    var text = UnsafeRawBufferPointer(start: base + start, count: count)
    if plain < count {
      // A quote or a control character inside would mean another structure.
      guard isOneString(base + start, count) else { return false }
      text = unescaped(base + start, count, &buffers.pointee.content)
      allASCII = false
    }
    if !allASCII, !CSimdjson_is_utf8(base + start, count) { return false }
    meaning.flags = kind
    if kind.contains(.content) { meaning.content = text }
    if kind.contains(.reasoning) { meaning.reasoning = text }
    if kind.contains(.toolArguments) { meaning.toolArguments = text }
    return true
  }

  private func surroundings(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ end: Int, _ isStamped: Bool
  ) -> UInt64 {
    let base = data.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
    let name = CStreams_hash(type.baseAddress?.assumingMemoryBound(to: UInt8.self), type.count, UInt64(before) << 1 | (isStamped ? 1 : 0))
    return CStreams_hash(base + end, Int(after), CStreams_hash(base, Int(before), name))
  }

  /// Whether the bytes are the content of one JSON string with valid escapes.
  private func isOneString(_ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    var at = 0
    var ignored = true
    while at < count {
      at += CStreams_string_end(start + at, count - at, &ignored)
      if at >= count { break }
      guard start[at] == UInt8(ascii: "\\"), at + 1 < count else { return false }
      at += 2
    }
    return CSimdjson_has_valid_escapes(start, count)
  }

  private func unescaped(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ buffer: inout CStreams_Bytes
  ) -> UnsafeRawBufferPointer {
    if Int(buffer.capacity) < count { CStreams_reserve(&buffer, count) }
    let room = buffer.bytes.unsafelyUnwrapped
    return UnsafeRawBufferPointer(start: room, count: CSimdjson_unescape(start, count, room))
  }
}

/// What can be said of an event without its JSON, and of one whose JSON cannot be read.
enum EventReader {
  /// Reads events that are no JSON by rule; false for all others.
  static func readWithoutJSON(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ api: StreamAPI, _ decoder: DecoderKind,
    _ meaning: inout EventMeaning
  ) -> Bool {
    let text = trimmed(data)
    if text.isEmpty, api != .sse || data.isEmpty { return true }
    if api != .sse, isDone(text) {
      if api.endsWithDone { meaning.flags = .terminal }
      return true
    }
    if decoder == .none {
      switch api {
      case .anthropicMessages where type.elementsEqual("message_stop".utf8): meaning.flags = .terminal
      case .openaiResponses where isResponsesEnd(type): meaning.flags = .terminal
      default: meaning.flags = Dialect.isError(type) && api != .sse ? .error : .content
      }
      return true
    }
    if api == .sse, text.first != UInt8(ascii: "{") {
      takePlainText(data, nil, &meaning)
      return true
    }
    return false
  }

  /// JSON that cannot be read: an error that the stream names, plain text, or undecodable.
  static func markUndecodable(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ api: StreamAPI, _ meaning: inout EventMeaning
  ) {
    if api == .sse {
      takePlainText(data, nil, &meaning)
    } else {
      meaning.flags.insert(Dialect.isError(type) ? .error : .undecodable)
    }
  }

  /// A plain event: all of its data is its text. An object that has a `text`, an empty one, has none.
  static func takePlainText(_ data: UnsafeRawBufferPointer, _ document: JSONDocument?, _ meaning: inout EventMeaning) {
    if let document, let text = document.member(document.root, .text), document.isString(text) { return }
    if data.count > 0 {
      meaning.flags.insert(.content)
      meaning.content = data
    }
  }

  static func trimmed(_ data: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
    var text = data[...]
    while let first = text.first, isBlank(first) { text.removeFirst() }
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  static func isDone(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
    text.count == 6 && text.elementsEqual("[DONE]".utf8)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }

  private static func isResponsesEnd(_ type: UnsafeRawBufferPointer) -> Bool {
    ["response.completed", "response.incomplete", "response.failed"].contains { type.elementsEqual($0.utf8) }
  }
}

extension EventMeaning {
  /// From a foreign decoder's reading.
  mutating func take(
    _ reading: EventReading?, _ api: StreamAPI, _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer,
    _ buffers: UnsafeMutablePointer<TextBuffers>
  ) {
    guard let reading else {
      EventReader.markUndecodable(data, type, api, &self)
      return
    }
    func gather(_ pieces: [String], _ buffer: inout CStreams_Bytes) -> UnsafeRawBufferPointer {
      buffer.count = 0
      for var piece in pieces { piece.withUTF8 { CStreams_append(&buffer, $0.baseAddress, $0.count) } }
      return UnsafeRawBufferPointer(start: buffer.bytes, count: Int(buffer.count))
    }
    if reading.hasContent {
      flags.insert(.content)
      content = gather(reading.contents.map(\.text), &buffers.pointee.content)
    }
    if reading.hasReasoning {
      flags.insert(.reasoning)
      reasoning = gather(reading.reasonings.map(\.text), &buffers.pointee.reasoning)
    }
    if reading.hasToolArguments {
      flags.insert(.toolArguments)
      toolArguments = gather(reading.tools.map(\.arguments), &buffers.pointee.arguments)
    }
    if !reading.tools.isEmpty { flags.insert(.toolCall) }
    if reading.hasRefusal { flags.insert(.refusal) }
    if reading.terminal != nil { flags.insert(.terminal) }
    if reading.error != nil { flags.insert(.error) }
    if !reading.finishes.isEmpty { flags.insert(.finish) }
    if let reported = reading.usage {
      flags.insert(.usage)
      usage = reported
    }
    if var name = reading.model {
      flags.insert(.model)
      name.withUTF8 { bytes in
        buffers.pointee.repaired.count = 0
        CStreams_append(&buffers.pointee.repaired, bytes.baseAddress, bytes.count)
      }
      model = UnsafeRawBufferPointer(start: buffers.pointee.repaired.bytes, count: Int(buffers.pointee.repaired.count))
    }
    if api == .sse, reading.contents.isEmpty { EventReader.takePlainText(data, nil, &self) }
  }
}
