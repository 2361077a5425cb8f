// The streams of OpenAI's three APIs as templates. Shapes: platform.openai.com, "Chat Completions", "Completions (legacy)"
// and "Responses", streaming sections, as far as the vendor's SDK reads them.

extension StreamLayout {
  static func openAIChat(_ key: LayoutKey, _ mark: String) -> StreamLayout {
    let head =
      #"data: {"id":"chatcmpl-«id»","object":"chat.completion.chunk","created":\#(mockCreated),"model":"\#(key.model)","#
    func chunk(_ delta: String, finish: String = "null") -> String {
      "\(head)\"choices\":[{\"index\":0,\"delta\":{\(delta)},\"finish_reason\":\(finish)}],\(mark)}\n\n"
    }
    let role = #""role":"assistant","#
    let call = #""tool_calls":[{"index":0,"#
    var layout = StreamLayout(
      firstVisible: EventTemplate(chunk((key.hasReasoning ? "" : role) + #""content":"«text»""#)),
      visible: EventTemplate(chunk(#""content":"«text»""#)), error: EventTemplate(openAIError))
    if key.hasReasoning {
      layout.firstReasoning = EventTemplate(chunk(role + #""reasoning_content":"«text»""#))
      layout.reasoning = EventTemplate(chunk(#""reasoning_content":"«text»""#))
    }
    if key.isToolCall {
      layout.isToolCall = true
      let opening = chunk(
        (key.hasReasoning ? "" : role + #""content":null,"#) + call
          + #""id":"call_«id»","type":"function","function":{"name":"\#(mockToolName)","arguments":""}}]"#)
      if key.hasReasoning {
        layout.between = TemplateList(texts: [opening])
      } else {
        layout.opening = TemplateList(texts: [opening])
      }
      layout.visible = EventTemplate(chunk(call + #""function":{"arguments":"«text»"}}]"#))
      layout.firstVisible = layout.visible
    }
    var closing = [chunk("", finish: "\"«finish»\"")]
    if key.includesUsage { closing.append("\(head)\"choices\":[],\(openAIUsage),\(mark)}\n\n") }
    layout.closing = TemplateList(texts: closing)
    layout.trailer = TemplateList(texts: ["data: [DONE]\n\n"])
    return layout
  }

  static let openAIUsage =
    #""usage":{"prompt_tokens":«prompt»,"completion_tokens":«output»,"total_tokens":«total»,"completion_tokens_details":{"reasoning_tokens":«reasoning»}}"#

  static let openAIError =
    "data: {\"error\":{\"message\":\"The mock failed on purpose.\",\"type\":\"server_error\",\"param\":null,\"code\":\"mock_error\"}}\n\n"

  static func openAICompletions(_ key: LayoutKey, _ mark: String) -> StreamLayout {
    let head =
      #"data: {"id":"cmpl-«id»","object":"text_completion","created":\#(mockCreated),"model":"\#(key.model)","#
    func chunk(_ text: String, finish: String = "null") -> String {
      "\(head)\"choices\":[{\"index\":0,\"text\":\"\(text)\",\"logprobs\":null,\"finish_reason\":\(finish)}],\(mark)}\n\n"
    }
    let text = EventTemplate(chunk("«text»"))
    var closing = [chunk("", finish: "\"«finish»\"")]
    if key.includesUsage { closing.append("\(head)\"choices\":[],\(openAIUsage),\(mark)}\n\n") }
    return StreamLayout(
      firstReasoning: text, reasoning: text, firstVisible: text, visible: text,
      closing: TemplateList(texts: closing),
      trailer: TemplateList(texts: ["data: [DONE]\n\n"]), error: EventTemplate(openAIError),
      finishWords: ("stop", "length", "stop"))
  }

  /// Each event has a type, and a `sequence_number`: here the event's number, so from 1.
  static func openAIResponses(_ key: LayoutKey, _ mark: String) -> StreamLayout {
    func event(_ type: String, _ members: String) -> String {
      "event: \(type)\ndata: {\"type\":\"\(type)\",\"sequence_number\":«n»,\(members),\(mark)}\n\n"
    }
    func response(_ status: String, _ output: String, usage: String = "null") -> String {
      #""response":{"id":"resp_«id»","object":"response","created_at":\#(mockCreated),"status":"\#(status)","error":null,"#
        + #""incomplete_details":null,"instructions":null,"metadata":{},"model":"\#(key.model)","output":[\#(output)],"#
        + #""parallel_tool_calls":true,"temperature":1.0,"tool_choice":"auto","tools":[],"top_p":1.0,"usage":\#(usage)}"#
    }
    let textIndex = key.hasReasoning ? 1 : 0
    let thought = { (status: String, summary: String) in
      #"{"id":"rs_«id»","type":"reasoning","status":"\#(status)","summary":[\#(summary)]}"#
    }
    let message = { (status: String, content: String) in
      #"{"id":"msg_«id»","type":"message","status":"\#(status)","role":"assistant","content":[\#(content)]}"#
    }
    let call = { (status: String, arguments: String) in
      #"{"id":"fc_«id»","type":"function_call","status":"\#(status)","call_id":"call_«id»","name":"\#(mockToolName)","arguments":"\#(arguments)"}"#
    }
    let part = { (text: String) in #"{"type":"output_text","text":"\#(text)","annotations":[]}"# }
    let summary = { (text: String) in #"{"type":"summary_text","text":"\#(text)"}"# }
    let atText = #""item_id":"\#(key.isToolCall ? "fc" : "msg")_«id»","output_index":\#(textIndex)"#
    let atThought = #""item_id":"rs_«id»","output_index":0,"summary_index":0"#

    var start: [String] = []
    var end: [String] = []
    if key.isToolCall {
      start.append(
        event(
          "response.output_item.added", #""output_index":\#(textIndex),"item":\#(call("in_progress", ""))"#))
      end.append(
        event(
          "response.function_call_arguments.done",
          #"\#(atText),"name":"\#(mockToolName)","arguments":"«whole_arguments»""#))
      end.append(
        event(
          "response.output_item.done",
          #""output_index":\#(textIndex),"item":\#(call("completed", "«whole_arguments»"))"#))
    } else {
      start.append(
        event(
          "response.output_item.added", #""output_index":\#(textIndex),"item":\#(message("in_progress", ""))"#
        ))
      start.append(event("response.content_part.added", #"\#(atText),"content_index":0,"part":\#(part(""))"#))
      end.append(
        event(
          "response.output_text.done", #"\#(atText),"content_index":0,"logprobs":[],"text":"«whole_text»""#))
      end.append(
        event("response.content_part.done", #"\#(atText),"content_index":0,"part":\#(part("«whole_text»"))"#))
      end.append(
        event(
          "response.output_item.done",
          #""output_index":\#(textIndex),"item":\#(message("completed", part("«whole_text»")))"#))
    }
    var output =
      key.isToolCall ? call("completed", "«whole_arguments»") : message("completed", part("«whole_text»"))
    if key.hasReasoning { output = thought("completed", summary("«whole_reasoning»")) + "," + output }
    let usage =
      #"{"input_tokens":«prompt»,"input_tokens_details":{"cached_tokens":0},"output_tokens":«output»,"output_tokens_details":{"reasoning_tokens":«reasoning»},"total_tokens":«total»}"#
    end.append(event("response.completed", response("completed", output, usage: usage)))

    let delta =
      key.isToolCall
      ? event("response.function_call_arguments.delta", #"\#(atText),"delta":"«text»""#)
      : event("response.output_text.delta", #"\#(atText),"content_index":0,"logprobs":[],"delta":"«text»""#)
    var layout = StreamLayout(
      firstVisible: EventTemplate(delta), visible: EventTemplate(delta),
      closing: TemplateList(texts: end),
      error: EventTemplate(
        event("error", #""code":"server_error","message":"The mock failed on purpose.","param":null"#)))
    layout.isToolCall = key.isToolCall
    let opening = [
      event("response.created", response("in_progress", "")),
      event("response.in_progress", response("in_progress", "")),
    ]
    guard key.hasReasoning else {
      layout.opening = TemplateList(texts: opening + start)
      return layout
    }
    layout.opening = TemplateList(
      texts: opening + [
        event("response.output_item.added", #""output_index":0,"item":\#(thought("in_progress", ""))"#),
        event("response.reasoning_summary_part.added", #"\#(atThought),"part":\#(summary(""))"#),
      ])
    layout.reasoning = EventTemplate(
      event("response.reasoning_summary_text.delta", #"\#(atThought),"delta":"«text»""#))
    layout.firstReasoning = layout.reasoning
    layout.between = TemplateList(
      texts: [
        event("response.reasoning_summary_text.done", #"\#(atThought),"text":"«whole_reasoning»""#),
        event(
          "response.reasoning_summary_part.done", #"\#(atThought),"part":\#(summary("«whole_reasoning»"))"#),
        event(
          "response.output_item.done",
          #""output_index":0,"item":\#(thought("completed", summary("«whole_reasoning»")))"#),
      ] + start)
    return layout
  }
}
