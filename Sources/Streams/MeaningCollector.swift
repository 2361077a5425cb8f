// Collects what a session needs of an event, without allocating: one text is a slice of the event; several, or one with escapes,
// are put together in the scratch.

internal import CSimdjson
internal import CStreams

/// Text of one kind: nothing, one slice, or bytes in a buffer.
private struct Gathered {
  var slice = nothing
  var isInBuffer = false
  var pieces = 0
  var node: JSONDocument.Node?

  mutating func add(_ node: JSONDocument.Node, _ document: JSONDocument, _ buffer: inout CStreams_Bytes) {
    let raw = document.raw(node)
    if raw.count == 0 { return }
    pieces += 1
    self.node = node
    if pieces == 1 {
      if !document.isEscaped(node) {
        slice = raw
        return
      }
      buffer.count = 0
    } else if !isInBuffer {
      buffer.count = 0
      CStreams_append(&buffer, slice.baseAddress, slice.count)
    }
    isInBuffer = true
    if Int(buffer.capacity) - Int(buffer.count) < raw.count { CStreams_reserve(&buffer, raw.count) }
    let room = buffer.bytes! + Int(buffer.count)
    let start = raw.baseAddress!.assumingMemoryBound(to: UInt8.self)
    buffer.count += UInt32(CSimdjson_unescape(start, raw.count, room))
    slice = UnsafeRawBufferPointer(start: buffer.bytes, count: Int(buffer.count))
  }

  mutating func add(_ text: String, _ buffer: inout CStreams_Bytes) {
    pieces += 2
    if !isInBuffer {
      buffer.count = 0
      CStreams_append(&buffer, slice.baseAddress, slice.count)
      isInBuffer = true
    }
    var text = text
    text.withUTF8 { CStreams_append(&buffer, $0.baseAddress, $0.count) }
    slice = UnsafeRawBufferPointer(start: buffer.bytes, count: Int(buffer.count))
  }
}

/// Writes into a meaning that the caller owns, which is too large to be copied about.
struct MeaningCollector: FactCollector {
  private let meaning: UnsafeMutablePointer<EventMeaning>
  private let buffers: UnsafeMutablePointer<TextBuffers>
  private var content = Gathered()
  private var reasoning = Gathered()
  private var arguments = Gathered()
  /// Whether nothing was said that a remembered place could not repeat.
  private var isPlain = true

  init(_ meaning: UnsafeMutablePointer<EventMeaning>, _ buffers: UnsafeMutablePointer<TextBuffers>) {
    self.meaning = meaning
    self.buffers = buffers
  }

  /// Hands over the texts.
  mutating func finish() {
    if content.slice.count > 0 {
      meaning.pointee.flags.insert(.content)
      meaning.pointee.content = content.slice
    }
    if reasoning.slice.count > 0 {
      meaning.pointee.flags.insert(.reasoning)
      meaning.pointee.reasoning = reasoning.slice
    }
    if arguments.slice.count > 0 {
      meaning.pointee.flags.insert(.toolArguments)
      meaning.pointee.toolArguments = arguments.slice
    }
  }

  /// The string that is all that this event says, and its kind: what the next event may have at the same place.
  var onlyText: (node: JSONDocument.Node, kind: EventMeaning.Flags)? {
    guard isPlain, content.pieces + reasoning.pieces + arguments.pieces == 1 else { return nil }
    if let node = content.node { return (node, .content) }
    if let node = reasoning.node { return (node, .reasoning) }
    if let node = arguments.node { return (node, .toolArguments) }
    return nil
  }

  mutating func choice(_ index: Int) {}

  mutating func text(_ kind: TextKind, choice: Int, _ node: JSONDocument.Node, in document: JSONDocument) {
    switch kind {
    case .content: content.add(node, document, &buffers.pointee.content)
    case .reasoning: reasoning.add(node, document, &buffers.pointee.reasoning)
    case .refusal:
      if !document.isEmptyString(node) {
        meaning.pointee.flags.insert(.refusal)
        isPlain = false
      }
    }
  }

  mutating func tool(
    choice: Int, index: Int?, id: JSONDocument.Node?, name: JSONDocument.Node?, arguments: ToolArguments,
    in document: JSONDocument
  ) {
    meaning.pointee.flags.insert(.toolCall)
    switch arguments {
    case .none: isPlain = false
    case .text(let node): self.arguments.add(node, document, &buffers.pointee.arguments)
    case .value(let node): self.arguments.add(document.compact(node), &buffers.pointee.arguments)
    }
  }

  mutating func finish(choice: Int, _ reason: JSONDocument.Node, in document: JSONDocument) {
    meaning.pointee.flags.insert(.finish)
    isPlain = false
  }

  mutating func usage(_ usage: TokenUsage, isPartial: Bool) {
    meaning.pointee.flags.insert(.usage)
    meaning.pointee.usage = usage
    isPlain = false
  }

  mutating func error(
    message: JSONDocument.Node?, type: JSONDocument.Node?, code: JSONDocument.Node?, in document: JSONDocument
  ) {
    meaning.pointee.flags.insert(.error)
    isPlain = false
  }

  mutating func model(_ node: JSONDocument.Node, in document: JSONDocument) {
    meaning.pointee.flags.insert(.model)
    meaning.pointee.model = document.raw(node)
  }

  mutating func terminal(_ marker: StaticString) {
    meaning.pointee.flags.insert(.terminal)
    isPlain = false
  }
}
