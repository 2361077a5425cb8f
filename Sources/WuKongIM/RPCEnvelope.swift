// JSON-RPC as WuKongIM speaks it, without the meaning of its methods: bytes become an envelope or a typed problem.
// Ids are strings; `jsonrpc` may be absent; batches do not exist.

package import Primitives

package enum RPCProblem: Error, Equatable, Sendable {
  case tooBig(limit: Int)
  case notJSON(JSONSyntaxError)
  case notAnObject
  case batch
  case wrongVersion
  case idNotAString
  case noMethodAndNoResult
  case unknownMethod(String)
  case badParams(method: String, DecodeProblem)
  /// A method that is a request came without an id.
  case missingID(method: String)

  package var message: String {
    switch self {
    case .tooBig(let limit): "a frame over \(limit) bytes"
    case .notJSON(let error): "not JSON: \(error.message)"
    case .notAnObject: "a frame that is not a JSON object"
    case .batch: "a batch; batches are not implemented"
    case .wrongVersion: "jsonrpc is not \"2.0\""
    case .idNotAString: "an id that is not a string"
    case .noMethodAndNoResult: "neither method nor result nor error"
    case .unknownMethod(let name): "unknown method '\(name.prefix(40))'"
    case .badParams(let method, let problem): "\(method): \(problem)"
    case .missingID(let method): "\(method) without an id"
    }
  }
}

package enum RPCEnvelope: Equatable, Sendable {
  case request(id: String, method: String, params: JSONValue)
  case notification(method: String, params: JSONValue)
  case result(id: String, JSONValue)
  case failure(id: String?, code: Int, message: String)

  /// Inbound and outbound bound of one frame.
  package static let maximumBytes = 1 << 20

  package init(_ bytes: [UInt8]) throws(RPCProblem) {
    if bytes.count > Self.maximumBytes { throw .tooBig(limit: Self.maximumBytes) }
    let document: JSONValue
    do throws(JSONSyntaxError) { document = try JSONReader.read(bytes) } catch { throw .notJSON(error) }
    if document.asArray != nil { throw .batch }
    guard document.asObject != nil else { throw .notAnObject }
    if let version = document["jsonrpc"], version != .string("2.0") { throw .wrongVersion }
    var id: String?
    if let value = document["id"], !value.isNull {
      guard let text = value.asString else { throw .idNotAString }
      id = text
    }
    if let method = document["method"]?.asString {
      let params = document["params"] ?? .object([:])
      if let id {
        self = .request(id: id, method: method, params: params)
      } else {
        self = .notification(method: method, params: params)
      }
    } else if let error = document["error"], !error.isNull {
      self = .failure(id: id, code: error["code"]?.asInt ?? 0, message: error["message"]?.asString ?? "")
    } else if let result = document["result"], let id {
      self = .result(id: id, result)
    } else {
      throw .noMethodAndNoResult
    }
  }

  package var bytes: [UInt8] {
    var object = JSONObject([("jsonrpc", .string("2.0"))])
    switch self {
    case .request(let id, let method, let params):
      object["id"] = .string(id)
      object["method"] = .string(method)
      object["params"] = params
    case .notification(let method, let params):
      object["method"] = .string(method)
      object["params"] = params
    case .result(let id, let result):
      object["id"] = .string(id)
      object["result"] = result
    case .failure(let id, let code, let message):
      object["id"] = id.map { .string($0) } ?? .null
      object["error"] = .object(["code": .integer(Int64(code)), "message": .string(message)])
    }
    return Array(JSONValue.object(object).text().utf8)
  }
}
