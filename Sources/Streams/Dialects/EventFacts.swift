// What an event of a dialect can say. A dialect walks a JSON document and tells these facts to a collector; the collectors keep what a
// session needs (MeaningCollector) or everything (ReadingCollector).

internal import CSimdjson

/// Which text a fact brings.
enum TextKind { case content, reasoning, refusal }

/// An object's arguments or their text.
enum ToolArguments {
  case none
  /// Part of the arguments' text.
  case text(JSONDocument.Node)
  /// All of them, as a JSON value.
  case value(JSONDocument.Node)
}

protocol FactCollector {
  /// A text, empty ones too. Node is a string.
  mutating func text(_ kind: TextKind, choice: Int, _ node: JSONDocument.Node, in document: JSONDocument)
  /// A piece of a tool call. `index` is the API's own; nil counts on.
  mutating func tool(
    choice: Int, index: Int?, id: JSONDocument.Node?, name: JSONDocument.Node?, arguments: ToolArguments,
    in document: JSONDocument)
  mutating func finish(choice: Int, _ reason: JSONDocument.Node, in document: JSONDocument)
  /// A choice exists, whether or not it has brought text.
  mutating func choice(_ index: Int)
  /// A report; `isPartial` where it completes an earlier one.
  mutating func usage(_ usage: TokenUsage, isPartial: Bool)
  mutating func error(
    message: JSONDocument.Node?, type: JSONDocument.Node?, code: JSONDocument.Node?, in document: JSONDocument)
  mutating func model(_ node: JSONDocument.Node, in document: JSONDocument)
  mutating func terminal(_ marker: StaticString)
}

extension FactCollector {
  /// Tells a finish reason unless it is null or empty.
  mutating func finishIfAny(choice: Int, _ node: JSONDocument.Node?, in document: JSONDocument) {
    if let node, document.isString(node), !document.isEmptyString(node) { finish(choice: choice, node, in: document) }
  }

  mutating func textIfAny(_ kind: TextKind, choice: Int, _ node: JSONDocument.Node?, in document: JSONDocument) {
    if let node, document.isString(node) { text(kind, choice: choice, node, in: document) }
  }

  mutating func modelIfAny(_ node: JSONDocument.Node?, in document: JSONDocument) {
    if let node, document.isString(node), !document.isEmptyString(node) { model(node, in: document) }
  }

  /// An `error` member of any shape: an object with message, type and code, or the message itself. Null, false and "" are none.
  /// True where it was one.
  @discardableResult
  mutating func errorIfAny(_ node: JSONDocument.Node?, in document: JSONDocument) -> Bool {
    guard let node else { return false }
    switch document.kind(node) {
    case UInt8(ascii: "{"):
      error(
        message: document.member(node, .message) ?? document.member(node, .detail), type: document.member(node, .type),
        code: document.member(node, .code), in: document)
    case UInt8(ascii: "\""):
      if document.isEmptyString(node) { return false }
      error(message: node, type: nil, code: nil, in: document)
    case UInt8(ascii: "n"), UInt8(ascii: "f"): return false
    default: error(message: nil, type: nil, code: nil, in: document)
    }
    return true
  }

  /// An object that is an error itself, without an `error` member: vLLM and Mistral send `{"object":"error","message":…}`, gateways
  /// `{"message":…,"code":…}` or `{"detail":…}`.
  mutating func bareErrorIfAny(_ root: JSONDocument.Node, isSure: Bool, in document: JSONDocument) {
    let message = document.member(root, .message) ?? document.member(root, .detail)
    let type = document.member(root, .type)
    let code = document.member(root, .code)
    let isOne =
      isSure || document.member(root, .object).map { document.isString($0, "error") } ?? false
      || message.map { document.isString($0) } ?? false
    if isOne { error(message: message, type: type, code: code, in: document) }
  }
}

extension JSONDocument {
  /// Members of a usage object as numbers.
  func count(_ object: Node, _ name: JSONKey) -> Int {
    member(object, name).flatMap { integer($0) } ?? -1
  }

  func count(_ object: Node, _ outer: JSONKey, _ name: JSONKey) -> Int {
    member(object, outer).map { count($0, name) } ?? -1
  }
}
