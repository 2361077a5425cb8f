// One accepted connection of the WuKongIM listener: bytes that wait in both directions, HTTP until an upgrade, a
// WebSocket after it. The listener decides what the messages mean.

internal import EventLoops
internal import Primitives
internal import WuKongIM

final class WuKongConnection {
  /// Of one session: what waits for a peer that does not read.
  static let maximumOutput = 1 << 20

  let id: UInt64
  let descriptor: Int32
  var input: [UInt8] = []
  private var output: [UInt8] = []
  private var sent = 0
  var webSocket: WebSocketSession?
  var session: ServerConnection?
  var uid: ByteText?
  var deviceID = ""
  var deviceFlag = 0
  /// Close when the output is flushed.
  var isEnding = false
  /// Our direction has ended; what still comes is thrown away.
  var isLingering = false
  var waitsForWriting = false
  /// An HTTP answer is outstanding; what comes after it waits.
  var isAnswering = false
  /// A held-back event of the fault `reorder_event`.
  var heldBack: [UInt8]?
  /// Bytes written to the socket.
  var bytesOut = 0

  init(id: UInt64, descriptor: Int32) {
    self.id = id
    self.descriptor = descriptor
  }

  var pendingCount: Int { output.count - sent + (webSocket?.pendingOutputCount ?? 0) }

  func append(_ bytes: [UInt8]) { output.append(contentsOf: bytes) }

  /// Writes what it can. False when the connection is gone.
  func flush() -> Bool {
    if let webSocket, webSocket.hasOutput {
      if output.isEmpty {
        output = webSocket.takeOutput()
      } else {
        output.append(contentsOf: webSocket.takeOutput())
      }
    }
    while sent < output.count {
      let outcome = output.withUnsafeBufferPointer { buffer in
        StreamSocket.transmit(descriptor, UnsafeBufferPointer(rebasing: buffer[sent...]))
      }
      switch outcome {
      case .bytes(let count):
        sent += count
        bytesOut += count
      case .wouldBlock: return true
      case .ended: return false
      }
    }
    output.removeAll(keepingCapacity: output.capacity <= 65_536)
    sent = 0
    return true
  }
}
