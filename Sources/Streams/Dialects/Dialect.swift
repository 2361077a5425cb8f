// From an API and a document to the dialect that reads it.

/// An event's type: the `type` member of its JSON, or where that is missing, the type that the stream named.
struct EventTypeName {
  private let key: JSONDocument.Key

  init(_ document: JSONDocument, event: UnsafeRawBufferPointer) {
    if let node = document.member(document.root, "type"), document.isString(node) {
      let raw = document.raw(node)
      key = JSONDocument.Key(
        raw.baseAddress!.assumingMemoryBound(to: UInt8.self), raw.count, isEscaped: document.isEscaped(node))
    } else if let base = event.baseAddress {
      key = JSONDocument.Key(base.assumingMemoryBound(to: UInt8.self), event.count, isEscaped: false)
    } else {
      key = JSONDocument.Key(document.text, 0, isEscaped: false)
    }
  }

  static func == (name: EventTypeName, text: StaticString) -> Bool { name.key == text }
}

enum Dialect {
  /// Tells everything that the event says. False where it is not what the API sends.
  static func read<Facts: FactCollector>(
    _ document: JSONDocument, api: StreamAPI, eventType: UnsafeRawBufferPointer, into facts: inout Facts
  ) -> Bool {
    guard document.isObject(document.root) else { return false }
    let errorEvent = isError(eventType)
    switch api {
    case .openaiChat: OpenAIDialect.read(document, isChat: true, errorEvent: errorEvent, into: &facts)
    case .openaiCompletions: OpenAIDialect.read(document, isChat: false, errorEvent: errorEvent, into: &facts)
    case .openaiResponses:
      OpenAIResponsesDialect.read(
        document, type: EventTypeName(document, event: eventType), errorEvent: errorEvent, into: &facts)
    case .anthropicMessages:
      AnthropicDialect.read(
        document, type: EventTypeName(document, event: eventType), errorEvent: errorEvent, into: &facts)
    case .gemini: GeminiDialect.read(document, errorEvent: errorEvent, into: &facts)
    case .ollama: OllamaDialect.read(document, into: &facts)
    case .sse: facts.textIfAny(.content, choice: 0, document.member(document.root, "text"), in: document)
    }
    return true
  }

  /// Whether the stream itself calls the event an error (`event: error`).
  static func isError(_ type: UnsafeRawBufferPointer) -> Bool {
    type.count == 5 && type.elementsEqual("error".utf8)
  }
}
