// A recording served in place of made-up streams: each read of the recording at its time after the request.

internal import Primitives

extension MockServer {
  /// Begins the recording on this connection.
  mutating func startRecording(_ slot: Int, _ recording: RecordedStream) {
    let connection = connections[slot]
    counters.streams += 1
    connection.pointee.phase = .streaming
    connection.pointee.flags.insert(.replaysRecording)
    connection.pointee.next = 1
    connection.pointee.last = recording.reads.count
    connection.pointee.bodyCount = 0
    connection.pointee.responseStart = Instant.now().nanoseconds
    var more = ""
    // The framing and the coding of the body are ours.
    for header in recording.headers
    where ![
      "content-type", "content-length", "transfer-encoding", "connection", "cache-control", "date",
      "content-encoding",
    ]
    .contains(header.name) && !header.name.hasPrefix("access-control-") {
      more += "\(header.name): \(header.value.filter { !$0.isNewline })\r\n"
    }
    sendHead(
      slot, status: recording.status,
      contentType: recording.header("content-type").map { $0.filter { !$0.isNewline } },
      length: nil, more: more)
    pumpRecording(slot)
  }

  mutating func pumpRecording(_ slot: Int) {
    let connection = connections[slot]
    guard let recording, connection.pointee.pendingOutput == 0 else { return }
    let now = Instant.now().nanoseconds
    while connection.pointee.next <= connection.pointee.last {
      let read = recording.reads[connection.pointee.next - 1]
      let due = connection.pointee.responseStart + read.at.value
      if due > now {
        guard deliver(slot) else { return }
        if connection.pointee.pendingOutput == 0 { setPace(slot, at: due) }
        return
      }
      if !read.bytes.isEmpty { putBody(slot, read.bytes) }
      connection.pointee.next += 1
      counters.events += 1
      if scratchCount >= Self.turnBytes {
        guard deliver(slot) else { return }
        if connection.pointee.pendingOutput > 0 { return }
      }
    }
    if recording.end != "complete" { connection.pointee.flags.insert(.endsAbruptly) }
    connection.pointee.flags.remove(.replaysRecording)
    connection.pointee.next = 1
    closeBody(slot)
  }
}
