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
    let data = event.data
    let mark = stamp ? EventStamp(data) : nil
    var meaning = meaning(data, event.type, mark, scratch)
    if let mark {
      meaning.stampNumber = mark.number
      meaning.stampCRC = mark.crc
      meaning.stampTime = mark.time
    }
    return meaning
  }

  private mutating func meaning(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ mark: EventStamp?, _ scratch: ExtractorScratch
  ) -> EventMeaning {
    if decoder == .scan, let meaning = memory.recall(data, type, mark, scratch) { return meaning }
    if let meaning = EventReader.withoutJSON(data, type, api, decoder) { return meaning }
    if decoder == .foundation, let foreign = scratch.foreignDecoder {
      return EventMeaning(foreign.read(data, eventType: type, api: api), api, data, type, scratch)
    }
    guard let document = scratch.document(data) else { return EventReader.undecodable(data, type, api) }
    var collector = MeaningCollector(scratch)
    guard Dialect.read(document, api: api, eventType: type, into: &collector) else {
      return EventReader.undecodable(data, type, api)
    }
    let meaning = collector.finished()
    if api == .sse, !meaning.hasContent { return EventReader.plainText(data, document) }
    if decoder == .scan, let only = collector.onlyText, document.text == data.baseAddress?.assumingMemoryBound(to: UInt8.self) {
      let kind = meaning.flags.contains(.toolCall) ? only.kind.union(.toolCall) : only.kind
      memory.remember(data, type, document.start(only.node), document.end(only.node), kind, mark)
    }
    return meaning
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
    _ mark: EventStamp?
  ) {
    let limit = mark?.start ?? data.count
    guard end < limit, limit - end < 4096, start < 4096 else { return }
    before = UInt32(start)
    after = UInt32(limit - end)
    self.kind = kind
    hash = surroundings(data, type, end, mark != nil)
  }

  func recall(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ mark: EventStamp?, _ scratch: ExtractorScratch
  ) -> EventMeaning? {
    let start = Int(before)
    let limit = mark?.start ?? data.count
    let end = limit - Int(after)
    guard start > 0, end > start else { return nil }
    let base = data.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
    guard base[end] == UInt8(ascii: "\""), surroundings(data, type, end, mark != nil) == hash else { return nil }
    var allASCII = true
    let count = end - start
    let plain = CStreams_string_end(base + start, count, &allASCII)
    var text = UnsafeRawBufferPointer(start: base + start, count: count)
    if plain < count {
      // A quote or a control character inside would mean another structure.
      guard isOneString(base + start, count) else { return nil }
      let isTool = kind.contains(.toolArguments)
      let isReasoning = kind.contains(.reasoning)
      text = unescaped(base + start, count, isTool ? \.arguments : isReasoning ? \.reasoning : \.content, scratch)
      allASCII = false
    }
    if !allASCII, !CSimdjson_is_utf8(base + start, count) { return nil }
    var meaning = EventMeaning()
    meaning.flags = kind
    if kind.contains(.content) { meaning.content = text }
    if kind.contains(.reasoning) { meaning.reasoning = text }
    if kind.contains(.toolArguments) { meaning.toolArguments = text }
    return meaning
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
    _ start: UnsafePointer<UInt8>, _ count: Int, _ buffer: ReferenceWritableKeyPath<ExtractorScratch, CStreams_Bytes>,
    _ scratch: ExtractorScratch
  ) -> UnsafeRawBufferPointer {
    scratch[keyPath: buffer].count = 0
    if Int(scratch[keyPath: buffer].capacity) < count { CStreams_reserve(&scratch[keyPath: buffer], count) }
    let room = scratch[keyPath: buffer].bytes.unsafelyUnwrapped
    return UnsafeRawBufferPointer(start: room, count: CSimdjson_unescape(start, count, room))
  }
}

/// What can be said of an event without its JSON, and of one whose JSON cannot be read.
enum EventReader {
  /// The meaning of events that are no JSON by rule; nil for all others.
  static func withoutJSON(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ api: StreamAPI, _ decoder: DecoderKind
  ) -> EventMeaning? {
    var meaning = EventMeaning()
    let text = trimmed(data)
    if text.isEmpty, api != .sse || data.isEmpty { return meaning }
    if api != .sse, isDone(text) {
      if api.endsWithDone { meaning.flags = .terminal }
      return meaning
    }
    if decoder == .none {
      switch api {
      case .anthropicMessages where type.elementsEqual("message_stop".utf8): meaning.flags = .terminal
      case .openaiResponses where isResponsesEnd(type): meaning.flags = .terminal
      default: meaning.flags = Dialect.isError(type) && api != .sse ? .error : .content
      }
      return meaning
    }
    if api == .sse, text.first != UInt8(ascii: "{") { return plainText(data, nil) }
    return nil
  }

  /// JSON that cannot be read: an error that the stream names, plain text, or undecodable.
  static func undecodable(
    _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer, _ api: StreamAPI
  ) -> EventMeaning {
    if api == .sse { return plainText(data, nil) }
    var meaning = EventMeaning()
    meaning.flags = Dialect.isError(type) ? .error : .undecodable
    return meaning
  }

  /// A plain event: all of its data is its text. An object that has a `text`, an empty one, has none.
  static func plainText(_ data: UnsafeRawBufferPointer, _ document: JSONDocument?) -> EventMeaning {
    var meaning = EventMeaning()
    if let document, let text = document.member(document.root, "text"), document.isString(text) { return meaning }
    if data.count > 0 {
      meaning.flags = .content
      meaning.content = data
    }
    return meaning
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
  init(
    _ reading: EventReading?, _ api: StreamAPI, _ data: UnsafeRawBufferPointer, _ type: UnsafeRawBufferPointer,
    _ scratch: ExtractorScratch
  ) {
    guard let reading else {
      self = EventReader.undecodable(data, type, api)
      return
    }
    self.init()
    func gather(_ pieces: [String], _ buffer: ReferenceWritableKeyPath<ExtractorScratch, CStreams_Bytes>) -> UnsafeRawBufferPointer {
      scratch[keyPath: buffer].count = 0
      for var piece in pieces {
        piece.withUTF8 { CStreams_append(&scratch[keyPath: buffer], $0.baseAddress, $0.count) }
      }
      return UnsafeRawBufferPointer(start: scratch[keyPath: buffer].bytes, count: Int(scratch[keyPath: buffer].count))
    }
    if reading.hasContent { (flags, content) = (flags.union(.content), gather(reading.contents.map(\.text), \.content)) }
    if reading.hasReasoning {
      (flags, reasoning) = (flags.union(.reasoning), gather(reading.reasonings.map(\.text), \.reasoning))
    }
    if reading.hasToolArguments {
      (flags, toolArguments) = (flags.union(.toolArguments), gather(reading.tools.map(\.arguments), \.arguments))
    }
    if !reading.tools.isEmpty { flags.insert(.toolCall) }
    if reading.hasRefusal { flags.insert(.refusal) }
    if reading.terminal != nil { flags.insert(.terminal) }
    if reading.error != nil { flags.insert(.error) }
    if !reading.finishes.isEmpty { flags.insert(.finish) }
    if let reported = reading.usage { (flags, usage) = (flags.union(.usage), reported) }
    if var name = reading.model {
      flags.insert(.model)
      name.withUTF8 { bytes in
        scratch.repaired.count = 0
        CStreams_append(&scratch.repaired, bytes.baseAddress, bytes.count)
      }
      model = UnsafeRawBufferPointer(start: scratch.repaired.bytes, count: Int(scratch.repaired.count))
    }
    if api == .sse, !hasContent, reading.contents.isEmpty, data.count > 0 { (flags, content) = (.content, data) }
  }
}
