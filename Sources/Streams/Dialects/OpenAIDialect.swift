// OpenAI's chat completions and legacy completions, and what speaks them: Azure, vLLM, llama.cpp, DeepSeek, OpenRouter, Mistral, Groq.
// Chunks have choices with a `delta` (chat) or a `text` (completions); usage comes in the last chunk, or in every one; the end is `[DONE]`.

enum OpenAIDialect {
  static func read<Facts: FactCollector>(
    _ document: JSONDocument, isChat: Bool, errorEvent: Bool, into facts: inout Facts
  ) {
    var choices: JSONDocument.Node?
    var usage: JSONDocument.Node?
    var error: JSONDocument.Node?
    var model: JSONDocument.Node?
    for (key, value) in document.members(document.root) {
      switch key {
      case .choices: choices = value
      case .usage: usage = value
      case .error: error = value
      case .model: model = value
      default: break
      }
    }
    facts.modelIfAny(model, in: document)
    let hasChoices = choices.map { document.isArray($0) } ?? false
    if !facts.errorIfAny(error, in: document), !hasChoices || errorEvent {
      facts.bareErrorIfAny(document.root, isSure: errorEvent, in: document)
    }
    if let choices {
      for (position, choice) in document.elements(choices).enumerated() {
        read(choice: choice, at: position, isChat: isChat, document, &facts)
      }
    }
    if let usage, document.isObject(usage) { facts.usage(Self.usage(usage, document), isPartial: false) }
  }

  private static func read<Facts: FactCollector>(
    choice: JSONDocument.Node, at position: Int, isChat: Bool, _ document: JSONDocument, _ facts: inout Facts
  ) {
    var index = position
    var delta: JSONDocument.Node?
    var finish: JSONDocument.Node?
    var text: JSONDocument.Node?
    var error: JSONDocument.Node?
    for (key, value) in document.members(choice) {
      switch key {
      case .index: index = document.integer(value) ?? position
      case .delta: delta = value
      case .finish_reason: finish = value
      case .text: text = value
      case .error: error = value
      default: break
      }
    }
    facts.choice(index)
    if isChat {
      if let delta { read(delta: delta, choice: index, document, &facts) }
    } else {
      facts.textIfAny(.content, choice: index, text, in: document)
    }
    facts.errorIfAny(error, in: document)
    facts.finishIfAny(choice: index, finish, in: document)
  }

  private static func read<Facts: FactCollector>(
    delta: JSONDocument.Node, choice: Int, _ document: JSONDocument, _ facts: inout Facts
  ) {
    var content: JSONDocument.Node?
    var reasoningContent: JSONDocument.Node?
    var reasoning: JSONDocument.Node?
    var refusal: JSONDocument.Node?
    var tools: JSONDocument.Node?
    var function: JSONDocument.Node?
    for (key, value) in document.members(delta) {
      switch key {
      case .content: content = value
      case .reasoning_content: reasoningContent = value
      case .reasoning: reasoning = value
      case .refusal: refusal = value
      case .tool_calls: tools = value
      case .function_call: function = value
      default: break
      }
    }
    // Gateways send one text under both names.
    if let reasoningContent, document.isString(reasoningContent), !document.isEmptyString(reasoningContent) {
      facts.text(.reasoning, choice: choice, reasoningContent, in: document)
    } else {
      facts.textIfAny(.reasoning, choice: choice, reasoning, in: document)
    }
    if let content, document.isArray(content) {
      // Mistral: parts of text and of thinking.
      for part in document.elements(content) { read(part: part, choice: choice, document, &facts) }
    } else {
      facts.textIfAny(.content, choice: choice, content, in: document)
    }
    facts.textIfAny(.refusal, choice: choice, refusal, in: document)
    if let tools {
      for (position, call) in document.elements(tools).enumerated() {
        let function = document.member(call, .function)
        facts.tool(
          choice: choice, index: document.member(call, .index).flatMap { document.integer($0) } ?? position,
          id: document.member(call, .id), name: function.flatMap { document.member($0, .name) },
          arguments: arguments(function, document), in: document)
      }
    }
    if let function, document.isObject(function) {
      // The form before tools: one call, without an id.
      facts.tool(
        choice: choice, index: 0, id: nil, name: document.member(function, .name),
        arguments: arguments(function, document), in: document)
    }
  }

  /// Arguments are text in pieces; some servers send the object itself.
  private static func arguments(_ function: JSONDocument.Node?, _ document: JSONDocument) -> ToolArguments {
    guard let node = function.flatMap({ document.member($0, .arguments) }) else { return .none }
    if document.isString(node) { return .text(node) }
    return document.isObject(node) ? .value(node) : .none
  }

  private static func read<Facts: FactCollector>(
    part: JSONDocument.Node, choice: Int, _ document: JSONDocument, _ facts: inout Facts
  ) {
    facts.textIfAny(.content, choice: choice, document.member(part, .text), in: document)
    guard let thinking = document.member(part, .thinking) else { return }
    facts.textIfAny(.reasoning, choice: choice, thinking, in: document)
    for inner in document.elements(thinking) {
      facts.textIfAny(.reasoning, choice: choice, document.member(inner, .text), in: document)
    }
  }

  private static func usage(_ node: JSONDocument.Node, _ document: JSONDocument) -> TokenUsage {
    var usage = TokenUsage()
    for (key, value) in document.members(node) {
      switch key {
      case .prompt_tokens: usage.input = document.integer(value) ?? -1
      case .completion_tokens: usage.output = document.integer(value) ?? -1
      case .total_tokens: usage.total = document.integer(value) ?? -1
      case .completion_tokens_details: usage.reasoning = document.count(value, .reasoning_tokens)
      case .prompt_tokens_details: usage.cached = document.count(value, .cached_tokens)
      default: break
      }
    }
    if usage.cached < 0 { usage.cached = document.count(node, .prompt_cache_hit_tokens) }
    return usage
  }
}
