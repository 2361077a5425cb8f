// From an API and a document to the dialect that reads it.

extension JSONDocument {
  /// An event's type: the `type` member of its JSON, or where that is missing, the type that the stream named.
  func type(orNamed event: UnsafeRawBufferPointer) -> JSONWord {
    if let node = member(root, .type), isString(node) { return JSONWord(self, node) }
    return JSONWord(event, or: text)
  }
}

enum Dialect {
  /// Tells everything that an event, a JSON object, says.
  static func read<Facts: FactCollector>(
    _ document: JSONDocument, api: StreamAPI, eventType: UnsafeRawBufferPointer, into facts: inout Facts
  ) {
    let errorEvent = isError(eventType)
    switch api {
    case .openaiChat: OpenAIDialect.read(document, isChat: true, errorEvent: errorEvent, into: &facts)
    case .openaiCompletions: OpenAIDialect.read(document, isChat: false, errorEvent: errorEvent, into: &facts)
    case .openaiResponses:
      OpenAIResponsesDialect.read(
        document, type: document.type(orNamed: eventType), errorEvent: errorEvent, into: &facts)
    case .anthropicMessages:
      AnthropicDialect.read(
        document, type: document.type(orNamed: eventType), errorEvent: errorEvent, into: &facts)
    case .gemini: GeminiDialect.read(document, errorEvent: errorEvent, into: &facts)
    case .ollama: OllamaDialect.read(document, into: &facts)
    case .sse: facts.textIfAny(.content, choice: 0, document.member(document.root, .text), in: document)
    }
  }

  /// Whether the stream itself calls the event an error (`event: error`).
  static func isError(_ type: UnsafeRawBufferPointer) -> Bool {
    type.count == 5 && type.elementsEqual("error".utf8)
  }
}
