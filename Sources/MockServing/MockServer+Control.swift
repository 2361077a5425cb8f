// The control pipe: lines in, one JSON line out for each. `stats`, `stats reset`, `sent I J K`, `closes`,
// `priority realtime`. Its end ends the mock, so a mock never outlives the run that started it.

internal import CPlatform
internal import Primitives
internal import Recording

extension MockServer {
  /// Longest line that is read.
  private static let maximumLine = 1 << 20

  mutating func readControl() {
    guard let input = options.controlInput else { return }
    while true {
      let count = SocketCalls.read(input, readBuffer, Self.readCapacity)
      if count < 0, -count == Int(SocketCalls.interrupted) { continue }
      if count < 0, -count == Int(SocketCalls.wouldBlock) { break }
      guard count > 0 else {
        isStopping = true
        return
      }
      controlBytes.append(contentsOf: UnsafeBufferPointer(start: readBuffer, count: count))
      if controlBytes.count > Self.maximumLine {
        isStopping = true
        return
      }
    }
    while let end = controlBytes.firstIndex(of: 0x0A) {
      let line = String(decoding: controlBytes[..<end], as: UTF8.self)
      controlBytes.removeFirst(end + 1)
      let answer = obey(line.split { $0 == " " || $0 == "\r" }.map(String.init))
      if !SocketCalls.writeWhole(options.controlOutput, Array((answer.text() + "\n").utf8)) {
        isStopping = true
      }
    }
  }

  private mutating func obey(_ words: [String]) -> JSONValue {
    switch words.first {
    case "stats":
      let stats = counters.json()
      if words.count > 1, words[1] == "reset" { counters.pace.clear() }
      return .object(["stats": stats])
    case "sent":
      var object = JSONObject()
      for word in words.dropFirst() {
        guard let session = sessions.find(SessionName(Array(word.utf8)).key) else { continue }
        object[word] = .integer(Int64(sessions[session].pointee.highest))
      }
      return .object(["sent": .object(object)])
    case "closes": return .object(["closes": closes.take()])
    case "priority" where words.count == 2 && words[1] == "realtime":
      let refusal = CPlatform_enter_realtime()
      if refusal == 0 { return .object(["ok": .bool(true)]) }
      return .object(["ok": .bool(false), "reason": .string(SocketCalls.text(of: refusal))])
    default:
      return .object([
        "error": .string(
          "no such command; there are: stats, stats reset, sent SESSION…, closes, priority realtime")
      ])
    }
  }
}
