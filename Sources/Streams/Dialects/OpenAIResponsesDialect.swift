// OpenAI's Responses API: every event has a `type`; deltas bring text, the `.done` events repeat it and are left out; the end is
// `response.completed`, `.incomplete` or `.failed`, which carries status, usage and error.

enum OpenAIResponsesDialect {
  static func read<Facts: FactCollector>(
    _ document: JSONDocument, type: JSONWord, errorEvent: Bool, into facts: inout Facts
  ) {
    let root = document.root
    var delta: JSONDocument.Node?
    var response: JSONDocument.Node?
    var output: JSONDocument.Node?
    for (key, value) in document.members(root) {
      switch key {
      case .delta: delta = value
      case .response: response = value
      case .output_index: output = value
      default: break
      }
    }
    let outputIndex = output.flatMap { document.integer($0) } ?? 0
    if type == "response.output_text.delta" {
      facts.textIfAny(.content, choice: 0, delta, in: document)
    } else if type == "response.refusal.delta" {
      facts.textIfAny(.refusal, choice: 0, delta, in: document)
    } else if type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta" {
      facts.textIfAny(.reasoning, choice: 0, delta, in: document)
    } else if type == "response.function_call_arguments.delta" || type == "response.mcp_call_arguments.delta"
      || type == "response.custom_tool_call_input.delta"
    {
      if let delta, document.isString(delta) {
        facts.tool(choice: 0, index: outputIndex, id: nil, name: nil, arguments: .text(delta), in: document)
      }
    } else if type == "response.output_item.added" {
      if let item = document.member(root, .item), isToolCall(item, document) {
        let arguments = document.member(item, .arguments) ?? document.member(item, .input)
        facts.tool(
          choice: 0, index: outputIndex, id: document.member(item, .call_id) ?? document.member(item, .id),
          name: document.member(item, .name),
          arguments: arguments.map { document.isString($0) ? .text($0) : .none } ?? .none, in: document)
      }
    } else if let marker = terminal(type) {
      facts.terminal(marker)
    } else if type == "error" || errorEvent || document.member(root, .error).map({ !document.isNull($0) }) ?? false {
      if !facts.errorIfAny(document.member(root, .error), in: document) {
        facts.bareErrorIfAny(root, isSure: true, in: document)
      }
    }
    if let response { read(response: response, isTerminal: terminal(type) != nil, document, &facts) }
  }

  private static func read<Facts: FactCollector>(
    response: JSONDocument.Node, isTerminal: Bool, _ document: JSONDocument, _ facts: inout Facts
  ) {
    facts.modelIfAny(document.member(response, .model), in: document)
    facts.errorIfAny(document.member(response, .error), in: document)
    if isTerminal { facts.finishIfAny(choice: 0, document.member(response, .status), in: document) }
    guard let usage = document.member(response, .usage), document.isObject(usage) else { return }
    facts.usage(
      TokenUsage(
        input: document.count(usage, .input_tokens), output: document.count(usage, .output_tokens),
        total: document.count(usage, .total_tokens),
        reasoning: document.count(usage, .output_tokens_details, .reasoning_tokens),
        cached: document.count(usage, .input_tokens_details, .cached_tokens)),
      isPartial: false)
  }

  private static func terminal(_ type: JSONWord) -> StaticString? {
    if type == "response.completed" { return "response.completed" }
    if type == "response.incomplete" { return "response.incomplete" }
    if type == "response.failed" { return "response.failed" }
    return nil
  }

  private static func isToolCall(_ item: JSONDocument.Node, _ document: JSONDocument) -> Bool {
    guard let type = document.member(item, .type) else { return false }
    return document.isString(type, "function_call") || document.isString(type, "custom_tool_call")
      || document.isString(type, "mcp_call")
  }
}
