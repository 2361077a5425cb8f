// What one event says, as far as a running session needs it: a plain value, no copies.

internal import Primitives

/// The meaning of one event. Slices point into the event or into the extractor's scratch and are valid until either is used again.
package struct EventMeaning {
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Visible text that is not empty, in any choice.
    package static let content = Flags(rawValue: 1)
    package static let reasoning = Flags(rawValue: 2)
    package static let toolArguments = Flags(rawValue: 4)
    package static let refusal = Flags(rawValue: 8)
    /// The API's end marker.
    package static let terminal = Flags(rawValue: 16)
    package static let error = Flags(rawValue: 32)
    package static let finish = Flags(rawValue: 64)
    package static let usage = Flags(rawValue: 128)
    /// Not what the API sends: not JSON, or not an object.
    package static let undecodable = Flags(rawValue: 256)
    package static let model = Flags(rawValue: 512)
    /// The event belongs to a tool call, with or without arguments.
    package static let toolCall = Flags(rawValue: 1024)
  }

  package var flags: Flags = []
  package var content = nothing
  package var reasoning = nothing
  package var toolArguments = nothing
  package var usage = TokenUsage()
  /// The mock's number for this event, from 1; -1 where there is no stamp.
  package var stampNumber: Int64 = -1
  /// The mock's CRC-32C of the event's text.
  package var stampCRC: UInt32 = 0
  /// When the mock sent the event, in nanoseconds of the monotonic clock; -1 where it does not say.
  package var stampTime: Int64 = -1
  /// The model that answers, where the event names it; JSON text without its quotes.
  package var model = nothing

  package init() {}

  package var hasContent: Bool { flags.contains(.content) }
  package var hasReasoning: Bool { flags.contains(.reasoning) }
  package var hasToolArguments: Bool { flags.contains(.toolArguments) }
  package var hasRefusal: Bool { flags.contains(.refusal) }
  package var isTerminal: Bool { flags.contains(.terminal) }
  package var hasError: Bool { flags.contains(.error) }
  package var hasFinish: Bool { flags.contains(.finish) }
  package var hasUsage: Bool { flags.contains(.usage) }
  package var isUndecodable: Bool { flags.contains(.undecodable) }
  package var hasModel: Bool { flags.contains(.model) }
  /// Content, reasoning or tool arguments: what the time to first token waits for.
  package var hasOutput: Bool { !flags.isDisjoint(with: [.content, .reasoning, .toolArguments]) }

  /// What a stamp's checksum covers: the content, else the reasoning, else the tool arguments.
  package var text: UnsafeRawBufferPointer {
    hasContent ? content : hasReasoning ? reasoning : toolArguments
  }

  /// CRC-32C of `text`; 0 for no text.
  package func textCRC() -> UInt32 { CRC32C.checksum(text) }
}

/// Token counts as a provider reports them; -1 where it does not say.
package struct TokenUsage: Equatable, Sendable {
  package var input = -1
  package var output = -1
  package var total = -1
  /// Part of `output`.
  package var reasoning = -1
  /// Part of `input`.
  package var cached = -1

  package init() {}

  package init(input: Int = -1, output: Int = -1, total: Int = -1, reasoning: Int = -1, cached: Int = -1) {
    self.input = input
    self.output = output
    self.total = total
    self.reasoning = reasoning
    self.cached = cached
  }

  package var isEmpty: Bool { self == TokenUsage() }

  /// Completes a report in parts, as Anthropic sends it: input and cached are those of the first part that has any, the rest that of the last.
  package mutating func merge(_ later: TokenUsage) {
    if later.input >= 0, input <= 0 { input = later.input }
    if later.cached >= 0, cached <= 0 { cached = later.cached }
    if later.output >= 0 { output = later.output }
    if later.total >= 0 { total = later.total }
    if later.reasoning >= 0 { reasoning = later.reasoning }
  }
}
