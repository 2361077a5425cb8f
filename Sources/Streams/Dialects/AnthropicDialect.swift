// Anthropic's Messages API: blocks of text, thinking and tool use, each started, filled by deltas and stopped; usage comes in two parts, at the
// start and in `message_delta`; the end is `message_stop`, or an `error` event.

enum AnthropicDialect {
  static func read<Facts: FactCollector>(
    _ document: JSONDocument, type: JSONWord, errorEvent: Bool, into facts: inout Facts
  ) {
    let root = document.root
    if type == "content_block_delta" {
      guard let delta = document.member(root, .delta) else { return }
      var text: JSONDocument.Node?
      var thinking: JSONDocument.Node?
      var json: JSONDocument.Node?
      for (key, value) in document.members(delta) {
        switch key {
        case .text: text = value
        case .thinking: thinking = value
        case .partial_json: json = value
        default: break
        }
      }
      facts.textIfAny(.content, choice: 0, text, in: document)
      facts.textIfAny(.reasoning, choice: 0, thinking, in: document)
      if let json, document.isString(json) {
        facts.tool(choice: 0, index: index(root, document), id: nil, name: nil, arguments: .text(json), in: document)
      }
    } else if type == "content_block_start" {
      guard let block = document.member(root, .content_block) else { return }
      facts.textIfAny(.content, choice: 0, document.member(block, .text), in: document)
      facts.textIfAny(.reasoning, choice: 0, document.member(block, .thinking), in: document)
      if let kind = document.member(block, .type),
        document.isString(kind, "tool_use") || document.isString(kind, "server_tool_use")
          || document.isString(kind, "mcp_tool_use")
      {
        facts.tool(
          choice: 0, index: index(root, document), id: document.member(block, .id), name: document.member(block, .name),
          arguments: .none, in: document)
      }
    } else if type == "message_start" {
      guard let message = document.member(root, .message) else { return }
      facts.modelIfAny(document.member(message, .model), in: document)
      usage(document.member(message, .usage), document, &facts)
    } else if type == "message_delta" {
      if let delta = document.member(root, .delta) {
        facts.finishIfAny(choice: 0, document.member(delta, .stop_reason), in: document)
      }
      usage(document.member(root, .usage), document, &facts)
    } else if type == "message_stop" {
      facts.terminal("message_stop")
    } else if type == "error" || errorEvent || document.member(root, .error).map({ !document.isNull($0) }) ?? false {
      if !facts.errorIfAny(document.member(root, .error), in: document) {
        facts.bareErrorIfAny(root, isSure: true, in: document)
      }
    }
  }

  private static func index(_ root: JSONDocument.Node, _ document: JSONDocument) -> Int {
    document.member(root, .index).flatMap { document.integer($0) } ?? 0
  }

  private static func usage<Facts: FactCollector>(
    _ node: JSONDocument.Node?, _ document: JSONDocument, _ facts: inout Facts
  ) {
    guard let node, document.isObject(node) else { return }
    facts.usage(
      TokenUsage(
        input: document.count(node, .input_tokens), output: document.count(node, .output_tokens),
        cached: document.count(node, .cache_read_input_tokens)),
      isPartial: true)
  }
}
