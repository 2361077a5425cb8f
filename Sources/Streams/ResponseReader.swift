// The events of one stream in, the whole answer out: texts, reasoning, tool calls, usage, how it ended. For people and tests (`extract`): it
// keeps everything and allocates freely. A running session uses TokenExtractor alone.

internal import CStreams

/// Puts one stream's answer together.
package struct ResponseReader {
  package struct ToolCall: Equatable, Sendable {
    package var choice: Int
    package var index: Int
    package var id: String?
    package var name: String?
    package var arguments: String
  }

  /// Choices beyond this many are left out.
  package static let choiceLimit = 1024

  package let api: StreamAPI
  package let decoder: DecoderKind
  /// Events read, the end marker too.
  package private(set) var events = 0
  /// Visible text by choice; at least one.
  package private(set) var texts = [""]
  package private(set) var reasoning = ""
  package private(set) var refusal = ""
  package private(set) var toolCalls: [ToolCall] = []
  /// Events that carry visible text, reasoning, argument text; empty ones do not count.
  package private(set) var contentChunks = 0
  package private(set) var reasoningChunks = 0
  package private(set) var toolChunks = 0
  package private(set) var refusalChunks = 0
  /// By choice, like `texts`; nil where none came.
  package private(set) var finishReasons: [String?] = [nil]
  package private(set) var usage: TokenUsage?
  /// The first error of the stream.
  package private(set) var error: EventReading.Failure?
  /// The API's end marker, by its own name, where it came.
  package private(set) var terminal: String?
  package private(set) var model: String?
  /// Events that are not what the API sends.
  package private(set) var undecodable = 0
  /// Index of the first event with visible text, and of the first with any output.
  package private(set) var firstContentEvent: Int?
  package private(set) var firstOutputEvent: Int?

  private let scratch: ExtractorScratch
  private var place = TextPlace()
  private var remembered = EventReading()

  package init(api: StreamAPI, decoder: DecoderKind, scratch: ExtractorScratch) {
    self.api = api
    self.decoder = decoder
    self.scratch = scratch
  }

  package mutating func read(_ event: EventSlices) {
    defer { events += 1 }
    var meaning = EventMeaning()
    if decoder == .scan, place.recall(event.data, event.type, nil, scratch.buffers, &meaning) {
      take(repeated(meaning))
      return
    }
    if EventReader.readWithoutJSON(event.data, event.type, api, decoder, &meaning) {
      if meaning.isTerminal { terminal = api.endsWithDone ? "[DONE]" : String(decoding: event.type, as: UTF8.self) }
      if meaning.hasError { fail(event.data) }
      if meaning.hasContent { take(text: meaning.content) }
      return
    }
    let reading: EventReading?
    if decoder == .foundation, let foreign = scratch.foreignDecoder {
      reading = foreign.read(event.data, eventType: event.type, api: api)
    } else {
      reading = self.reading(event)
    }
    if let reading, api != .sse || !reading.contents.isEmpty {
      take(reading)
    } else if api == .sse {
      take(text: event.data)
    } else if Dialect.isError(event.type) {
      fail(event.data)
    } else {
      undecodable += 1
    }
  }

  /// Everything that an event's JSON says; nil where it is no object.
  private mutating func reading(_ event: EventSlices) -> EventReading? {
    guard let document = scratch.document(event.data), document.isObject(document.root) else { return nil }
    var collector = ReadingCollector()
    Dialect.read(document, api: api, eventType: event.type, into: &collector)
    if decoder == .scan { remember(event, document, collector.reading) }
    return collector.reading
  }

  private mutating func remember(_ event: EventSlices, _ document: JSONDocument, _ reading: EventReading) {
    guard UnsafeRawPointer(document.text) == event.data.baseAddress else { return }
    var meaning = EventMeaning()
    withUnsafeMutablePointer(to: &meaning) { meaning in
      var collector = MeaningCollector(meaning, scratch.buffers)
      Dialect.read(document, api: api, eventType: event.type, into: &collector)
      guard let only = collector.onlyText else { return }
      place.remember(event.data, event.type, document.start(only.node), document.end(only.node), only.kind, nil)
      remembered = reading
    }
  }

  /// The remembered reading with another text.
  private func repeated(_ meaning: EventMeaning) -> EventReading {
    let text = String(decoding: meaning.text, as: UTF8.self)
    var reading = remembered
    for index in reading.contents.indices where !reading.contents[index].text.isEmpty {
      reading.contents[index].text = text
    }
    for index in reading.reasonings.indices where !reading.reasonings[index].text.isEmpty {
      reading.reasonings[index].text = text
    }
    for index in reading.tools.indices where !reading.tools[index].arguments.isEmpty {
      reading.tools[index].arguments = text
    }
    return reading
  }

  private mutating func take(_ reading: EventReading) {
    for choice in reading.choices { reach(choice) }
    for piece in reading.contents where reach(piece.choice) { texts[piece.choice] += piece.text }
    for piece in reading.reasonings { reasoning += piece.text }
    for piece in reading.refusals { refusal += piece.text }
    for piece in reading.tools { take(piece) }
    for finish in reading.finishes where reach(finish.choice) { finishReasons[finish.choice] = finish.reason }
    if reading.hasContent { contentChunks += 1 }
    if reading.hasReasoning { reasoningChunks += 1 }
    if reading.hasToolArguments { toolChunks += 1 }
    if reading.hasRefusal { refusalChunks += 1 }
    if reading.hasContent, firstContentEvent == nil { firstContentEvent = events }
    if reading.hasContent || reading.hasReasoning || reading.hasToolArguments, firstOutputEvent == nil {
      firstOutputEvent = events
    }
    if let reported = reading.usage {
      if reading.usageIsPartial, usage != nil { usage?.merge(reported) } else { usage = reported }
    }
    if error == nil { error = reading.error }
    if let marker = reading.terminal { terminal = marker }
    if model == nil { model = reading.model }
  }

  private mutating func take(text: UnsafeRawBufferPointer) {
    var reading = EventReading()
    reading.contents = [EventReading.Text(choice: 0, text: String(decoding: text, as: UTF8.self))]
    take(reading)
  }

  /// An event that the stream calls an error, without JSON.
  private mutating func fail(_ data: UnsafeRawBufferPointer) {
    if error == nil {
      error = EventReading.Failure(message: String(decoding: data, as: UTF8.self), type: nil, code: nil)
    }
  }

  /// A piece continues the call of the same index, unless it has another id: some servers number all calls 0.
  private mutating func take(_ piece: EventReading.ToolPiece) {
    let index = piece.index ?? toolCalls.count
    let at = toolCalls.lastIndex { call in
      call.choice == piece.choice && call.index == index
        && (piece.id == nil || piece.id == "" || call.id == nil || call.id == piece.id)
    }
    guard piece.index != nil, let at else {
      toolCalls.append(
        ToolCall(choice: piece.choice, index: index, id: piece.id, name: piece.name, arguments: piece.arguments))
      return
    }
    toolCalls[at].arguments += piece.arguments
    if toolCalls[at].id == nil { toolCalls[at].id = piece.id }
    if toolCalls[at].name == nil { toolCalls[at].name = piece.name }
  }

  /// Makes room for a choice; false where it is out of range.
  @discardableResult
  private mutating func reach(_ choice: Int) -> Bool {
    guard choice >= 0, choice < Self.choiceLimit else { return false }
    while texts.count <= choice {
      texts.append("")
      finishReasons.append(nil)
    }
    return true
  }
}
