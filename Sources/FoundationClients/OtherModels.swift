// Codable models of Anthropic's, Google's and Ollama's events, and of plain ones.

internal import Primitives
internal import Streams

struct PlainEvent: Decodable {
  var text: String?

  func reading() -> EventReading {
    var reading = EventReading()
    if let text = text { reading.contents = [EventReading.Text(choice: 0, text: text)] }
    return reading
  }
}

struct AnthropicEvent: Decodable {
  struct Delta: Decodable {
    var text: String?
    var thinking: String?
    var partialJSON: String?
    var stopReason: String?

    enum CodingKeys: String, CodingKey {
      case text, thinking
      case partialJSON = "partial_json"
      case stopReason = "stop_reason"
    }
  }

  struct Block: Decodable {
    var type: String?
    var text: String?
    var thinking: String?
    var id: String?
    var name: String?
  }

  struct Usage: Decodable {
    var inputTokens: Int?
    var outputTokens: Int?
    var cacheRead: Int?

    enum CodingKeys: String, CodingKey {
      case inputTokens = "input_tokens"
      case outputTokens = "output_tokens"
      case cacheRead = "cache_read_input_tokens"
    }

    var counts: TokenUsage {
      TokenUsage(input: inputTokens ?? -1, output: outputTokens ?? -1, cached: cacheRead ?? -1)
    }
  }

  struct Message: Decodable {
    var model: String?
    var usage: Usage?
  }

  var type: String?
  var index: Int?
  var delta: Delta?
  var contentBlock: Block?
  var message: MessageOrText?
  var usage: Usage?
  var error: ErrorMember?
  var detail: String?
  var code: AnyScalar?

  enum CodingKeys: String, CodingKey {
    case type, index, delta, message, usage, error, detail, code
    case contentBlock = "content_block"
  }

  /// The message that starts, or, in an error without an `error` member, its text.
  struct MessageOrText: Decodable {
    var message: Message?
    var text: String?

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      text = try container.decodeIfOfType(String.self)
      if text == nil { message = try container.decodeIfOfType(Message.self) }
    }
  }

  func reading(eventType: String) -> EventReading {
    var reading = EventReading()
    let type = type ?? eventType
    func add(_ text: String?, to list: inout [EventReading.Text]) {
      if let text { list.append(EventReading.Text(choice: 0, text: text)) }
    }
    switch type {
    case "content_block_delta":
      add(delta?.text, to: &reading.contents)
      add(delta?.thinking, to: &reading.reasonings)
      if let json = delta?.partialJSON {
        reading.tools = [
          EventReading.ToolPiece(choice: 0, index: index ?? 0, id: nil, name: nil, arguments: json)
        ]
      }
    case "content_block_start":
      guard let block = contentBlock else { break }
      add(block.text, to: &reading.contents)
      add(block.thinking, to: &reading.reasonings)
      if ["tool_use", "server_tool_use", "mcp_tool_use"].contains(block.type ?? "") {
        reading.tools = [
          EventReading.ToolPiece(
            choice: 0, index: index ?? 0, id: block.id, name: block.name, arguments: "")
        ]
      }
    case "message_start":
      if let name = message?.message?.model, !name.isEmpty { reading.model = name }
      reading.usage = message?.message?.usage?.counts
      reading.usageIsPartial = true
    case "message_delta":
      if let reason = delta?.stopReason, !reason.isEmpty {
        reading.finishes = [EventReading.Finish(choice: 0, reason: reason)]
      }
      reading.usage = usage?.counts
      reading.usageIsPartial = true
    case "message_stop": reading.terminal = "message_stop"
    default:
      if type == "error" || eventType == "error" || error != nil {
        reading.error =
          error?.failure
          ?? EventReading.Failure(message: message?.text ?? detail, type: self.type, code: code?.json)
      }
    }
    return reading
  }
}

struct GeminiChunk: Decodable {
  struct Candidate: Decodable {
    var index: Int?
    var content: Content?
    var finishReason: String?
  }

  struct Content: Decodable {
    var parts: [Lenient<Part>]?
  }

  struct Part: Decodable {
    struct Call: Decodable {
      var id: String?
      var name: String?
    }

    var text: String?
    var thought: Bool?
    var functionCall: Call?
  }

  struct Usage: Decodable {
    var promptTokenCount: Int?
    var candidatesTokenCount: Int?
    var totalTokenCount: Int?
    var thoughtsTokenCount: Int?
    var cachedContentTokenCount: Int?
  }

  var candidates: [Lenient<Candidate>]?
  var usageMetadata: Usage?
  var modelVersion: String?
  var error: ErrorMember?
  var message: String?
  var type: String?
  var code: AnyScalar?

  func reading(eventType: String, document: OrderedDocument) -> EventReading {
    var reading = EventReading()
    if let name = modelVersion, !name.isEmpty { reading.model = name }
    reading.error = error?.failure
    if reading.error == nil, eventType == "error" {
      reading.error = EventReading.Failure(message: message, type: type, code: code?.json)
    }
    for (position, element) in (candidates ?? []).enumerated() {
      let index = element.value?.index ?? position
      reading.choices.append(index)
      for part in element.value?.content?.parts ?? [] {
        if let text = part.value?.text {
          let piece = EventReading.Text(choice: index, text: text)
          if part.value?.thought == true { reading.reasonings.append(piece) } else { reading.contents.append(piece) }
        }
        if let call = part.value?.functionCall {
          reading.tools.append(
            EventReading.ToolPiece(choice: index, index: nil, id: call.id, name: call.name, arguments: ""))
        }
      }
      if let reason = element.value?.finishReason, !reason.isEmpty {
        reading.finishes.append(EventReading.Finish(choice: index, reason: reason))
      }
    }
    if !reading.tools.isEmpty {
      let arguments = document.arguments { root in
        (root["candidates"]?.asArray ?? []).flatMap { $0["content"]?["parts"]?.asArray ?? [] }
          .compactMap { $0["functionCall"] }.filter { $0.asObject != nil }.map { $0["args"] }
      }
      for (index, text) in zip(reading.tools.indices, arguments) { reading.tools[index].arguments = text }
    }
    if let usage = usageMetadata {
      reading.usage = TokenUsage(
        input: usage.promptTokenCount ?? -1, output: usage.candidatesTokenCount ?? -1,
        total: usage.totalTokenCount ?? -1, reasoning: usage.thoughtsTokenCount ?? -1,
        cached: usage.cachedContentTokenCount ?? -1)
    }
    return reading
  }
}

struct OllamaLine: Decodable {
  struct Message: Decodable {
    struct Call: Decodable {
      struct Function: Decodable {
        var name: String?
      }
      var id: String?
      var function: Function?
    }

    var content: String?
    var thinking: String?
    var toolCalls: [Lenient<Call>]?

    enum CodingKeys: String, CodingKey {
      case content, thinking
      case toolCalls = "tool_calls"
    }
  }

  var model: String?
  var message: Message?
  var response: String?
  var thinking: String?
  var done: Bool?
  var doneReason: String?
  var promptEvalCount: Int?
  var evalCount: Int?
  var error: ErrorMember?

  enum CodingKeys: String, CodingKey {
    case model, message, response, thinking, done, error
    case doneReason = "done_reason"
    case promptEvalCount = "prompt_eval_count"
    case evalCount = "eval_count"
  }

  func reading(document: OrderedDocument) -> EventReading {
    var reading = EventReading()
    if let name = model, !name.isEmpty { reading.model = name }
    reading.error = error?.failure
    for text in [thinking, message?.thinking].compactMap({ $0 }) {
      reading.reasonings.append(EventReading.Text(choice: 0, text: text))
    }
    for text in [response, message?.content].compactMap({ $0 }) {
      reading.contents.append(EventReading.Text(choice: 0, text: text))
    }
    for call in message?.toolCalls ?? [] {
      guard let function = call.value?.function else { continue }
      reading.tools.append(
        EventReading.ToolPiece(choice: 0, index: nil, id: call.value?.id, name: function.name, arguments: ""))
    }
    if !reading.tools.isEmpty {
      let arguments = document.arguments { root in
        (root["message"]?["tool_calls"]?.asArray ?? []).compactMap { $0["function"] }.filter { $0.asObject != nil }
          .map { $0["arguments"] }
      }
      for (index, text) in zip(reading.tools.indices, arguments) { reading.tools[index].arguments = text }
    }
    if let reason = doneReason, !reason.isEmpty {
      reading.finishes = [EventReading.Finish(choice: 0, reason: reason)]
    }
    let usage = TokenUsage(input: promptEvalCount ?? -1, output: evalCount ?? -1)
    if !usage.isEmpty { reading.usage = usage }
    if done == true { reading.terminal = "done:true" }
    return reading
  }
}
