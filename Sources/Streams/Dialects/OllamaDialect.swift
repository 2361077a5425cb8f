// Ollama, `/api/chat` and `/api/generate`: one JSON object a line. Calls bring their arguments as an object; the end is `"done":true`, with
// the counts.

enum OllamaDialect {
  static func read<Facts: FactCollector>(_ document: JSONDocument, into facts: inout Facts) {
    let root = document.root
    var message: JSONDocument.Node?
    var response: JSONDocument.Node?
    var thinking: JSONDocument.Node?
    var done: JSONDocument.Node?
    var reason: JSONDocument.Node?
    var error: JSONDocument.Node?
    var model: JSONDocument.Node?
    var usage = TokenUsage()
    for (key, value) in document.members(root) {
      switch key {
      case .message: message = value
      case .response: response = value
      case .thinking: thinking = value
      case .done: done = value
      case .done_reason: reason = value
      case .error: error = value
      case .model: model = value
      case .prompt_eval_count: usage.input = document.integer(value) ?? -1
      case .eval_count: usage.output = document.integer(value) ?? -1
      default: break
      }
    }
    facts.modelIfAny(model, in: document)
    facts.errorIfAny(error, in: document)
    facts.textIfAny(.reasoning, choice: 0, thinking, in: document)
    facts.textIfAny(.content, choice: 0, response, in: document)
    if let message {
      facts.textIfAny(.reasoning, choice: 0, document.member(message, .thinking), in: document)
      facts.textIfAny(.content, choice: 0, document.member(message, .content), in: document)
      if let calls = document.member(message, .tool_calls) {
        for call in document.elements(calls) {
          guard let function = document.member(call, .function) else { continue }
          let arguments = document.member(function, .arguments)
          facts.tool(
            choice: 0, index: nil, id: document.member(call, .id), name: document.member(function, .name),
            arguments: arguments.map { document.isString($0) ? .text($0) : .value($0) } ?? .none, in: document)
        }
      }
    }
    facts.finishIfAny(choice: 0, reason, in: document)
    if !usage.isEmpty { facts.usage(usage, isPartial: false) }
    if let done, document.isTrue(done) { facts.terminal("done:true") }
  }
}
