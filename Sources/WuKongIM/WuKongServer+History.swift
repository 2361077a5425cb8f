// POST /channel/messagesync and its batch: pages of messages with the state of their streams. Visibility is not
// applied here (C4.9): private lanes stand in `event_meta`, as in the original.

internal import Primitives

extension WuKongServer {
  static let maximumHistoryLimit = 10_000
  static let maximumBatch = 200

  private enum Summary { case none, basic, full }

  private struct HistoryRequest {
    var uid: ByteText
    var channel: ChannelKey
    var start: Int64
    var end: Int64
    var limit: Int
    var isUpwards: Bool
    var summary: Summary

    init(_ body: JSONValue, uid given: String? = nil) throws(DecodeProblem) {
      guard body.asObject != nil else { throw .notAnObject("body") }
      let fields = Fields(body, place: "body")
      let uid = if let given { given } else { try fields.key("login_uid") ?? "" }
      if uid.isEmpty { throw .missing("login_uid") }
      guard let id = try fields.key("channel_id"), !id.isEmpty else { throw .missing("channel_id") }
      guard let type = try fields.integer("channel_type"), type != 0 else { throw .missing("channel_type") }
      self.uid = ByteText(uid)
      channel = ChannelKey(id: ByteText(id), type: type)
      start = try fields.sequence("start_message_seq") ?? 0
      end = try fields.sequence("end_message_seq") ?? 0
      let asked = try fields.integer("limit") ?? 0
      limit = asked <= 0 ? 100 : min(asked, WuKongServer.maximumHistoryLimit)
      isUpwards = try fields.integer("pull_mode") == 1
      switch try fields.string("event_summary_mode") ?? "" {
      case "full": summary = .full
      case "basic": summary = .basic
      case "": summary = try fields.integer("include_event_meta") == 1 ? .full : .none
      default: throw .wrongType("event_summary_mode", expected: "full, basic or an empty text")
      }
    }
  }

  func history(_ body: JSONValue) -> HTTPAnswer {
    let request: HistoryRequest
    do throws(DecodeProblem) { request = try HistoryRequest(body) } catch {
      return .refused("invalid request: \(error)")
    }
    return page(request)
  }

  func historyBatch(_ body: JSONValue) -> HTTPAnswer {
    guard let items = body["items"]?.asArray, let uid = body["login_uid"]?.asString else {
      return .refused("invalid request: login_uid and items are required")
    }
    if items.count > Self.maximumBatch { return .refused("items: at most \(Self.maximumBatch)") }
    var pages: [JSONValue] = []
    for item in items {
      let answer: HTTPAnswer
      do throws(DecodeProblem) { answer = page(try HistoryRequest(item, uid: uid)) } catch {
        return .refused("invalid request: \(error)")
      }
      guard answer.status == 200, var object = answer.body.asObject else { return answer }
      object["channel_id"] = item["channel_id"]
      object["channel_type"] = item["channel_type"]
      pages.append(.object(object))
    }
    return HTTPAnswer(200, .object(["items": .array(pages)]))
  }

  private func page(_ request: HistoryRequest) -> HTTPAnswer {
    counts.histories += 1
    if historiesByUID[request.uid] != nil || historiesByUID.count < settings.users {
      historiesByUID[request.uid, default: 0] += 1
    }
    let key = storedKey(request.channel, seenBy: request.uid)
    guard let channel = channels[key], channel.isMember(request.uid) else {
      return .refused("login_uid is not a member of the channel")
    }
    let (messages, more) = select(channel.messages, request)
    let rows = messages.map { row($0, channel.streams[$0.clientMessageNumber], key, request) }
    return HTTPAnswer(
      200,
      .object([
        "start_message_seq": .integer(request.start), "end_message_seq": .integer(request.end),
        "more": .integer(more ? 1 : 0), "messages": .array(rows),
      ]))
  }

  /// Sequences are the places of messages from 1. Down: from `start` towards older ones, without `end`; up: from
  /// `start` towards newer ones, without `end`. Without either, the newest.
  private func select(_ all: [StoredMessage], _ request: HistoryRequest) -> (ArraySlice<StoredMessage>, Bool)
  {
    let count = Int64(all.count)
    let limit = Int64(request.limit)
    if request.isUpwards {
      let first = max(1, request.start)
      let last = request.end > 0 ? min(count, request.end - 1) : count
      if first > last { return ([], false) }
      let cut = min(last, first + limit - 1)
      return (all[Int(first - 1)..<Int(cut)], cut < last)
    }
    let last = request.start > 0 ? min(count, request.start) : count
    let first = max(1, request.end + 1)
    if first > last { return ([], false) }
    let cut = max(first, last - limit + 1)
    return (all[Int(cut - 1)..<Int(last)], cut > first)
  }

  private func row(
    _ message: StoredMessage, _ stream: MessageStream?, _ key: ChannelKey, _ request: HistoryRequest
  ) -> JSONValue {
    var row = JSONObject([
      ("header", .object(["no_persist": .integer(0), "red_dot": .integer(0), "sync_once": .integer(0)])),
      ("setting", .integer(Int64(message.setting))), ("message_id", .integer(message.id)),
      ("message_idstr", .string(String(message.id))),
      ("client_msg_no", .string(message.clientMessageNumber.string)),
      ("message_seq", .integer(message.sequence)), ("from_uid", .string(message.sender.string)),
      ("channel_id", .string(request.channel.id.string)), ("channel_type", .integer(Int64(key.type))),
      ("expire", .integer(0)), ("timestamp", .integer(Int64(message.timestamp))),
      ("payload", .string(Base64.encode(message.payload))),
    ])
    guard message.isStream, let stream else { return .object(row) }
    if stream.finished != nil { row["end"] = .integer(1) }
    if case .text(let bytes)? = stream.lanes[StreamEvent.mainLane]?.snapshot {
      row["stream_data"] = .string(Base64.encode(bytes))
    }
    if request.summary != .none {
      row["event_meta"] = meta(stream, withSnapshots: request.summary == .full)
      row["event_sync_hint"] = .object([
        "client_msg_no": .string(message.clientMessageNumber.string), "from_msg_event_seq": .integer(0),
      ])
    }
    return .object(row)
  }

  /// Values that are zero are left out.
  private func meta(_ stream: MessageStream, withSnapshots: Bool) -> JSONValue {
    let lanes = stream.lanes.sorted { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) }
    var meta = JSONObject()
    if !lanes.isEmpty || stream.finished != nil { meta["has_events"] = .bool(true) }
    if stream.finished != nil { meta["completed"] = .bool(true) }
    func number(_ name: String, _ value: Int) { if value != 0 { meta[name] = .integer(Int64(value)) } }
    let last = lanes.map(\.value.sequence).max() ?? 0
    number("event_version", last)
    number("last_msg_event_seq", last)
    number("event_count", lanes.count)
    number("open_event_count", lanes.count { $0.value.status == .open })
    if !lanes.isEmpty {
      meta["events"] = .array(
        lanes.map { name, lane in
          var entry = JSONObject([
            ("event_key", .string(name.string)), ("status", .string(lane.status.rawValue)),
          ])
          if lane.sequence > 0 { entry["last_msg_event_seq"] = .integer(Int64(lane.sequence)) }
          if withSnapshots, let value = lane.snapshot.value { entry["snapshot"] = value }
          return .object(entry)
        })
    }
    return .object(meta)
  }
}
