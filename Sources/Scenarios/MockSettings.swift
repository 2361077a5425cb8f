// What a mock server sends and when, as a scenario or a file of its own says it.

import Primitives

/// What the mock serves: `MOCK.json` and `endpoint.mock`.
package struct MockSettings: Sendable, Equatable {
  /// The API that `run` asks for; the mock answers the paths of all of them. Default openai-chat.
  package var api: API = .openAIChat
  /// Tokens (LLM) or events (sse) of one stream: 0 to 10,000,000. A request's `max_tokens` bounds it. Default 128.
  package var tokens: Distribution = .constant(128)
  /// Request received → first token due, in ns. Default 200 ms.
  package var firstToken: Distribution = .constant(200e6)
  /// Between two tokens, in ns; 0: as fast as the connection takes them. Default 20 ms.
  package var interval: Distribution = .constant(20e6)
  package var faults: [Fault] = []
  /// What goes wrong in the WuKongIM mock.
  package var wukongFaults: [WuKongFault] = []
  /// Mock processes that share the port (SO_REUSEPORT): 1 to 64. Default 1.
  package var processes = 1
  /// Whether each chunk carries its send time. Default true.
  package var stamp = true
  /// Characters of a token's text, about; default 5 (with its leading space).
  package var tokenSize: Distribution = .constant(5)
  /// What the text is made of. Default latin; mixed has CJK, emoji and combining marks.
  package var text: MockText = .latin
  /// Events that are put into one write: 1 to 10,000. Default 1.
  package var eventsPerWrite = 1
  /// Tokens that one chunk carries: 1 to 1,000. Default 1.
  package var tokensPerEvent = 1
  /// Reasoning tokens before the visible ones: default 0.
  package var reasoningTokens = 0
  /// Whether the answer is a tool call instead of text. Default false.
  package var toolCall = false
  /// How many past events `/events` can replay; nil: all.
  package var replayBuffer: Int?
  /// A recording made by `ssebench record`, served in place of made-up streams.
  package var replay: String?
  /// Loopback addresses to listen on, so that one destination's ports do not run out: 1 to 64. Default 1.
  package var addresses = 1

  package init() {}
}

package enum MockText: String, Sendable, CaseIterable { case latin, mixed }
