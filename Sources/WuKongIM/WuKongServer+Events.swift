// POST /message/event: normalisation, idempotency, lanes, and who is told (C4).

internal import Primitives

extension WuKongServer {
  /// A request of /message/event after normalisation.
  private struct EventRequest {
    var channel: ChannelKey
    var sender: ByteText
    var messageNumber: ByteText
    var id: ByteText
    var type: String
    var kind: StreamEvent.Kind
    var lane: ByteText
    var isPrivate: Bool
    var payload: JSONValue

    init(_ body: JSONValue) throws(DecodeProblem) {
      guard body.asObject != nil else { throw .notAnObject("body") }
      let fields = Fields(body, place: "body")
      func trimmed(_ name: String) throws(DecodeProblem) -> String {
        UpgradeHead.trimmed((try fields.key(name) ?? "")[...])
      }
      func required(_ name: String) throws(DecodeProblem) -> String {
        let text = try trimmed(name)
        if text.isEmpty { throw .missing(name) }
        return text
      }
      let id = try required("channel_id")
      guard let type = try fields.integer("channel_type"), type != 0 else { throw .missing("channel_type") }
      channel = ChannelKey(id: ByteText(id), type: type)
      messageNumber = ByteText(try required("client_msg_no"))
      self.id = ByteText(try required("event_id"))
      self.type = try required("event_type").lowercased()
      kind = StreamEvent.Kind(self.type)
      sender = ByteText(try trimmed("from_uid"))
      let key = try trimmed("event_key")
      lane = kind == .finish ? MessageStream.finishLane : key.isEmpty ? StreamEvent.mainLane : ByteText(key)
      let visibility = try trimmed("visibility")
      isPrivate = !visibility.isEmpty && visibility.lowercased() != "public"
      payload = body["payload"] ?? .null
      if let headers = body["headers"], !headers.isNull {
        throw .wrongType("headers", expected: "no headers")
      }
    }
  }

  func appendEvent(_ body: JSONValue, wallMilliseconds: Int) -> HTTPAnswer {
    let request: EventRequest
    do throws(DecodeProblem) { request = try EventRequest(body) } catch {
      return .refused("invalid request: \(error)")
    }
    guard request.kind != .unknownStream, request.kind != .foreign else {
      return .refused("unknown event_type '\(request.type)'")
    }
    let key = storedKey(request.channel, seenBy: request.sender)
    guard channels[key] != nil else { return .refused("channel not found") }
    counts.events += 1

    let base = channels[key]?.message(request.messageNumber)
    if !request.isPrivate {
      // Checked before anything is stored, for repeats too.
      guard let base, base.isStream, base.isPersisted, !base.isSyncOnce, base.sender == request.sender else {
        return .refused("committed stream base message required")
      }
      if fanOuts >= settings.concurrentFanOuts {
        counts.busy += 1
        return .refused("stream event admission busy; retry the same event_id")
      }
    }
    let isNew = channels[key]?.streams[request.messageNumber] == nil
    if isNew && openStreamCount >= settings.openStreams {
      return .refused("message event stream cache backpressured")
    }

    if let known = channels[key]?.streams[request.messageNumber]?.result(of: request.id) {
      counts.repeats += 1
      if settings.repeatsAreBroadcast && !known.isDurable && known.status == .open {
        broadcast(request, known, base, in: key, wallMilliseconds)
      }
      return answer(request, known)
    }
    // Taken out while it changes, so that its texts are not copied.
    var stream = channels[key]?.streams.removeValue(forKey: request.messageNumber) ?? MessageStream()
    let wasOpen = stream.hasOpenLane
    defer { channels[key]?.streams[request.messageNumber] = stream }
    do throws(MessageStream.Problem) {
      let (state, applied) = try stream.apply(
        request.kind, id: request.id, lane: request.lane, isPrivate: request.isPrivate,
        payload: request.payload)
      openStreamCount += (stream.hasOpenLane ? 1 : 0) - (wasOpen ? 1 : 0)
      if applied {
        let hidden = stream.lanes[request.lane]?.isPrivate ?? false
        if !hidden {
          broadcast(request, state, base, in: key, wallMilliseconds, merged: stream.lanes[request.lane])
        }
      }
      return answer(request, state)
    } catch {
      if error == .cacheMiss { counts.cacheMisses += 1 }
      return .refused(error.rawValue)
    }
  }

  private func answer(_ request: EventRequest, _ state: EventState) -> HTTPAnswer {
    HTTPAnswer(
      200,
      .object([
        "status": .integer(200),
        "data": .object([
          "client_msg_no": .string(request.messageNumber.string), "event_key": .string(state.lane.string),
          "event_id": .string(request.id.string), "msg_event_seq": .integer(Int64(state.sequence)),
          "stream_status": .string(state.status.rawValue), "channel_id": .string(request.channel.id.string),
          "channel_type": .integer(Int64(request.channel.type)), "from_uid": .string(request.sender.string),
        ]),
      ]))
  }

  /// Queues the notification for the members. `merged` is the lane of a terminal event, whose text goes along where the
  /// request had none.
  private func broadcast(
    _ request: EventRequest, _ state: EventState, _ base: StoredMessage?, in key: ChannelKey,
    _ wallMilliseconds: Int,
    merged lane: StreamLane? = nil
  ) {
    guard !request.isPrivate, let base else { return }
    counts.broadcasts += 1
    var payload = request.payload.isNull ? JSONValue.object([:]) : request.payload
    var offset: Int?
    if request.kind == .delta, let delta = MessageStream.textDelta(request.payload) {
      // Of a repeat with another payload this is what the original computes: from the old text.
      offset = max(0, state.textEnd - delta.utf8.count)
    } else if let lane, lane.isDurable, LaneSnapshot(posted: request.payload) == .none,
      let value = lane.snapshot.value
    {
      var object = payload.asObject ?? JSONObject()
      object["snapshot"] = value
      payload = .object(object)
    }
    for view in views(key) {
      var data = JSONObject([
        ("channel_id", .string(view.seen.string)), ("channel_type", .integer(Int64(key.type))),
        ("from_uid", .string(request.sender.string)), ("message_id", .string(String(base.id))),
        ("message_seq", .string(String(base.sequence))),
        ("client_msg_no", .string(request.messageNumber.string)),
        ("event_id", .string(request.id.string)), ("event_key", .string(request.lane.string)),
        ("event_type", .string(request.type)), ("timestamp", .integer(Int64(wallMilliseconds))),
      ])
      if let offset { data["text_offset"] = .integer(Int64(offset)) }
      data["payload"] = payload
      let bytes = RPCEnvelope.notification(
        method: "event",
        params: .object([
          "id": .string(request.id.string), "type": .string(request.type),
          "timestamp": .integer(Int64(wallMilliseconds)),
          "data": .string(JSONValue.object(data).text()),
        ])
      ).bytes
      deliver(
        Delivery(
          kind: .event(request.kind, message: request.messageNumber), receivers: view.receivers, bytes: bytes)
      )
    }
  }
}
