// Codable models of OpenAI's chat, legacy completions and Responses events.

internal import Streams

struct OpenAIChunk: Decodable {
  struct Choice: Decodable {
    var index: Lenient<Int>?
    var delta: Lenient<Delta>?
    var text: Lenient<String>?
    var finishReason: Lenient<String>?
    var error: ErrorMember?

    enum CodingKeys: String, CodingKey {
      case index, delta, text, error
      case finishReason = "finish_reason"
    }
  }

  struct Delta: Decodable {
    struct Call: Decodable {
      var index: Lenient<Int>?
      var id: Lenient<String>?
      var function: Lenient<Function>?
    }

    struct Function: Decodable {
      var name: Lenient<String>?
      var arguments: Lenient<String>?
    }

    var content: TextOrParts?
    var reasoningContent: Lenient<String>?
    var reasoning: Lenient<String>?
    var refusal: Lenient<String>?
    var toolCalls: Lenient<[Lenient<Call>]>?
    var functionCall: Lenient<Function>?

    enum CodingKeys: String, CodingKey {
      case content, reasoning, refusal
      case reasoningContent = "reasoning_content"
      case toolCalls = "tool_calls"
      case functionCall = "function_call"
    }
  }

  struct Usage: Decodable {
    struct Output: Decodable {
      var reasoningTokens: Lenient<Int>?
      enum CodingKeys: String, CodingKey { case reasoningTokens = "reasoning_tokens" }
    }

    struct Input: Decodable {
      var cachedTokens: Lenient<Int>?
      enum CodingKeys: String, CodingKey { case cachedTokens = "cached_tokens" }
    }

    var promptTokens: Lenient<Int>?
    var completionTokens: Lenient<Int>?
    var totalTokens: Lenient<Int>?
    var promptDetails: Lenient<Input>?
    var completionDetails: Lenient<Output>?
    var cacheHits: Lenient<Int>?

    enum CodingKeys: String, CodingKey {
      case promptTokens = "prompt_tokens"
      case completionTokens = "completion_tokens"
      case totalTokens = "total_tokens"
      case promptDetails = "prompt_tokens_details"
      case completionDetails = "completion_tokens_details"
      case cacheHits = "prompt_cache_hit_tokens"
    }
  }

  var choices: Lenient<[Lenient<Choice>]>?
  var usage: Lenient<Usage>?
  var error: ErrorMember?
  var model: Lenient<String>?
  var object: Lenient<String>?
  var message: Lenient<String>?
  var detail: Lenient<String>?
  var type: Lenient<String>?
  var code: AnyScalar?

  func reading(isChat: Bool, eventType: String) -> EventReading {
    var reading = EventReading()
    if let name = model?.value, !name.isEmpty { reading.model = name }
    reading.error = error?.failure
    if reading.error == nil, choices == nil || eventType == "error" {
      let message = message?.value ?? detail?.value
      if message != nil || object?.value == "error" || eventType == "error" {
        reading.error = EventReading.Failure(message: message, type: type?.value, code: code?.json)
      }
    }
    for (position, element) in (choices?.value ?? []).enumerated() {
      let index = element.value?.index?.value ?? position
      reading.choices.append(index)
      guard let choice = element.value else { continue }
      if isChat {
        if let delta = choice.delta?.value { reading.add(delta, choice: index) }
      } else if let text = choice.text?.value {
        reading.contents.append(EventReading.Text(choice: index, text: text))
      }
      if reading.error == nil { reading.error = choice.error?.failure }
      if let reason = choice.finishReason?.value, !reason.isEmpty {
        reading.finishes.append(EventReading.Finish(choice: index, reason: reason))
      }
    }
    if let usage = usage?.value {
      reading.usage = TokenUsage(
        input: usage.promptTokens?.value ?? -1, output: usage.completionTokens?.value ?? -1,
        total: usage.totalTokens?.value ?? -1, reasoning: usage.completionDetails?.value?.reasoningTokens?.value ?? -1,
        cached: usage.promptDetails?.value?.cachedTokens?.value ?? usage.cacheHits?.value ?? -1)
    }
    return reading
  }
}

extension EventReading {
  fileprivate mutating func add(_ delta: OpenAIChunk.Delta, choice: Int) {
    if let text = delta.reasoningContent?.value, !text.isEmpty {
      reasonings.append(Text(choice: choice, text: text))
    } else if let text = delta.reasoning?.value {
      reasonings.append(Text(choice: choice, text: text))
    }
    if let text = delta.content?.text { contents.append(Text(choice: choice, text: text)) }
    for part in delta.content?.parts ?? [] {
      if let text = part.text?.value { contents.append(Text(choice: choice, text: text)) }
      for text in part.thinking?.texts ?? [] { reasonings.append(Text(choice: choice, text: text)) }
    }
    if let text = delta.refusal?.value { refusals.append(Text(choice: choice, text: text)) }
    for (position, call) in (delta.toolCalls?.value ?? []).enumerated() {
      guard let call = call.value else { continue }
      tools.append(
        ToolPiece(
          choice: choice, index: call.index?.value ?? position, id: call.id?.value, name: call.function?.value?.name?.value,
          arguments: call.function?.value?.arguments?.value ?? ""))
    }
    if let function = delta.functionCall?.value {
      tools.append(
        ToolPiece(
          choice: choice, index: 0, id: nil, name: function.name?.value, arguments: function.arguments?.value ?? ""))
    }
  }
}

struct ResponsesEvent: Decodable {
  struct Item: Decodable {
    var type: Lenient<String>?
    var id: Lenient<String>?
    var callID: Lenient<String>?
    var name: Lenient<String>?
    var arguments: Lenient<String>?
    var input: Lenient<String>?

    enum CodingKeys: String, CodingKey {
      case type, id, name, arguments, input
      case callID = "call_id"
    }
  }

  struct Response: Decodable {
    var model: Lenient<String>?
    var status: Lenient<String>?
    var error: ErrorMember?
    var usage: Lenient<Usage>?
  }

  struct Usage: Decodable {
    struct Input: Decodable {
      var cachedTokens: Lenient<Int>?
      enum CodingKeys: String, CodingKey { case cachedTokens = "cached_tokens" }
    }

    struct Output: Decodable {
      var reasoningTokens: Lenient<Int>?
      enum CodingKeys: String, CodingKey { case reasoningTokens = "reasoning_tokens" }
    }

    var inputTokens: Lenient<Int>?
    var outputTokens: Lenient<Int>?
    var totalTokens: Lenient<Int>?
    var inputDetails: Lenient<Input>?
    var outputDetails: Lenient<Output>?

    enum CodingKeys: String, CodingKey {
      case inputTokens = "input_tokens"
      case outputTokens = "output_tokens"
      case totalTokens = "total_tokens"
      case inputDetails = "input_tokens_details"
      case outputDetails = "output_tokens_details"
    }
  }

  var type: Lenient<String>?
  var delta: Lenient<String>?
  var outputIndex: Lenient<Int>?
  var item: Lenient<Item>?
  var response: Lenient<Response>?
  var error: ErrorMember?
  var message: Lenient<String>?
  var detail: Lenient<String>?
  var code: AnyScalar?

  enum CodingKeys: String, CodingKey {
    case type, delta, item, response, error, message, detail, code
    case outputIndex = "output_index"
  }

  func reading(eventType: String) -> EventReading {
    var reading = EventReading()
    let type = type?.value ?? eventType
    let isTerminal = ["response.completed", "response.incomplete", "response.failed"].contains(type)
    switch type {
    case "response.output_text.delta":
      if let delta = delta?.value { reading.contents = [EventReading.Text(choice: 0, text: delta)] }
    case "response.refusal.delta":
      if let delta = delta?.value { reading.refusals = [EventReading.Text(choice: 0, text: delta)] }
    case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
      if let delta = delta?.value { reading.reasonings = [EventReading.Text(choice: 0, text: delta)] }
    case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta",
      "response.custom_tool_call_input.delta":
      if let delta = delta?.value {
        reading.tools = [
          EventReading.ToolPiece(choice: 0, index: outputIndex?.value ?? 0, id: nil, name: nil, arguments: delta)
        ]
      }
    case "response.output_item.added":
      if let item = item?.value, ["function_call", "custom_tool_call", "mcp_call"].contains(item.type?.value ?? "") {
        reading.tools = [
          EventReading.ToolPiece(
            choice: 0, index: outputIndex?.value ?? 0, id: item.callID?.value ?? item.id?.value, name: item.name?.value,
            arguments: item.arguments?.value ?? item.input?.value ?? "")
        ]
      }
    default:
      if isTerminal {
        reading.terminal = type
      } else if type == "error" || eventType == "error" || error != nil {
        reading.error =
          error?.failure
          ?? EventReading.Failure(
            message: message?.value ?? detail?.value, type: self.type?.value, code: code?.json)
      }
    }
    if let response = response?.value {
      if let name = response.model?.value, !name.isEmpty { reading.model = name }
      if reading.error == nil { reading.error = response.error?.failure }
      if isTerminal, let status = response.status?.value, !status.isEmpty {
        reading.finishes = [EventReading.Finish(choice: 0, reason: status)]
      }
      if let usage = response.usage?.value {
        reading.usage = TokenUsage(
          input: usage.inputTokens?.value ?? -1, output: usage.outputTokens?.value ?? -1,
          total: usage.totalTokens?.value ?? -1, reasoning: usage.outputDetails?.value?.reasoningTokens?.value ?? -1,
          cached: usage.inputDetails?.value?.cachedTokens?.value ?? -1)
      }
    }
    return reading
  }
}
