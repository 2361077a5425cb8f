// Everything that one event says, as values of its own: what `extract` and the foreign decoders work with. It allocates.

/// The whole reading of one event.
package struct EventReading: Equatable, Sendable {
  package struct Text: Equatable, Sendable {
    package var choice: Int
    package var text: String
    package init(choice: Int, text: String) {
      self.choice = choice
      self.text = text
    }
    package static func == (a: Text, b: Text) -> Bool { a.choice == b.choice && a.text.utf8.elementsEqual(b.text.utf8) }
  }

  package struct ToolPiece: Equatable, Sendable {
    package var choice: Int
    /// The API's own index; nil where it has none.
    package var index: Int?
    package var id: String?
    package var name: String?
    package var arguments: String
    package init(choice: Int, index: Int?, id: String?, name: String?, arguments: String) {
      self.choice = choice
      self.index = index
      self.id = id
      self.name = name
      self.arguments = arguments
    }
  }

  package struct Finish: Equatable, Sendable {
    package var choice: Int
    package var reason: String
    package init(choice: Int, reason: String) {
      self.choice = choice
      self.reason = reason
    }
  }

  package struct Failure: Equatable, Sendable {
    package var message: String?
    package var type: String?
    /// JSON text, since codes are strings here and numbers there.
    package var code: String?
    package init(message: String?, type: String?, code: String?) {
      self.message = message
      self.type = type
      self.code = code
    }
  }

  package var contents: [Text] = []
  package var reasonings: [Text] = []
  package var refusals: [Text] = []
  package var tools: [ToolPiece] = []
  package var finishes: [Finish] = []
  package var choices: [Int] = []
  package var usage: TokenUsage?
  package var usageIsPartial = false
  package var error: Failure?
  package var model: String?
  /// The end marker, as the API calls it.
  package var terminal: String?

  package init() {}

  package var hasContent: Bool { contents.contains { !$0.text.isEmpty } }
  package var hasReasoning: Bool { reasonings.contains { !$0.text.isEmpty } }
  package var hasToolArguments: Bool { tools.contains { !$0.arguments.isEmpty } }
  package var hasRefusal: Bool { refusals.contains { !$0.text.isEmpty } }
}

/// Collects everything.
struct ReadingCollector: FactCollector {
  var reading = EventReading()

  mutating func choice(_ index: Int) { reading.choices.append(index) }

  mutating func text(_ kind: TextKind, choice: Int, _ node: JSONDocument.Node, in document: JSONDocument) {
    let text = EventReading.Text(choice: choice, text: document.string(node) ?? "")
    switch kind {
    case .content: reading.contents.append(text)
    case .reasoning: reading.reasonings.append(text)
    case .refusal: reading.refusals.append(text)
    }
  }

  mutating func tool(
    choice: Int, index: Int?, id: JSONDocument.Node?, name: JSONDocument.Node?, arguments: ToolArguments,
    in document: JSONDocument
  ) {
    let text =
      switch arguments {
      case .none: ""
      case .text(let node): document.string(node) ?? ""
      case .value(let node): document.compact(node)
      }
    reading.tools.append(
      EventReading.ToolPiece(
        choice: choice, index: index, id: id.flatMap { document.string($0) }, name: name.flatMap { document.string($0) },
        arguments: text))
  }

  mutating func finish(choice: Int, _ reason: JSONDocument.Node, in document: JSONDocument) {
    reading.finishes.append(EventReading.Finish(choice: choice, reason: document.string(reason) ?? ""))
  }

  mutating func usage(_ usage: TokenUsage, isPartial: Bool) {
    reading.usage = usage
    reading.usageIsPartial = isPartial
  }

  mutating func error(
    message: JSONDocument.Node?, type: JSONDocument.Node?, code: JSONDocument.Node?, in document: JSONDocument
  ) {
    if reading.error != nil { return }
    reading.error = EventReading.Failure(
      message: message.flatMap { text($0, document) }, type: type.flatMap { document.string($0) },
      code: code.flatMap { document.isNull($0) ? nil : document.compact($0) })
  }

  mutating func model(_ node: JSONDocument.Node, in document: JSONDocument) { reading.model = document.string(node) }

  mutating func terminal(_ marker: StaticString) { reading.terminal = marker.description }

  /// A string's text, or another value as JSON.
  private func text(_ node: JSONDocument.Node, _ document: JSONDocument) -> String? {
    document.isNull(node) ? nil : document.string(node) ?? document.compact(node)
  }
}
