// What a request for a completion asks for, whichever API's words it uses; and how text names a time or a session.

internal import Primitives
internal import Scenarios

struct StreamRequest {
  var model: String
  var streams: Bool
  var maxTokens: Int?
  var includesUsage: Bool
  /// A quarter of the prompt's bytes, at least 1.
  var promptTokens: Int

  /// Longest model name that is echoed.
  static let maximumModel = 256

  /// - Parameters: `model` and `streams` are what the path says, nil where the body says it.
  init(api: API, body: [UInt8], model: String?, streams: Bool?) throws(RequestRefusal) {
    let json: JSONValue
    do throws(JSONSyntaxError) {
      json = try JSONReader.read(body)
    } catch {
      throw RequestRefusal(
        status: 400,
        message: "the body is not JSON: \(error.message), line \(error.line), column \(error.column)")
    }
    guard case .object = json else {
      throw RequestRefusal(status: 400, message: "the body is not a JSON object")
    }
    let name = model ?? json["model"]?.asString ?? "mock-1"
    guard name.utf8.count <= Self.maximumModel else {
      throw RequestRefusal(status: 400, message: "model: over \(Self.maximumModel) bytes")
    }
    self.model = name
    if let stream = json["stream"], stream.asBool == nil, !stream.isNull {
      throw RequestRefusal(status: 400, message: "stream: expected true or false")
    }
    self.streams = streams ?? json["stream"]?.asBool ?? (api == .ollama)
    let limit: JSONValue? =
      switch api {
      case .gemini: json["generationConfig"]?["maxOutputTokens"]
      case .ollama: json["options"]?["num_predict"]
      case .openAIResponses: json["max_output_tokens"]
      default: json["max_completion_tokens"] ?? json["max_tokens"]
      }
    if let limit, !limit.isNull {
      guard let count = limit.asInt else {
        throw RequestRefusal(status: 400, message: "the token limit is not a whole number")
      }
      // Ollama: a negative num_predict means no limit.
      if api == .ollama, count < 0 {
        maxTokens = nil
      } else {
        guard count >= 0 else { throw RequestRefusal(status: 400, message: "the token limit is negative") }
        maxTokens = count
      }
    }
    includesUsage = json["stream_options"]?["include_usage"]?.asBool ?? false
    var bytes = 0
    for key in ["messages", "prompt", "input", "contents", "system", "instructions", "systemInstruction"] {
      if let part = json[key] { bytes += Self.textBytes(part) }
    }
    promptTokens = max(1, bytes / 4)
  }

  /// Bytes of the strings of a prompt, without the names of roles and types.
  private static func textBytes(_ value: JSONValue) -> Int {
    switch value {
    case .string(let text): text.utf8.count
    case .array(let values): values.reduce(0) { $0 + textBytes($1) }
    case .object(let object):
      object.pairs.reduce(0) { $1.key == "role" || $1.key == "type" ? $0 : $0 + textBytes($1.value) }
    default: 0
    }
  }
}

/// A session as a request names it.
struct SessionName {
  var key: UInt64
  /// What the content follows from.
  var index: Int

  /// A whole number is the plan's index; any other text counts by its hash.
  init(_ text: some Collection<UInt8>) {
    if let number = HTTPRequest.decimal(text) {
      key = UInt64(number)
      index = number
      return
    }
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    key = hash | 1 << 63
    index = Int(hash >> 2)
  }
}

/// A time in a query: a number with ns, us, ms, s, m or h; without a unit, milliseconds.
enum QueryTime {
  static func nanoseconds(_ text: String) -> Double? {
    let units: [(String, Double)] = [
      ("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9),
    ]
    for (unit, factor) in units where text.hasSuffix(unit) {
      guard let number = Double(text.dropLast(unit.count)), number >= 0, number.isFinite else { return nil }
      return number * factor
    }
    guard let number = Double(text), number >= 0, number.isFinite else { return nil }
    return number * 1e6
  }
}
