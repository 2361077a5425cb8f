// A request finds its answer: the paths of the contract. Streams begin in MockServer+Streams; the rest is answered
// here at once.

internal import CPlatform
internal import Primitives
internal import Scenarios

extension MockServer {
  mutating func answer(_ slot: Int, _ request: HTTPRequest) {
    let connection = connections[slot]
    if request.isHTTP11 {
      connection.pointee.flags.insert(.chunked)
    } else {
      connection.pointee.flags.remove(.chunked)
    }
    let method = String(decoding: request.method, as: UTF8.self)
    if method == "HEAD" {
      connection.pointee.flags.insert(.headOnly)
    } else {
      connection.pointee.flags.remove(.headOnly)
    }
    if method == "OPTIONS" {
      sendHead(slot, status: 204, contentType: nil, length: 0)
      afterAnswer(slot)
      return
    }
    let path = String(decoding: request.path, as: UTF8.self)
    guard let route = Route(path: path) else {
      counters.refused += 1
      sendError(slot, status: 404, message: "no such path: \(path.prefix(200))")
      return
    }
    guard route.methods.contains(method) else {
      counters.refused += 1
      sendError(
        slot, status: 405, message: "\(path.prefix(200)) takes \(route.methods.joined(separator: ", "))",
        allow: route.methods)
      return
    }
    switch route {
    case .health:
      send(slot, status: 200, contentType: "application/json", body: Array(#"{"status":"ok"}"#.utf8))
    case .time:
      send(
        slot, status: 200, contentType: "application/json", body: Array("{\"unix_ns\":\(CPlatform_realtime_ns())}".utf8))
    case .metrics:
      send(
        slot, status: 200, contentType: "text/plain; version=0.0.4", body: Array(counters.prometheus().utf8))
    case .models(let name): sendModels(slot, name)
    case .events: startEvents(slot, request)
    case .llm(let api, let model, let streams):
      startCompletion(slot, request, api: api, model: model, streams: streams)
    }
  }

  private mutating func sendModels(_ slot: Int, _ name: String?) {
    let model: JSONValue = .object([
      "id": .string(name ?? "mock-1"), "object": .string("model"), "created": .integer(Int64(mockCreated)),
      "owned_by": .string("ssebench"),
    ])
    let body: JSONValue = name == nil ? .object(["object": .string("list"), "data": .array([model])]) : model
    send(slot, status: 200, contentType: "application/json", body: Array(body.text().utf8))
  }

  // MARK: whole answers

  mutating func send(_ slot: Int, status: Int, contentType: String, body: [UInt8], more: String = "") {
    // For hosts that hold their clocks against this one.
    let time = "X-Ssebench-Time: \(CPlatform_realtime_ns())\r\n"
    sendHead(slot, status: status, contentType: contentType, length: body.count, more: more + time)
    if !connections[slot].pointee.flags.contains(.headOnly) { put(body) }
    afterAnswer(slot)
  }

  mutating func sendError(_ slot: Int, status: Int, message: String, allow: [String] = []) {
    let body: JSONValue = .object([
      "error": .object([
        "message": .string(message), "type": .string("invalid_request_error"),
        "code": .integer(Int64(status)),
      ])
    ])
    send(
      slot, status: status, contentType: "application/json", body: Array(body.text().utf8),
      more: allow.isEmpty ? "" : "Allow: \(allow.joined(separator: ", "))\r\n")
  }

  /// Puts a head into the scratch. `length` nil: the body is chunked, or ends with the connection.
  mutating func sendHead(_ slot: Int, status: Int, contentType: String?, length: Int?, more: String = "") {
    let flags = connections[slot].pointee.flags
    var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
    if let contentType { head += "Content-Type: \(contentType)\r\nCache-Control: no-cache\r\n" }
    if let length {
      // RFC 9110, 8.6: a 204 has no Content-Length.
      if status != 204 { head += "Content-Length: \(length)\r\n" }
    } else if flags.contains(.chunked) {
      head += "Transfer-Encoding: chunked\r\n"
    }
    head += flags.contains(.keepAlive) ? "Connection: keep-alive\r\n" : "Connection: close\r\n"
    head += more + Self.crossOrigin + "\r\n"
    put(head)
  }

  /// A page of any origin may use the mock.
  static let crossOrigin =
    "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: *\r\nAccess-Control-Allow-Methods: GET, POST, HEAD, OPTIONS\r\n"

  /// Sends the scratch, and closes where the connection is not to be kept.
  mutating func afterAnswer(_ slot: Int) {
    guard deliver(slot) else { return }
    if !connections[slot].pointee.flags.contains(.keepAlive) { finish(slot) }
  }

  static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 204: "No Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 413: "Content Too Large"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
  }
}

/// What a path stands for.
enum Route: Equatable {
  case health, time, metrics, events
  case models(String?)
  /// `streams`: whether the path alone says that a stream is wanted; nil: the body says.
  case llm(API, model: String?, streams: Bool?)

  init?(path: String) {
    switch path {
    case "/health", "/": self = .health
    case "/time": self = .time
    case "/metrics": self = .metrics
    case "/events": self = .events
    case "/v1/models": self = .models(nil)
    case "/v1/chat/completions": self = .llm(.openAIChat, model: nil, streams: nil)
    case "/v1/completions": self = .llm(.openAICompletions, model: nil, streams: nil)
    case "/v1/responses": self = .llm(.openAIResponses, model: nil, streams: nil)
    case "/v1/messages": self = .llm(.anthropicMessages, model: nil, streams: nil)
    case "/api/chat": self = .llm(.ollama, model: nil, streams: nil)
    default:
      for prefix in ["/v1beta/models/", "/v1/models/"] where path.hasPrefix(prefix) {
        let rest = path.dropFirst(prefix.count)
        guard let colon = rest.lastIndex(of: ":") else {
          self = .models(String(rest))
          return
        }
        let model = String(rest[..<colon])
        switch rest[rest.index(after: colon)...] {
        case "streamGenerateContent": self = .llm(.gemini, model: model, streams: true)
        case "generateContent": self = .llm(.gemini, model: model, streams: false)
        default: return nil
        }
        return
      }
      return nil
    }
  }

  var methods: [String] {
    switch self {
    case .health, .time, .metrics, .models: ["GET", "HEAD"]
    case .events: ["GET", "HEAD", "POST"]
    case .llm: ["POST"]
    }
  }
}
