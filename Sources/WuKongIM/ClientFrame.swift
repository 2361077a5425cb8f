// What a client sends: the frames of one direction, typed, both ways. The server side reads them, the client side
// writes them.

internal import Primitives

package struct ConnectRequest: Equatable, Sendable {
  package var uid: String
  package var token: String
  package var deviceID: String
  package var deviceFlag: Int
  /// Milliseconds since 1970.
  package var clientTimestamp: Int

  package init(
    uid: String, token: String, deviceID: String, deviceFlag: DeviceFlag = .app, clientTimestamp: Int = 0
  ) {
    self.uid = uid
    self.token = token
    self.deviceID = deviceID
    self.deviceFlag = deviceFlag.rawValue
    self.clientTimestamp = clientTimestamp
  }
}

package struct SendRequest: Equatable, Sendable {
  package var channel: ChannelKey
  package var clientMessageNumber: String
  package var isStream: Bool
  /// The bytes that are stored.
  package var payload: [UInt8]

  package init(channel: ChannelKey, clientMessageNumber: String, isStream: Bool, payload: [UInt8]) {
    self.channel = channel
    self.clientMessageNumber = clientMessageNumber
    self.isStream = isStream
    self.payload = payload
  }
}

package enum ClientFrame: Equatable, Sendable {
  case connect(id: String, ConnectRequest)
  case ping(id: String)
  case send(id: String, SendRequest)
  case receiveAcknowledgement(messageID: String, messageSequence: Int64)
  case disconnect(ReasonCode, reason: String)

  private static let requests = ["connect", "ping", "send"]
  private static let methods = requests + ["recvack", "disconnect"]

  package init(_ bytes: [UInt8]) throws(RPCProblem) {
    switch try RPCEnvelope(bytes) {
    case .request(let id, let method, let params): try self.init(id: id, method: method, params: params)
    case .notification(let method, let params): try self.init(id: nil, method: method, params: params)
    case .result, .failure: throw .noMethodAndNoResult
    }
  }

  private init(id: String?, method: String, params: JSONValue) throws(RPCProblem) {
    guard Self.methods.contains(method) else { throw .unknownMethod(method) }
    if id == nil && Self.requests.contains(method) { throw .missingID(method: method) }
    let id = id ?? ""
    do throws(DecodeProblem) {
      switch method {
      case "connect": self = .connect(id: id, try ConnectRequest(params: params))
      case "ping": self = .ping(id: id)
      case "send": self = .send(id: id, try SendRequest(params: params))
      case "recvack":
        let fields = Fields(params, place: "params")
        self = .receiveAcknowledgement(
          messageID: try fields.key("messageId") ?? "",
          messageSequence: try fields.sequence("messageSeq") ?? 0)
      default:
        let fields = Fields(params, place: "params")
        self = .disconnect(
          ReasonCode(rawValue: try fields.integer("reasonCode") ?? 0),
          reason: try fields.string("reason") ?? "")
      }
    } catch {
      throw .badParams(method: method, error)
    }
  }

  package var bytes: [UInt8] {
    switch self {
    case .connect(let id, let request):
      RPCEnvelope.request(
        id: id, method: "connect",
        params: .object([
          "uid": .string(request.uid), "token": .string(request.token), "deviceId": .string(request.deviceID),
          "deviceFlag": .integer(Int64(request.deviceFlag)),
          "clientTimestamp": .integer(Int64(request.clientTimestamp)),
        ])
      ).bytes
    case .ping(let id): RPCEnvelope.request(id: id, method: "ping", params: .object([:])).bytes
    case .send(let id, let request):
      RPCEnvelope.request(
        id: id, method: "send",
        params: .object([
          "header": .object([:]), "setting": .object(["stream": .bool(request.isStream)]),
          "clientMsgNo": .string(request.clientMessageNumber),
          "channelId": .string(request.channel.id.string),
          "channelType": .integer(Int64(request.channel.type)),
          "payload": MessagePayload.value(request.payload),
        ])
      ).bytes
    case .receiveAcknowledgement(let id, let sequence):
      RPCEnvelope.notification(
        method: "recvack",
        params: .object(["header": .object([:]), "messageId": .string(id), "messageSeq": .integer(sequence)])
      ).bytes
    case .disconnect(let code, let reason):
      RPCEnvelope.notification(
        method: "disconnect",
        params: .object(["reasonCode": .integer(Int64(code.rawValue)), "reason": .string(reason)])
      ).bytes
    }
  }
}

extension ConnectRequest {
  init(params: JSONValue) throws(DecodeProblem) {
    guard params.asObject != nil else { throw .notAnObject("params") }
    let fields = Fields(params, place: "params")
    guard let uid = try fields.key("uid"), !uid.isEmpty else { throw .missing("params.uid") }
    self.init(uid: uid, token: try fields.key("token") ?? "", deviceID: try fields.key("deviceId") ?? "")
    deviceFlag = try fields.integer("deviceFlag") ?? 0
    clientTimestamp = try fields.integer("clientTimestamp") ?? 0
  }
}

extension SendRequest {
  init(params: JSONValue) throws(DecodeProblem) {
    guard params.asObject != nil else { throw .notAnObject("params") }
    let fields = Fields(params, place: "params")
    guard let id = try fields.key("channelId"), !id.isEmpty else { throw .missing("params.channelId") }
    guard let type = try fields.integer("channelType") else { throw .missing("params.channelType") }
    let isStream =
      try fields.object("setting").map { Fields($0, place: "params.setting") }?.bool("stream") ?? false
    guard let payload = MessagePayload.bytes(params["payload"] ?? .null) else {
      throw .wrongType("params.payload", expected: "an object, JSON text, Base64 or null")
    }
    self.init(
      channel: ChannelKey(id: ByteText(id), type: type),
      clientMessageNumber: try fields.key("clientMsgNo") ?? "",
      isStream: isStream, payload: payload)
  }
}

/// A message's payload: bytes in store, on the wire an object where they are one and Base64 where not.
enum MessagePayload {
  static func value(_ bytes: [UInt8]) -> JSONValue {
    if let document = try? JSONReader.read(bytes), document.asObject != nil { return document }
    return .string(Base64.encode(bytes))
  }

  /// The bytes that an object, JSON text, Base64 or null stand for; nil for anything else.
  static func bytes(_ value: JSONValue) -> [UInt8]? {
    switch value {
    case .null: []
    case .object: Array(value.text().utf8)
    case .string(let text):
      if (try? JSONReader.read(text))?.asObject != nil {
        Array(text.utf8)
      } else {
        Base64.decode(Array(text.utf8))
      }
    default: nil
    }
  }
}
