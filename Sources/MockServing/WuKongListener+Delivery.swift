// From the model's deliveries to frames on connections, with the faults that act on single receivers.

internal import Primitives
internal import WuKongIM

extension WuKongListener {
  /// Sends what the model has queued. A message's sender does not get its own `recv` on the same connection.
  func distribute(exceptBaseTo sender: UInt64? = nil) {
    for delivery in server.takeDeliveries() {
      let frame = encode(delivery.bytes)
      for uid in delivery.receivers {
        for id in connectionsByUID[uid] ?? [] {
          guard let connection = connections[id], !(delivery.kind == .base && id == sender) else { continue }
          if faults.isEmpty {
            send(frame, to: connection)
          } else {
            send(delivery, frame, withFaultsTo: connection)
          }
        }
      }
    }
  }

  /// A server's frame carries no mask, so one encoding serves all.
  private func encode(_ text: [UInt8], fragments: Int = 1) -> [UInt8] {
    encoder.send(text: text, fragments: fragments)
    return encoder.takeOutput()
  }

  private func send(_ frame: [UInt8], to connection: WuKongConnection) {
    if connection.isEnding { return }
    // Best effort: a receiver that does not read loses events, and nobody waits for it.
    if connection.pendingCount + frame.count > WuKongConnection.maximumOutput {
      droppedDeliveries += 1
      return
    }
    connection.webSocket?.send(encoded: frame)
    touched.insert(connection.id)
  }

  private func send(_ delivery: Delivery, _ plain: [UInt8], withFaultsTo connection: WuKongConnection) {
    if connection.isEnding { return }
    guard case .event = delivery.kind else {
      sendBase(plain, to: connection)
      return
    }
    if faults.strikes(.kick) != nil {
      kick(connection)
      return
    }
    var frame = plain
    if faults.strikes(.halfPair) != nil { frame = encode(Self.withHalfPair(delivery.bytes)) }
    if faults.strikes(.fragment) != nil { frame = fragmented(delivery.bytes) }
    if faults.strikes(.dropEvent) != nil { return }
    if faults.strikes(.cutFrame) != nil {
      cut(frame, at: 1 + faults.below(frame.count - 1), connection)
      return
    }
    if let scalar = Self.insideScalar(frame), faults.strikes(.cutScalar) != nil {
      cut(frame, at: scalar, connection)
      return
    }
    if let delay = faults.strikes(.delayEvent) {
      let id = connection.id
      schedule(after: delay.length) { listener in
        if let connection = listener.connections[id] { listener.send(frame, to: connection) }
      }
      return
    }
    if connection.heldBack == nil, faults.strikes(.reorderEvent) != nil {
      connection.heldBack = frame
      return
    }
    send(frame, to: connection)
    if faults.strikes(.duplicateEvent) != nil { send(frame, to: connection) }
    if faults.strikes(.otherPayload) != nil {
      send(encode(Self.withOtherText(delivery.bytes)), to: connection)
    }
    if let held = connection.heldBack {
      connection.heldBack = nil
      send(held, to: connection)
    }
  }

  private func sendBase(_ frame: [UInt8], to connection: WuKongConnection) {
    if connection.heldBack == nil, faults.strikes(.lateBase) != nil {
      connection.heldBack = frame
      return
    }
    send(frame, to: connection)
    if faults.strikes(.closeAfterBase) != nil {
      connection.webSocket?.close(code: 1001)
      connection.isEnding = true
    }
  }

  /// Three fragments with a ping between them.
  private func fragmented(_ text: [UInt8]) -> [UInt8] {
    let pieces = encode(text, fragments: 3)
    encoder.ping([0x70])
    let ping = encoder.takeOutput()
    // The first fragment's frame ends where its own header says.
    let length =
      pieces[1] < 126
      ? Int(pieces[1]) + 2 : pieces[1] == 126 ? Int(pieces[2]) << 8 + Int(pieces[3]) + 4 : pieces.count
    return Array(pieces[..<length]) + ping + Array(pieces[length...])
  }

  private func cut(_ frame: [UInt8], at count: Int, _ connection: WuKongConnection) {
    connection.webSocket?.send(encoded: Array(frame[..<count]))
    connection.isEnding = true
    touched.insert(connection.id)
  }

  /// A place between the bytes of one scalar.
  static func insideScalar(_ frame: [UInt8]) -> Int? { frame.firstIndex { $0 & 0xC0 == 0x80 } }

  /// The first scalar of four bytes becomes its high surrogate alone, escaped for the inner JSON.
  static func withHalfPair(_ text: [UInt8]) -> [UInt8] {
    guard let at = text.firstIndex(where: { $0 >= 0xF0 }), at + 4 <= text.count else { return text }
    let scalar =
      UInt32(text[at] & 7) << 18 | UInt32(text[at + 1] & 63) << 12 | UInt32(text[at + 2] & 63) << 6
      | UInt32(text[at + 3] & 63)
    let high = 0xD800 + (scalar - 0x10000) >> 10
    return Array(text[..<at]) + Array("\\\\u\(String(high, radix: 16))".utf8) + Array(text[(at + 4)...])
  }

  /// The text of a delta becomes as many bytes of another one.
  static func withOtherText(_ frame: [UInt8]) -> [UInt8] {
    guard let document = try? JSONReader.read(frame), var outer = document.asObject,
      var params = outer["params"]?.asObject,
      let data = params["data"]?.asString, let inner = try? JSONReader.read(data),
      var object = inner.asObject,
      var payload = object["payload"]?.asObject, let delta = payload["delta"]?.asString
    else { return frame }
    payload["delta"] = .string(String(repeating: "z", count: delta.utf8.count))
    object["payload"] = .object(payload)
    params["data"] = .string(JSONValue.object(object).text())
    outer["params"] = .object(params)
    return Array(JSONValue.object(outer).text().utf8)
  }
}
