// What a server sends: answers, and the notifications recv, event and disconnect. The client side reads them, the
// server side writes them. Unknown notifications are ignored by clients, so they are a case and no error.

package import Primitives

package struct ConnectResult: Equatable, Sendable {
  package var serverVersion = 5
  /// Milliseconds that the client's clock is ahead.
  package var timeDifference = 0
  package var reasonCode = ReasonCode.success
  package var nodeID = 1

  package init() {}
}

package enum ServerFrame: Equatable, Sendable {
  case result(id: String, JSONValue)
  case failure(id: String?, code: Int, message: String)
  case receive(BaseMessage)
  case event(StreamEvent)
  /// An `event` that cannot be read: dropped and counted (R16).
  case undecodableEvent(DecodeProblem)
  case disconnect(ReasonCode, reason: String)
  case unknown(method: String)

  /// Reads a frame. A frame that is JSON but for half a surrogate pair is an undecodable event, not a broken peer.
  package init(_ bytes: [UInt8]) throws(RPCProblem) {
    if bytes.count <= RPCEnvelope.maximumBytes, let event = EventScanner.event(in: bytes) {
      self = .event(event)
      return
    }
    try self.init(strictly: bytes)
  }

  /// The same without the fast way for events, which must not differ.
  package init(strictly bytes: [UInt8]) throws(RPCProblem) {
    let envelope: RPCEnvelope
    do throws(RPCProblem) {
      envelope = try RPCEnvelope(bytes)
    } catch {
      guard case .notJSON(let syntax) = error, let repaired = LoneSurrogates.replaced(in: bytes),
        (try? RPCEnvelope(repaired)) != nil
      else { throw error }
      self = .undecodableEvent(.notJSON("frame", syntax))
      return
    }
    switch envelope {
    case .result(let id, let result): self = .result(id: id, result)
    case .failure(let id, let code, let message): self = .failure(id: id, code: code, message: message)
    case .request(_, let method, let params), .notification(let method, let params):
      try self.init(method: method, params: params)
    }
  }

  private init(method: String, params: JSONValue) throws(RPCProblem) {
    do throws(DecodeProblem) {
      switch method {
      case "event":
        do throws(DecodeProblem) { self = .event(try StreamEvent(params: params)) } catch {
          self = .undecodableEvent(error)
        }
      case "recv": self = .receive(try BaseMessage(params: params))
      case "disconnect":
        let fields = Fields(params, place: "params")
        self = .disconnect(
          ReasonCode(rawValue: try fields.integer("reasonCode") ?? 0),
          reason: try fields.string("reason") ?? "")
      default: self = .unknown(method: method)
      }
    } catch {
      throw .badParams(method: method, error)
    }
  }

  // MARK: What the server writes

  package static func connectResult(id: String, _ result: ConnectResult) -> [UInt8] {
    let (version, difference) = (
      JSONValue.integer(Int64(result.serverVersion)), JSONValue.integer(Int64(result.timeDifference))
    )
    let (reason, node) = (
      JSONValue.integer(Int64(result.reasonCode.rawValue)), JSONValue.integer(Int64(result.nodeID))
    )
    return RPCEnvelope.result(
      id: id,
      .object([
        "header": .object([:]), "serverVersion": version, "serverKey": .string(""), "salt": .string(""),
        "timeDiff": difference, "reasonCode": reason, "nodeId": node,
        "server_version": version, "server_key": .string(""), "time_diff": difference, "reason_code": reason,
        "node_id": node,
      ])
    ).bytes
  }

  package static func sendResult(id: String, messageID: Int64, messageSequence: Int64, _ code: ReasonCode)
    -> [UInt8]
  {
    let (message, reason) = (JSONValue.string(String(messageID)), JSONValue.integer(Int64(code.rawValue)))
    return RPCEnvelope.result(
      id: id,
      .object([
        "messageId": message, "messageSeq": .integer(messageSequence), "reasonCode": reason,
        "message_id": message, "message_seq": .integer(messageSequence), "reason_code": reason,
      ])
    ).bytes
  }

  package static func pong(id: String) -> [UInt8] { RPCEnvelope.result(id: id, .null).bytes }

  package static func failure(id: String?, _ code: ReasonCode, _ message: String) -> [UInt8] {
    RPCEnvelope.failure(id: id, code: code.rawValue, message: message).bytes
  }

  package static func disconnect(_ code: ReasonCode, reason: String) -> [UInt8] {
    RPCEnvelope.notification(
      method: "disconnect",
      params: .object(["reasonCode": .integer(Int64(code.rawValue)), "reason": .string(reason)])
    ).bytes
  }
}
