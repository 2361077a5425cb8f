// Codable models of OpenAI's chat, legacy completions and Responses events.

internal import Streams

struct OpenAIChunk: Decodable {
  struct Choice: Decodable {
    var index: Int?
    var delta: Delta?
    var text: String?
    var finishReason: String?
    var error: ErrorMember?

    enum CodingKeys: String, CodingKey {
      case index, delta, text, error
      case finishReason = "finish_reason"
    }
  }

  struct Delta: Decodable {
    struct Call: Decodable {
      var index: Int?
      var id: String?
      var function: Function?
    }

    struct Function: Decodable {
      var name: String?
      var arguments: String?
    }

    var content: TextOrParts?
    var reasoningContent: String?
    var reasoning: String?
    var refusal: String?
    var toolCalls: [Lenient<Call>]?
    var functionCall: Function?

    enum CodingKeys: String, CodingKey {
      case content, reasoning, refusal
      case reasoningContent = "reasoning_content"
      case toolCalls = "tool_calls"
      case functionCall = "function_call"
    }
  }

  struct Usage: Decodable {
    struct Output: Decodable {
      var reasoningTokens: Int?
      enum CodingKeys: String, CodingKey { case reasoningTokens = "reasoning_tokens" }
    }

    struct Input: Decodable {
      var cachedTokens: Int?
      enum CodingKeys: String, CodingKey { case cachedTokens = "cached_tokens" }
    }

    var promptTokens: Int?
    var completionTokens: Int?
    var totalTokens: Int?
    var promptDetails: Input?
    var completionDetails: Output?
    var cacheHits: Int?

    enum CodingKeys: String, CodingKey {
      case promptTokens = "prompt_tokens"
      case completionTokens = "completion_tokens"
      case totalTokens = "total_tokens"
      case promptDetails = "prompt_tokens_details"
      case completionDetails = "completion_tokens_details"
      case cacheHits = "prompt_cache_hit_tokens"
    }
  }

  var choices: [Lenient<Choice>]?
  var usage: Usage?
  var error: ErrorMember?
  var model: String?
  var object: String?
  var message: String?
  var detail: String?
  var type: String?
  var code: AnyScalar?

  func reading(isChat: Bool, eventType: String) -> EventReading {
    var reading = EventReading()
    if let name = model, !name.isEmpty { reading.model = name }
    reading.error = error?.failure
    if reading.error == nil, choices == nil || eventType == "error" {
      let message = message ?? detail
      if message != nil || object == "error" || eventType == "error" {
        reading.error = EventReading.Failure(message: message, type: type, code: code?.json)
      }
    }
    for (position, element) in (choices ?? []).enumerated() {
      let index = element.value?.index ?? position
      reading.choices.append(index)
      guard let choice = element.value else { continue }
      if isChat {
        if let delta = choice.delta { reading.add(delta, choice: index) }
      } else if let text = choice.text {
        reading.contents.append(EventReading.Text(choice: index, text: text))
      }
      if reading.error == nil { reading.error = choice.error?.failure }
      if let reason = choice.finishReason, !reason.isEmpty {
        reading.finishes.append(EventReading.Finish(choice: index, reason: reason))
      }
    }
    if let usage = usage {
      reading.usage = TokenUsage(
        input: usage.promptTokens ?? -1, output: usage.completionTokens ?? -1,
        total: usage.totalTokens ?? -1, reasoning: usage.completionDetails?.reasoningTokens ?? -1,
        cached: usage.promptDetails?.cachedTokens ?? usage.cacheHits ?? -1)
    }
    return reading
  }
}

extension EventReading {
  fileprivate mutating func add(_ delta: OpenAIChunk.Delta, choice: Int) {
    if let text = delta.reasoningContent, !text.isEmpty {
      reasonings.append(Text(choice: choice, text: text))
    } else if let text = delta.reasoning {
      reasonings.append(Text(choice: choice, text: text))
    }
    if let text = delta.content?.text { contents.append(Text(choice: choice, text: text)) }
    for part in delta.content?.parts ?? [] {
      if let text = part.text { contents.append(Text(choice: choice, text: text)) }
      for text in part.thinking?.texts ?? [] { reasonings.append(Text(choice: choice, text: text)) }
    }
    if let text = delta.refusal { refusals.append(Text(choice: choice, text: text)) }
    for (position, call) in (delta.toolCalls ?? []).enumerated() {
      guard let call = call.value else { continue }
      tools.append(
        ToolPiece(
          choice: choice, index: call.index ?? position, id: call.id, name: call.function?.name,
          arguments: call.function?.arguments ?? ""))
    }
    if let function = delta.functionCall {
      tools.append(
        ToolPiece(
          choice: choice, index: 0, id: nil, name: function.name, arguments: function.arguments ?? ""))
    }
  }
}

struct ResponsesEvent: Decodable {
  struct Item: Decodable {
    var type: String?
    var id: String?
    var callID: String?
    var name: String?
    var arguments: String?
    var input: String?

    enum CodingKeys: String, CodingKey {
      case type, id, name, arguments, input
      case callID = "call_id"
    }
  }

  struct Response: Decodable {
    var model: String?
    var status: String?
    var error: ErrorMember?
    var usage: Usage?
  }

  struct Usage: Decodable {
    struct Input: Decodable {
      var cachedTokens: Int?
      enum CodingKeys: String, CodingKey { case cachedTokens = "cached_tokens" }
    }

    struct Output: Decodable {
      var reasoningTokens: Int?
      enum CodingKeys: String, CodingKey { case reasoningTokens = "reasoning_tokens" }
    }

    var inputTokens: Int?
    var outputTokens: Int?
    var totalTokens: Int?
    var inputDetails: Input?
    var outputDetails: Output?

    enum CodingKeys: String, CodingKey {
      case inputTokens = "input_tokens"
      case outputTokens = "output_tokens"
      case totalTokens = "total_tokens"
      case inputDetails = "input_tokens_details"
      case outputDetails = "output_tokens_details"
    }
  }

  var type: String?
  var delta: String?
  var outputIndex: Int?
  var item: Item?
  var response: Response?
  var error: ErrorMember?
  var message: String?
  var detail: String?
  var code: AnyScalar?

  enum CodingKeys: String, CodingKey {
    case type, delta, item, response, error, message, detail, code
    case outputIndex = "output_index"
  }

  func reading(eventType: String) -> EventReading {
    var reading = EventReading()
    let type = type ?? eventType
    let isTerminal = ["response.completed", "response.incomplete", "response.failed"].contains(type)
    switch type {
    case "response.output_text.delta":
      if let delta = delta { reading.contents = [EventReading.Text(choice: 0, text: delta)] }
    case "response.refusal.delta":
      if let delta = delta { reading.refusals = [EventReading.Text(choice: 0, text: delta)] }
    case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
      if let delta = delta { reading.reasonings = [EventReading.Text(choice: 0, text: delta)] }
    case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta",
      "response.custom_tool_call_input.delta":
      if let delta = delta {
        reading.tools = [
          EventReading.ToolPiece(choice: 0, index: outputIndex ?? 0, id: nil, name: nil, arguments: delta)
        ]
      }
    case "response.output_item.added":
      if let item = item, ["function_call", "custom_tool_call", "mcp_call"].contains(item.type ?? "") {
        reading.tools = [
          EventReading.ToolPiece(
            choice: 0, index: outputIndex ?? 0, id: item.callID ?? item.id, name: item.name,
            arguments: item.arguments ?? item.input ?? "")
        ]
      }
    default:
      if isTerminal {
        reading.terminal = type
      } else if type == "error" || eventType == "error" || error != nil {
        reading.error =
          error?.failure
          ?? EventReading.Failure(
            message: message ?? detail, type: self.type, code: code?.json)
      }
    }
    if let response = response {
      if let name = response.model, !name.isEmpty { reading.model = name }
      if reading.error == nil { reading.error = response.error?.failure }
      if isTerminal, let status = response.status, !status.isEmpty {
        reading.finishes = [EventReading.Finish(choice: 0, reason: status)]
      }
      if let usage = response.usage {
        reading.usage = TokenUsage(
          input: usage.inputTokens ?? -1, output: usage.outputTokens ?? -1,
          total: usage.totalTokens ?? -1, reasoning: usage.outputDetails?.reasoningTokens ?? -1,
          cached: usage.inputDetails?.cachedTokens ?? -1)
      }
    }
    return reading
  }
}
