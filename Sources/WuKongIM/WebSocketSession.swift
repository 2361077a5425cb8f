// One WebSocket connection after its handshake (RFC 6455), either side: bytes in, messages out; messages in, bytes out.
// FrameCodec reads and writes the frames; what they mean together (fragments, control frames between them, close,
// UTF-8, limits) is decided here. Knows no socket, no handshake, no time.

package enum WebSocketRole: Sendable { case client, server }

package struct WebSocketLimits: Sendable {
  /// Bytes of one message, all fragments together.
  package var messageBytes = 1 << 20
  /// Fragments of one message.
  package var fragments = 4_096

  package init() {}
}

/// What arrived. Pings are answered before they are reported; a close is echoed before it is reported.
package enum WebSocketMessage: Equatable, Sendable {
  case text([UInt8])
  case binary([UInt8])
  case ping([UInt8])
  case pong([UInt8])
  /// The peer's close; 1005 where it gave no code.
  case close(code: UInt16, reason: String)
}

/// Not `Sendable`: it belongs to one loop.
package final class WebSocketSession {
  package enum State: Sendable {
    case open
    /// Our close is out, the peer's is not in.
    case closing
    /// Both closes passed, or the session failed: flush and end the connection.
    case closed
  }

  package let role: WebSocketRole
  package let limits: WebSocketLimits
  package private(set) var state = State.open

  private let codec = FrameCodec()

  /// The opcode of the message that is open; nil between messages.
  private var openOpcode: UInt8?
  private var message: [UInt8] = []
  private var fragmentCount = 0
  private var textCheck = UTF8Check()
  private var control: [UInt8] = []
  /// Payload bytes that the frame being read still misses; nil between frames.
  private var missing: UInt64?

  package init(role: WebSocketRole, limits: WebSocketLimits = WebSocketLimits()) {
    self.role = role
    self.limits = limits
  }

  /// Whether bytes wait for `takeOutput`.
  package var hasOutput: Bool { codec.pendingCount > 0 }
  package var pendingOutputCount: Int { codec.pendingCount }

  /// The bytes to send, in order; they are not kept.
  package func takeOutput() -> [UInt8] { codec.takeOutput() }

  // MARK: In

  /// Reads what the peer sent. After an error the session is closed and its close frame waits in the output.
  package func receive(_ bytes: [UInt8], _ body: (WebSocketMessage) -> Void) throws(WebSocketError) {
    try bytes.withUnsafeBufferPointer { (buffer) throws(WebSocketError) in try receive(buffer, body) }
  }

  /// The same, from memory that is only borrowed.
  package func receive(
    _ bytes: UnsafeBufferPointer<UInt8>, _ body: (WebSocketMessage) -> Void
  ) throws(WebSocketError) {
    if state == .closed { return }
    do throws(WebSocketError) {
      try codec.read(bytes) { (piece) throws(WebSocketError) in
        try accept(piece, body)
        return state != .closed
      }
    } catch {
      fail(error)
      throw error
    }
  }

  private func accept(_ piece: FramePiece, _ body: (WebSocketMessage) -> Void) throws(WebSocketError) {
    if missing == nil { try begin(piece) }
    let left = (missing ?? 0) - UInt64(piece.bytes.count)
    let isControl = piece.opcode & 0x8 != 0
    if isControl {
      control.append(contentsOf: piece.bytes)
    } else {
      if openOpcode == FrameCode.text, !textCheck.accept(piece.bytes) { throw WebSocketError(.notUTF8) }
      message.append(contentsOf: piece.bytes)
    }
    if left > 0 {
      missing = left
      return
    }
    missing = nil
    if isControl {
      let payload = control
      control = []
      try finishControl(piece.opcode, payload, body)
    } else if piece.isFinal {
      try finishMessage(body)
    }
  }

  /// The rules for a frame's header: sections 5.1, 5.2, 5.4 and 5.5.
  private func begin(_ piece: FramePiece) throws(WebSocketError) {
    if piece.reserved != 0 { throw WebSocketError(.notWebSocket("a reserved bit without an extension")) }
    if piece.isMasked != (role == .server) {
      throw WebSocketError(
        .notWebSocket(role == .server ? "a client's frame without a mask" : "a server's frame with a mask"))
    }
    switch piece.opcode {
    case FrameCode.continuation:
      if openOpcode == nil { throw WebSocketError(.notWebSocket("a continuation of nothing")) }
      fragmentCount += 1
    case FrameCode.text, FrameCode.binary:
      if openOpcode != nil { throw WebSocketError(.notWebSocket("a new message inside a fragmented one")) }
      openOpcode = piece.opcode
      fragmentCount = 1
      textCheck = UTF8Check()
    case FrameCode.close, FrameCode.ping, FrameCode.pong:
      missing = piece.frameLength
      return
    default: throw WebSocketError(.notWebSocket("the reserved opcode \(piece.opcode)"))
    }
    if fragmentCount > limits.fragments { throw WebSocketError(.tooManyFragments(limit: limits.fragments)) }
    if piece.frameLength > UInt64(limits.messageBytes - message.count) {
      throw WebSocketError(.messageTooBig(limit: limits.messageBytes))
    }
    missing = piece.frameLength
  }

  private func finishMessage(_ body: (WebSocketMessage) -> Void) throws(WebSocketError) {
    let isText = openOpcode == FrameCode.text
    if isText && !textCheck.isComplete { throw WebSocketError(.notUTF8) }
    let payload = message
    message = []
    openOpcode = nil
    // After our own close the peer's messages no longer matter.
    if state == .open { body(isText ? .text(payload) : .binary(payload)) }
  }

  private func finishControl(
    _ opcode: UInt8, _ payload: [UInt8], _ body: (WebSocketMessage) -> Void
  ) throws(WebSocketError) {
    switch opcode {
    case FrameCode.ping:
      if state == .open { write(FrameCode.pong, payload) }
      body(.ping(payload))
    case FrameCode.pong: body(.pong(payload))
    default: try finishClose(payload, body)
    }
  }

  private func finishClose(_ payload: [UInt8], _ body: (WebSocketMessage) -> Void) throws(WebSocketError) {
    if payload.count == 1 { throw WebSocketError(.notWebSocket("a close code of one byte")) }
    var code: UInt16 = 1005
    var reason = ""
    if payload.count >= 2 {
      code = UInt16(payload[0]) << 8 | UInt16(payload[1])
      if !Self.isCloseCode(code) { throw WebSocketError(.notWebSocket("the close code \(code)")) }
      guard let text = String(validating: payload[2...], as: UTF8.self) else {
        throw WebSocketError(.notUTF8)
      }
      reason = text
    }
    if state == .open { write(FrameCode.close, Array(payload.prefix(2))) }
    state = .closed
    body(.close(code: code, reason: reason))
  }

  /// Codes that may stand in a frame: section 7.4, and the registry's 1012 to 1014.
  static func isCloseCode(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  private func fail(_ error: WebSocketError) {
    if state == .open {
      write(FrameCode.close, [UInt8(error.closeCode >> 8), UInt8(error.closeCode & 0xFF)])
    }
    state = .closed
    message = []
    control = []
  }

  // MARK: Out

  /// Appends a text message to the output. The bytes must be UTF-8; in `fragments` above 1 it is cut into that many.
  package func send(text: [UInt8], fragments: Int = 1) { send(FrameCode.text, text, fragments) }

  package func send(binary: [UInt8], fragments: Int = 1) { send(FrameCode.binary, binary, fragments) }

  /// Appends frames that were made by a session of the same role; a server's frames carry no mask, so one encoding
  /// serves all receivers.
  package func send(encoded frames: [UInt8]) {
    if state == .open { codec.appendOutput(frames) }
  }

  /// At most 125 bytes; more are cut off.
  package func ping(_ payload: [UInt8] = []) {
    if state == .open { write(FrameCode.ping, Array(payload.prefix(125))) }
  }

  package func pong(_ payload: [UInt8] = []) {
    if state == .open { write(FrameCode.pong, Array(payload.prefix(125))) }
  }

  /// Begins the closing handshake. The reason is cut at 123 bytes, on a scalar boundary.
  package func close(code: UInt16 = 1000, reason: String = "") {
    guard state == .open else { return }
    var text = Array(reason.utf8.prefix(123))
    while !text.isEmpty, !UTF8Check.isUTF8(text) { text.removeLast() }
    write(FrameCode.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + text)
    state = .closing
  }

  private func send(_ opcode: UInt8, _ payload: [UInt8], _ fragments: Int) {
    guard state == .open else { return }
    let pieces = max(1, min(fragments, payload.count))
    for index in 0..<pieces {
      let range = payload.count * index / pieces..<payload.count * (index + 1) / pieces
      write(
        index == 0 ? opcode : FrameCode.continuation, Array(payload[range]), isFinal: index == pieces - 1)
    }
  }

  private func write(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) {
    payload.withUnsafeBufferPointer {
      codec.write(opcode: opcode, isFinal: isFinal, isMasked: role == .client, $0)
    }
  }
}
