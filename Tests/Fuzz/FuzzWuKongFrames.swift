// libFuzzer: bytes as WebSocket frames for both roles, cut into pieces that the first byte chooses, and every message
// on into the JSON frames. Holds when nothing traps, memory stays bounded, and no split changes what is read.

import WuKongIM

/// What a session made of some bytes: messages, and the close code of its error.
private func read(_ bytes: ArraySlice<UInt8>, role: WebSocketRole, size: Int) -> ([WebSocketMessage], UInt16?)
{
  let session = WebSocketSession(role: role)
  var messages: [WebSocketMessage] = []
  var rest = bytes
  while !rest.isEmpty {
    let piece = Array(rest.prefix(size))
    rest = rest.dropFirst(size)
    do { try session.receive(piece) { messages.append($0) } } catch { return (messages, error.closeCode) }
  }
  return (messages, nil)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let data, count > 1 else { return 0 }
  let bytes = Array(UnsafeBufferPointer(start: data, count: count))
  let size = 1 + Int(bytes[0] % 17)
  for role in [WebSocketRole.client, .server] {
    let (whole, code) = read(bytes[1...], role: role, size: .max)
    let (pieces, codeOfPieces) = read(bytes[1...], role: role, size: size)
    precondition(whole == pieces && code == codeOfPieces, "a split changes what is read")
    for case .text(let text) in whole {
      _ = try? ServerFrame(text)
      _ = try? ClientFrame(text)
    }
  }
  if let length = try? UpgradeHead.length(in: bytes[1...]) { _ = try? UpgradeHead(bytes[1..<(1 + length)]) }
  return 0
}
