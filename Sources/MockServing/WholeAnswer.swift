// The answer of an LLM API without streaming: the same text as the stream's, in one object.

internal import Arrivals
internal import Primitives
internal import Scenarios

extension MockServer {
  func wholeAnswer(_ slot: Int, api: API, model: String) -> [UInt8] {
    let connection = connections[slot]
    guard let script = connection.pointee.script else { return [] }
    var fill = EventFill(text: UnsafePointer(self.text))
    fillCounts(slot, &fill)
    let finish = JSONValue.string("\(fill.finish)")
    let reasoning = Int(connection.pointee.reasoningEvents)
    func joined(_ events: Range<Int>) -> String {
      String(decoding: events.flatMap { textBytes(of: $0, script) }, as: UTF8.self)
    }
    let thought = joined(0..<reasoning)
    let visible = joined(reasoning..<max(reasoning, script.events))
    let isCall = settings.toolCall && api != .openAICompletions
    let arguments = JSONValue.object(["text": .string(visible)])
    let id = String(connection.pointee.id, radix: 16)
    let input = Int64(fill.promptTokens)
    let output = Int64(fill.outputTokens)
    let usage: JSONValue = .object([
      "prompt_tokens": .integer(input), "completion_tokens": .integer(output),
      "total_tokens": .integer(input + output),
      "completion_tokens_details": .object(["reasoning_tokens": .integer(Int64(fill.reasoningTokens))]),
    ])
    func word(_ string: String) -> JSONValue { .string(string) }
    let answer: JSONValue
    switch api {
    case .openAIChat:
      var message = JSONObject([("role", word("assistant")), ("content", isCall ? .null : word(visible))])
      if !thought.isEmpty { message["reasoning_content"] = word(thought) }
      if isCall {
        let function: JSONValue = .object(["name": word(mockToolName), "arguments": word(arguments.text())])
        message["tool_calls"] = .array([
          .object(["id": word("call_\(id)"), "type": word("function"), "function": function])
        ])
      }
      answer = .object([
        "id": word("chatcmpl-\(id)"), "object": word("chat.completion"),
        "created": .integer(Int64(mockCreated)),
        "model": word(model),
        "choices": .array([
          .object([
            "index": .integer(0), "message": .object(message), "logprobs": .null, "finish_reason": finish,
          ])
        ]),
        "usage": usage,
      ])
    case .openAICompletions:
      answer = .object([
        "id": word("cmpl-\(id)"), "object": word("text_completion"), "created": .integer(Int64(mockCreated)),
        "model": word(model),
        "choices": .array([
          .object(["index": .integer(0), "text": word(visible), "logprobs": .null, "finish_reason": finish])
        ]),
        "usage": usage,
      ])
    case .openAIResponses:
      let item: JSONValue =
        isCall
        ? .object([
          "id": word("fc_\(id)"), "type": word("function_call"), "status": word("completed"),
          "call_id": word("call_\(id)"), "name": word(mockToolName), "arguments": word(arguments.text()),
        ])
        : .object([
          "id": word("msg_\(id)"), "type": word("message"), "status": word("completed"),
          "role": word("assistant"),
          "content": .array([
            .object(["type": word("output_text"), "text": word(visible), "annotations": .array([])])
          ]),
        ])
      var items: [JSONValue] = [item]
      if !thought.isEmpty {
        let summary: JSONValue = .object(["type": word("summary_text"), "text": word(thought)])
        items.insert(
          .object(["id": word("rs_\(id)"), "type": word("reasoning"), "summary": .array([summary])]), at: 0)
      }
      answer = .object([
        "id": word("resp_\(id)"), "object": word("response"), "created_at": .integer(Int64(mockCreated)),
        "status": word("completed"), "error": .null, "incomplete_details": .null, "instructions": .null,
        "metadata": .object(JSONObject()), "model": word(model), "output": .array(items),
        "parallel_tool_calls": .bool(true), "temperature": .number(1), "tool_choice": word("auto"),
        "tools": .array([]),
        "top_p": .number(1),
        "usage": .object([
          "input_tokens": .integer(input), "input_tokens_details": .object(["cached_tokens": .integer(0)]),
          "output_tokens": .integer(output),
          "output_tokens_details": .object(["reasoning_tokens": .integer(Int64(fill.reasoningTokens))]),
          "total_tokens": .integer(input + output),
        ]),
      ])
    case .anthropicMessages:
      var content: [JSONValue] = []
      if !thought.isEmpty {
        content.append(.object(["type": word("thinking"), "thinking": word(thought), "signature": word(id)]))
      }
      content.append(
        isCall
          ? .object([
            "type": word("tool_use"), "id": word("toolu_\(id)"), "name": word(mockToolName),
            "input": arguments,
          ])
          : .object(["type": word("text"), "text": word(visible)]))
      answer = .object([
        "id": word("msg_\(id)"), "type": word("message"), "role": word("assistant"), "model": word(model),
        "content": .array(content), "stop_reason": finish, "stop_sequence": .null,
        "usage": .object(["input_tokens": .integer(input), "output_tokens": .integer(output)]),
      ])
    case .gemini:
      var parts: [JSONValue] = []
      if !thought.isEmpty { parts.append(.object(["text": word(thought), "thought": .bool(true)])) }
      parts.append(
        isCall
          ? .object(["functionCall": .object(["name": word(mockToolName), "args": arguments])])
          : .object(["text": word(visible)]))
      answer = .object([
        "candidates": .array([
          .object([
            "content": .object(["parts": .array(parts), "role": word("model")]), "finishReason": finish,
            "index": .integer(0),
          ])
        ]),
        "usageMetadata": .object([
          "promptTokenCount": .integer(input), "candidatesTokenCount": .integer(output),
          "thoughtsTokenCount": .integer(Int64(fill.reasoningTokens)),
          "totalTokenCount": .integer(input + output),
        ]),
        "modelVersion": word(model), "responseId": word(id),
      ])
    case .ollama:
      var message = JSONObject([("role", word("assistant")), ("content", word(isCall ? "" : visible))])
      if !thought.isEmpty { message["thinking"] = word(thought) }
      if isCall {
        let function: JSONValue = .object(["name": word(mockToolName), "arguments": arguments])
        message["tool_calls"] = .array([.object(["function": function])])
      }
      answer = .object([
        "model": word(model), "created_at": word("2023-11-14T22:13:20Z"), "message": .object(message),
        "done": .bool(true), "done_reason": finish, "total_duration": .integer(1_000_000),
        "load_duration": .integer(1000), "prompt_eval_count": .integer(input),
        "prompt_eval_duration": .integer(1000),
        "eval_count": .integer(output), "eval_duration": .integer(1_000_000),
      ])
    case .sse, .wukongim: answer = .null
    }
    return Array(answer.text().utf8)
  }
}
