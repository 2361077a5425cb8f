// libFuzzer: bytes as JSON-RPC frames of both directions, as a line of `ssebench timeline`, and as a body of the mock's
// HTTP side. Holds when nothing traps and the fast way for events says what the strict one says.

import Primitives
import WuKongIM

private func timeline(_ bytes: [UInt8], _ rules: TimelineRules) {
  var replay = TimelineReplay(rules: rules)
  for line in bytes.split(separator: 0x0A, maxSplits: 64) { try? replay.feed(Array(line)) }
  let rows = replay.timeline.rows
  precondition(rows.count <= 40 && rows.allSatisfy { $0.string.utf16.count <= 16_384 }, "a bound is passed")
  precondition(
    rows.allSatisfy { String(validating: $0.text, as: UTF8.self) != nil }, "a text that is not UTF-8")
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let data else { return 0 }
  let bytes = Array(UnsafeBufferPointer(start: data, count: count))
  let fast = try? ServerFrame(bytes)
  let strict = try? ServerFrame(strictly: bytes)
  precondition(fast == strict, "the fast way differs")
  if let frame = try? ClientFrame(bytes) {
    precondition((try? ClientFrame(frame.bytes)) == frame, "a client frame does not read back")
  }
  for rules in TimelineRules.allCases { timeline(bytes, rules) }
  let server = WuKongServer()
  for path in [
    "/user/token", "/channel", "/message/send", "/message/event", "/channel/messagesync",
    "/channel/messagesyncbatch",
  ] {
    _ = server.handle(method: "POST", target: path, body: bytes, wallMilliseconds: 0)
  }
  return 0
}
