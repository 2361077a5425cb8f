// Google's Gemini (`streamGenerateContent?alt=sse`): candidates of parts; thoughts are parts with `thought`; calls bring their arguments as an
// object; usage grows in every chunk. There is no end marker: a finish reason, then a clean end.

enum GeminiDialect {
  static func read<Facts: FactCollector>(_ document: JSONDocument, errorEvent: Bool, into facts: inout Facts) {
    let root = document.root
    var candidates: JSONDocument.Node?
    var usage: JSONDocument.Node?
    var error: JSONDocument.Node?
    var model: JSONDocument.Node?
    for (key, value) in document.members(root) {
      switch key {
      case .candidates: candidates = value
      case .usageMetadata: usage = value
      case .error: error = value
      case .modelVersion: model = value
      default: break
      }
    }
    facts.modelIfAny(model, in: document)
    if !facts.errorIfAny(error, in: document), errorEvent { facts.bareErrorIfAny(root, isSure: true, in: document) }
    if let candidates {
      for (position, candidate) in document.elements(candidates).enumerated() {
        read(candidate: candidate, at: position, document, &facts)
      }
    }
    if let usage, document.isObject(usage) {
      facts.usage(
        TokenUsage(
          input: document.count(usage, .promptTokenCount), output: document.count(usage, .candidatesTokenCount),
          total: document.count(usage, .totalTokenCount), reasoning: document.count(usage, .thoughtsTokenCount),
          cached: document.count(usage, .cachedContentTokenCount)),
        isPartial: false)
    }
  }

  private static func read<Facts: FactCollector>(
    candidate: JSONDocument.Node, at position: Int, _ document: JSONDocument, _ facts: inout Facts
  ) {
    let index = document.member(candidate, .index).flatMap { document.integer($0) } ?? position
    facts.choice(index)
    if let parts = document.member(candidate, .content).flatMap({ document.member($0, .parts) }) {
      for part in document.elements(parts) {
        let isThought = document.member(part, .thought).map { document.isTrue($0) } ?? false
        facts.textIfAny(isThought ? .reasoning : .content, choice: index, document.member(part, .text), in: document)
        if let call = document.member(part, .functionCall), document.isObject(call) {
          facts.tool(
            choice: index, index: nil, id: document.member(call, .id), name: document.member(call, .name),
            arguments: document.member(call, .args).map { .value($0) } ?? .none, in: document)
        }
      }
    }
    facts.finishIfAny(choice: index, document.member(candidate, .finishReason), in: document)
  }
}
