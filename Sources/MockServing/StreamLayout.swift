// The order of the events of one API's stream: opening, reasoning, between, visible, closing, and an end marker without
// a number. Each numbered event is found from its number alone, so a stream can be resumed, replayed and mixed up.

internal import Scenarios

/// Plain memory, never freed; see `EventTemplate`.
struct StreamLayout {
  var opening = TemplateList([])
  var firstReasoning: EventTemplate?
  var reasoning: EventTemplate?
  var between = TemplateList([])
  var firstVisible: EventTemplate
  var visible: EventTemplate
  var closing = TemplateList([])
  /// The API's end marker.
  var trailer = TemplateList([])
  /// An error in the shape of the API.
  var error: EventTemplate
  var contentType: StaticString = "text/event-stream"
  /// Finish words: at the natural end, at the token limit, after a tool call.
  var finishWords: (end: StaticString, limit: StaticString, tool: StaticString) = (
    "stop", "length", "tool_calls"
  )
  /// Visible text is the arguments of a tool call: `{"text":"…"}` cut into pieces.
  var isToolCall = false
  /// The whole call stands in one event, as an object.
  var isWholeCall = false
  var isNDJSON = false
  /// Whether events have an `id:` line and can be resumed.
  var isResumable = false
}

/// A fixed list of templates as plain memory.
struct TemplateList {
  let first: UnsafePointer<EventTemplate>
  let count: Int

  init(_ templates: [EventTemplate]) {
    let memory = UnsafeMutablePointer<EventTemplate>.allocate(capacity: max(1, templates.count))
    memory.initialize(from: templates, count: templates.count)
    first = UnsafePointer(memory)
    count = templates.count
  }

  init(texts: [String]) { self.init(texts.map(EventTemplate.init)) }

  subscript(index: Int) -> EventTemplate {
    @inline(__always) get { first[index] }
  }
}

/// What a layout depends on.
struct LayoutKey: Hashable {
  var api: API
  /// As the request named it, escaped for JSON.
  var model: String
  var hasReasoning = false
  var isToolCall = false
  var includesUsage = false
}

extension StreamLayout {
  /// - Parameter stamp: whether events carry their send time.
  static func make(_ key: LayoutKey, stamp: Bool) -> StreamLayout {
    let mark = #""ssebench":{"n":«n»,"crc":"«crc»"\#(stamp ? #","t_ns":"«t»""# : "")}"#
    switch key.api {
    case .openAIChat: return openAIChat(key, mark)
    case .openAICompletions: return openAICompletions(key, mark)
    case .openAIResponses: return openAIResponses(key, mark)
    case .anthropicMessages: return anthropicMessages(key, mark)
    case .gemini: return gemini(key, mark)
    case .ollama: return ollama(key, mark)
    case .sse, .wukongim: return plain(mark)
    }
  }

  /// `/events`: an id, a text, the mark.
  private static func plain(_ mark: String) -> StreamLayout {
    let event = EventTemplate("id: «n»\ndata: {\"text\":\"«text»\",\(mark)}\n\n")
    return StreamLayout(
      firstVisible: event, visible: event,
      error: EventTemplate(
        "event: error\ndata: {\"error\":{\"message\":\"The mock failed on purpose.\",\"type\":\"server_error\"}}\n\n"
      ),
      isResumable: true)
  }
}

/// The name of the made-up tool that every tool call calls.
let mockToolName = "write_text"
/// The time that every answer claims to be made at, seconds since 1970.
let mockCreated = 1_700_000_000
