// WebSocket frames through libwslay: bytes in, pieces of frames out; frames in, bytes out. Knows no messages.
//
// wslay's frame functions and not its event functions: these allocate a block for each fragment (a peer that sends
// one-byte fragments costs many times what it sends), close without a code where a frame is malformed, and keep 4 KiB
// more for each connection.

internal import CWslay

/// A piece of a frame's payload, already unmasked. The header's facts are repeated with each piece.
struct FramePiece {
  var isFinal: Bool
  var reserved: UInt8
  var opcode: UInt8
  var isMasked: Bool
  /// Payload bytes of the whole frame.
  var frameLength: UInt64
  /// Valid during the callback only.
  var bytes: UnsafeBufferPointer<UInt8>
}

enum FrameCode {
  static let continuation: UInt8 = 0x0
  static let text: UInt8 = 0x1
  static let binary: UInt8 = 0x2
  static let close: UInt8 = 0x8
  static let ping: UInt8 = 0x9
  static let pong: UInt8 = 0xA
}

final class FrameCodec {
  /// What wslay's callbacks reach: they get one pointer and nothing else.
  private final class Pipe {
    var input = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    var taken = 0
    var output: [UInt8] = []
  }

  private let pipe = Pipe()
  private let context: wslay_frame_context_ptr

  init() {
    var callbacks = wslay_frame_callbacks(
      send_callback: { data, count, _, user in
        guard let data, let user else { return -1 }
        let pipe = Unmanaged<Pipe>.fromOpaque(user).takeUnretainedValue()
        pipe.output.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
        return count
      },
      recv_callback: { buffer, limit, _, user in
        guard let buffer, let user else { return -1 }
        let pipe = Unmanaged<Pipe>.fromOpaque(user).takeUnretainedValue()
        let count = min(limit, pipe.input.count - pipe.taken)
        guard count > 0, let base = pipe.input.baseAddress else { return -1 }
        buffer.update(from: base + pipe.taken, count: count)
        pipe.taken += count
        return count
      },
      genmask_callback: { buffer, count, _ in
        guard let buffer else { return -1 }
        // Masks must not be guessable (RFC 6455, section 10.3).
        var generator = SystemRandomNumberGenerator()
        let mask = generator.next()
        for index in 0..<count { buffer[index] = UInt8(truncatingIfNeeded: mask >> UInt64(index * 8)) }
        return 0
      })
    var made: wslay_frame_context_ptr?
    let code = wslay_frame_context_init(&made, &callbacks, Unmanaged.passUnretained(pipe).toOpaque())
    guard code == 0, let made else { preconditionFailure("libwslay has no memory for a connection") }
    context = made
  }

  deinit { wslay_frame_context_free(context) }

  /// Bytes to send so far.
  var pendingCount: Int { pipe.output.count }

  /// Takes the bytes to send.
  func takeOutput() -> [UInt8] {
    let bytes = pipe.output
    pipe.output = []
    return bytes
  }

  func appendOutput(_ bytes: some Collection<UInt8>) { pipe.output.append(contentsOf: bytes) }

  /// Hands each piece of a frame in `bytes` to `body` until all are read or `body` returns false. False where the
  /// bytes are no frames.
  func read(
    _ bytes: UnsafeBufferPointer<UInt8>, _ body: (FramePiece) throws(WebSocketError) -> Bool
  ) throws(WebSocketError) {
    pipe.input = bytes
    pipe.taken = 0
    defer { pipe.input = UnsafeBufferPointer(start: nil, count: 0) }
    var block = wslay_frame_iocb()
    while true {
      let count = wslay_frame_recv(context, &block)
      if count == Int(WSLAY_ERR_WANT_READ.rawValue) { return }
      if count < 0 {
        throw WebSocketError(.notWebSocket("a length or a control frame that the RFC forbids"))
      }
      let piece = FramePiece(
        isFinal: block.fin != 0, reserved: block.rsv, opcode: block.opcode, isMasked: block.mask != 0,
        frameLength: block.payload_length,
        bytes: UnsafeBufferPointer(start: block.data, count: block.data_length))
      if try !body(piece) { return }
    }
  }

  /// Appends one frame to the output.
  func write(opcode: UInt8, isFinal: Bool, isMasked: Bool, _ payload: UnsafeBufferPointer<UInt8>) {
    var block = wslay_frame_iocb()
    block.fin = isFinal ? 1 : 0
    block.opcode = opcode
    block.mask = isMasked ? 1 : 0
    block.payload_length = UInt64(payload.count)
    block.data = payload.baseAddress
    block.data_length = payload.count
    let count = wslay_frame_send(context, &block)
    precondition(count == payload.count, "libwslay wrote \(count) of \(payload.count) bytes into memory")
  }
}
