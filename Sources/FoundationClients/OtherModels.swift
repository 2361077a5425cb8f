// Codable models of Anthropic's, Google's and Ollama's events, and of plain ones.

internal import Primitives
internal import Streams

struct PlainEvent: Decodable {
  var text: Lenient<String>?

  func reading() -> EventReading {
    var reading = EventReading()
    if let text = text?.value { reading.contents = [EventReading.Text(choice: 0, text: text)] }
    return reading
  }
}

struct AnthropicEvent: Decodable {
  struct Delta: Decodable {
    var text: Lenient<String>?
    var thinking: Lenient<String>?
    var partialJSON: Lenient<String>?
    var stopReason: Lenient<String>?

    enum CodingKeys: String, CodingKey {
      case text, thinking
      case partialJSON = "partial_json"
      case stopReason = "stop_reason"
    }
  }

  struct Block: Decodable {
    var type: Lenient<String>?
    var text: Lenient<String>?
    var thinking: Lenient<String>?
    var id: Lenient<String>?
    var name: Lenient<String>?
  }

  struct Usage: Decodable {
    var inputTokens: Lenient<Int>?
    var outputTokens: Lenient<Int>?
    var cacheRead: Lenient<Int>?

    enum CodingKeys: String, CodingKey {
      case inputTokens = "input_tokens"
      case outputTokens = "output_tokens"
      case cacheRead = "cache_read_input_tokens"
    }

    var counts: TokenUsage {
      TokenUsage(input: inputTokens?.value ?? -1, output: outputTokens?.value ?? -1, cached: cacheRead?.value ?? -1)
    }
  }

  struct Message: Decodable {
    var model: Lenient<String>?
    var usage: Lenient<Usage>?
  }

  var type: Lenient<String>?
  var index: Lenient<Int>?
  var delta: Lenient<Delta>?
  var contentBlock: Lenient<Block>?
  var message: MessageOrText?
  var usage: Lenient<Usage>?
  var error: ErrorMember?
  var detail: Lenient<String>?
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
      text = try? container.decode(String.self)
      if text == nil { message = try? container.decode(Message.self) }
    }
  }

  func reading(eventType: String) -> EventReading {
    var reading = EventReading()
    let type = type?.value ?? eventType
    func add(_ text: String?, to list: inout [EventReading.Text]) {
      if let text { list.append(EventReading.Text(choice: 0, text: text)) }
    }
    switch type {
    case "content_block_delta":
      add(delta?.value?.text?.value, to: &reading.contents)
      add(delta?.value?.thinking?.value, to: &reading.reasonings)
      if let json = delta?.value?.partialJSON?.value {
        reading.tools = [
          EventReading.ToolPiece(choice: 0, index: index?.value ?? 0, id: nil, name: nil, arguments: json)
        ]
      }
    case "content_block_start":
      guard let block = contentBlock?.value else { break }
      add(block.text?.value, to: &reading.contents)
      add(block.thinking?.value, to: &reading.reasonings)
      if ["tool_use", "server_tool_use", "mcp_tool_use"].contains(block.type?.value ?? "") {
        reading.tools = [
          EventReading.ToolPiece(
            choice: 0, index: index?.value ?? 0, id: block.id?.value, name: block.name?.value, arguments: "")
        ]
      }
    case "message_start":
      if let name = message?.message?.model?.value, !name.isEmpty { reading.model = name }
      reading.usage = message?.message?.usage?.value?.counts
      reading.usageIsPartial = true
    case "message_delta":
      if let reason = delta?.value?.stopReason?.value, !reason.isEmpty {
        reading.finishes = [EventReading.Finish(choice: 0, reason: reason)]
      }
      reading.usage = usage?.value?.counts
      reading.usageIsPartial = true
    case "message_stop": reading.terminal = "message_stop"
    default:
      if type == "error" || eventType == "error" || error != nil {
        reading.error =
          error?.failure
          ?? EventReading.Failure(message: message?.text ?? detail?.value, type: self.type?.value, code: code?.json)
      }
    }
    return reading
  }
}

struct GeminiChunk: Decodable {
  struct Candidate: Decodable {
    var index: Lenient<Int>?
    var content: Lenient<Content>?
    var finishReason: Lenient<String>?
  }

  struct Content: Decodable {
    var parts: Lenient<[Lenient<Part>]>?
  }

  struct Part: Decodable {
    struct Call: Decodable {
      var id: Lenient<String>?
      var name: Lenient<String>?
    }

    var text: Lenient<String>?
    var thought: Lenient<Bool>?
    var functionCall: Lenient<Call>?
  }

  struct Usage: Decodable {
    var promptTokenCount: Lenient<Int>?
    var candidatesTokenCount: Lenient<Int>?
    var totalTokenCount: Lenient<Int>?
    var thoughtsTokenCount: Lenient<Int>?
    var cachedContentTokenCount: Lenient<Int>?
  }

  var candidates: Lenient<[Lenient<Candidate>]>?
  var usageMetadata: Lenient<Usage>?
  var modelVersion: Lenient<String>?
  var error: ErrorMember?
  var message: Lenient<String>?
  var type: Lenient<String>?
  var code: AnyScalar?

  func reading(eventType: String, document: OrderedDocument) -> EventReading {
    var reading = EventReading()
    if let name = modelVersion?.value, !name.isEmpty { reading.model = name }
    reading.error = error?.failure
    if reading.error == nil, eventType == "error" {
      reading.error = EventReading.Failure(message: message?.value, type: type?.value, code: code?.json)
    }
    for (position, element) in (candidates?.value ?? []).enumerated() {
      let index = element.value?.index?.value ?? position
      reading.choices.append(index)
      for part in element.value?.content?.value?.parts?.value ?? [] {
        if let text = part.value?.text?.value {
          let piece = EventReading.Text(choice: index, text: text)
          if part.value?.thought?.value == true { reading.reasonings.append(piece) } else { reading.contents.append(piece) }
        }
        if let call = part.value?.functionCall?.value {
          reading.tools.append(
            EventReading.ToolPiece(choice: index, index: nil, id: call.id?.value, name: call.name?.value, arguments: ""))
        }
      }
      if let reason = element.value?.finishReason?.value, !reason.isEmpty {
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
    if let usage = usageMetadata?.value {
      reading.usage = TokenUsage(
        input: usage.promptTokenCount?.value ?? -1, output: usage.candidatesTokenCount?.value ?? -1,
        total: usage.totalTokenCount?.value ?? -1, reasoning: usage.thoughtsTokenCount?.value ?? -1,
        cached: usage.cachedContentTokenCount?.value ?? -1)
    }
    return reading
  }
}

struct OllamaLine: Decodable {
  struct Message: Decodable {
    struct Call: Decodable {
      struct Function: Decodable {
        var name: Lenient<String>?
      }
      var id: Lenient<String>?
      var function: Lenient<Function>?
    }

    var content: Lenient<String>?
    var thinking: Lenient<String>?
    var toolCalls: Lenient<[Lenient<Call>]>?

    enum CodingKeys: String, CodingKey {
      case content, thinking
      case toolCalls = "tool_calls"
    }
  }

  var model: Lenient<String>?
  var message: Lenient<Message>?
  var response: Lenient<String>?
  var thinking: Lenient<String>?
  var done: Lenient<Bool>?
  var doneReason: Lenient<String>?
  var promptEvalCount: Lenient<Int>?
  var evalCount: Lenient<Int>?
  var error: ErrorMember?

  enum CodingKeys: String, CodingKey {
    case model, message, response, thinking, done, error
    case doneReason = "done_reason"
    case promptEvalCount = "prompt_eval_count"
    case evalCount = "eval_count"
  }

  func reading(document: OrderedDocument) -> EventReading {
    var reading = EventReading()
    if let name = model?.value, !name.isEmpty { reading.model = name }
    reading.error = error?.failure
    for text in [thinking?.value, message?.value?.thinking?.value].compactMap({ $0 }) {
      reading.reasonings.append(EventReading.Text(choice: 0, text: text))
    }
    for text in [response?.value, message?.value?.content?.value].compactMap({ $0 }) {
      reading.contents.append(EventReading.Text(choice: 0, text: text))
    }
    for call in message?.value?.toolCalls?.value ?? [] {
      guard let function = call.value?.function?.value else { continue }
      reading.tools.append(
        EventReading.ToolPiece(choice: 0, index: nil, id: call.value?.id?.value, name: function.name?.value, arguments: ""))
    }
    if !reading.tools.isEmpty {
      let arguments = document.arguments { root in
        (root["message"]?["tool_calls"]?.asArray ?? []).compactMap { $0["function"] }.filter { $0.asObject != nil }
          .map { $0["arguments"] }
      }
      for (index, text) in zip(reading.tools.indices, arguments) { reading.tools[index].arguments = text }
    }
    if let reason = doneReason?.value, !reason.isEmpty {
      reading.finishes = [EventReading.Finish(choice: 0, reason: reason)]
    }
    let usage = TokenUsage(input: promptEvalCount?.value ?? -1, output: evalCount?.value ?? -1)
    if !usage.isEmpty { reading.usage = usage }
    if done?.value == true { reading.terminal = "done:true" }
    return reading
  }
}
