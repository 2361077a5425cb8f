// The streams of Anthropic's Messages, Google's Gemini and Ollama's chat as templates, as far as the vendors' SDKs read
// them.

extension StreamLayout {
  static func anthropicMessages(_ key: LayoutKey, _ mark: String) -> StreamLayout {
    func event(_ type: String, _ members: String) -> String {
      "event: \(type)\ndata: {\"type\":\"\(type)\"\(members.isEmpty ? "" : ","+members),\(mark)}\n\n"
    }
    let index = key.hasReasoning ? 1 : 0
    func delta(_ index: Int, _ body: String) -> EventTemplate {
      EventTemplate(event("content_block_delta", #""index":\#(index),"delta":{\#(body)}"#))
    }
    let start = event(
      "message_start",
      #""message":{"id":"msg_«id»","type":"message","role":"assistant","model":"\#(key.model)","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":«prompt»,"output_tokens":1}}"#
    )
    let block = event(
      "content_block_start",
      key.isToolCall
        ? #""index":\#(index),"content_block":{"type":"tool_use","id":"toolu_«id»","name":"\#(mockToolName)","input":{}}"#
        : #""index":\#(index),"content_block":{"type":"text","text":""}"#)
    let text =
      key.isToolCall
      ? delta(index, #""type":"input_json_delta","partial_json":"«text»""#)
      : delta(index, #""type":"text_delta","text":"«text»""#)
    var layout = StreamLayout(
      firstVisible: text, visible: text,
      closing: TemplateList(
        texts: [
          event("content_block_stop", #""index":\#(index)"#),
          event(
            "message_delta",
            #""delta":{"stop_reason":"«finish»","stop_sequence":null},"usage":{"output_tokens":«output»}"#),
          event("message_stop", ""),
        ]),
      error: EventTemplate(
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"The mock failed on purpose.\"}}\n\n"
      ),
      finishWords: ("end_turn", "max_tokens", "tool_use"), isToolCall: key.isToolCall)
    if key.hasReasoning {
      layout.opening = TemplateList(
        texts: [
          start,
          event(
            "content_block_start",
            #""index":0,"content_block":{"type":"thinking","thinking":"","signature":""}"#),
        ])
      layout.reasoning = delta(0, #""type":"thinking_delta","thinking":"«text»""#)
      layout.firstReasoning = layout.reasoning
      layout.between = TemplateList(
        texts: [
          event("content_block_delta", #""index":0,"delta":{"type":"signature_delta","signature":"«id»"}"#),
          event("content_block_stop", #""index":0"#), block,
        ])
    } else {
      layout.opening = TemplateList(texts: [start, block])
    }
    return layout
  }

  /// Gemini has no end marker: a finish reason, then the end of the body.
  static func gemini(_ key: LayoutKey, _ mark: String) -> StreamLayout {
    func event(_ parts: String, more: String = "", usage: String = "") -> String {
      "data: {\"candidates\":[{\"content\":{\"parts\":[\(parts)],\"role\":\"model\"}\(more),\"index\":0}],\(usage)\"modelVersion\":\"\(key.model)\",\"responseId\":\"«id»\",\(mark)}\n\n"
    }
    let usage =
      #""usageMetadata":{"promptTokenCount":«prompt»,"candidatesTokenCount":«output»,"thoughtsTokenCount":«reasoning»,"totalTokenCount":«total»},"#
    let visible = EventTemplate(
      event(
        key.isToolCall
          ? #"{"functionCall":{"name":"\#(mockToolName)","args":«json»}}"# : #"{"text":"«text»"}"#))
    let reasoning = EventTemplate(event(#"{"text":"«text»","thought":true}"#))
    return StreamLayout(
      firstReasoning: reasoning, reasoning: reasoning, firstVisible: visible, visible: visible,
      closing: TemplateList(texts: [
        event(#"{"text":""}"#, more: #","finishReason":"«finish»""#, usage: usage)
      ]),
      error: EventTemplate(
        "data: {\"error\":{\"code\":503,\"message\":\"The mock failed on purpose.\",\"status\":\"UNAVAILABLE\"}}\n\n"
      ),
      finishWords: ("STOP", "MAX_TOKENS", "STOP"), isToolCall: key.isToolCall, isWholeCall: key.isToolCall)
  }

  /// One JSON object a line; the last says `"done":true`.
  static func ollama(_ key: LayoutKey, _ mark: String) -> StreamLayout {
    func line(_ message: String, more: String = "\"done\":false") -> String {
      "{\"model\":\"\(key.model)\",\"created_at\":\"2023-11-14T22:13:20Z\",\"message\":{\"role\":\"assistant\",\(message)},\(more),\(mark)}\n"
    }
    let visible = EventTemplate(
      line(
        key.isToolCall
          ? #""content":"","tool_calls":[{"function":{"name":"\#(mockToolName)","arguments":«json»}}]"#
          : #""content":"«text»""#))
    let reasoning = EventTemplate(line(#""content":"","thinking":"«text»""#))
    return StreamLayout(
      firstReasoning: reasoning, reasoning: reasoning, firstVisible: visible, visible: visible,
      closing: TemplateList(
        texts: [
          line(
            #""content":"""#,
            more:
              #""done":true,"done_reason":"«finish»","total_duration":1000000,"load_duration":1000,"prompt_eval_count":«prompt»,"prompt_eval_duration":1000,"eval_count":«output»,"eval_duration":1000000"#
          )
        ]),
      error: EventTemplate("{\"error\":\"The mock failed on purpose.\"}\n"),
      contentType: "application/x-ndjson", finishWords: ("stop", "length", "stop"),
      isToolCall: key.isToolCall,
      isWholeCall: key.isToolCall, isNDJSON: true)
  }
}
