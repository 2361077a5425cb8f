// The APIs whose events can be read, and what reads them.

/// An API that streams text. What its events look like is in `Dialects`.
package enum StreamAPI: String, CaseIterable, Sendable {
  /// Plain server-sent events: the data is the text, or a JSON object with `text`.
  case sse
  case openaiChat = "openai-chat"
  case openaiCompletions = "openai-completions"
  case openaiResponses = "openai-responses"
  case anthropicMessages = "anthropic-messages"
  case gemini
  case ollama

  /// Whether the stream's end is a data line `[DONE]`.
  package var endsWithDone: Bool { self == .openaiChat || self == .openaiCompletions }
  /// The parser that its streams need.
  package var usualParser: ParserMode { self == .ollama ? .ndjson : .whatwg }
}

/// What reads the JSON of an event.
package enum DecoderKind: String, CaseIterable, Sendable {
  /// simdjson; exact.
  case simdjson
  /// Foundation's `JSONDecoder`, as app code does it.
  case foundation
  /// A remembered place, verified by a hash of all that stands around it; simdjson whenever that does not hold. Gives what `simdjson` gives.
  case scan
  /// No JSON is read: an event counts as content unless it is an end marker that its line or its type shows.
  case none
}
