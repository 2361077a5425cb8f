// Tests/Vectors/wukongim/timeline.json: each case is written out as lines of `ssebench timeline` and read by its parser.

import Foundation
import Primitives
import Testing
import WuKongIM

struct TimelineVector: Sendable, CustomTestStringConvertible {
  var id: String
  var channel: ChannelKey?
  var steps: [JSONValue]

  var testDescription: String { id }

  static let all: [TimelineVector] = {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../Vectors/wukongim/timeline.json")
    guard let text = try? Data(contentsOf: path), let document = try? JSONReader.read(text) else { return [] }
    return (document["cases"]?.asArray ?? []).map { value in
      let channel = value["channel"]?.asString?.split(separator: ":")
      return TimelineVector(
        id: value["id"]?.asString ?? "?",
        channel: channel.map { ChannelKey(id: ByteText(String($0[0])), type: Int($0[1]) ?? 0) },
        steps: value["steps"]?.asArray ?? [])
    }
  }()
}

/// What a test says, written as the lines that a server would have caused.
enum Wire {
  static func event(
    _ kind: String, id: String, text: String? = nil, offset: JSONValue = .null, message: String = "reply-42",
    sequence: Int = 9, lane: String = "main", channel: String = "room-42", type: Int = 2
  ) -> JSONValue {
    var payload = JSONObject()
    if kind == "delta" {
      payload["kind"] = .string("text")
      payload["delta"] = .string(text ?? "")
    } else if let text {
      payload["snapshot"] = .object(["kind": .string("text"), "text": .string(text)])
    }
    var data = JSONObject([
      ("channel_id", .string(channel)), ("channel_type", .integer(Int64(type))),
      ("from_uid", .string("author-42")),
      ("message_id", .string("90071992547")), ("message_seq", .string(String(sequence))),
      ("client_msg_no", .string(message)), ("event_id", .string(id)), ("event_key", .string(lane)),
      ("event_type", .string("stream.\(kind)")), ("timestamp", .integer(1_790_000_000_123)),
    ])
    if !offset.isNull { data["text_offset"] = offset }
    data["payload"] = .object(payload)
    return .object([
      "op": .string("event"),
      "params": .object([
        "id": .string(id), "type": .string("stream.\(kind)"), "timestamp": .integer(1_790_000_000_123),
        "data": .string(JSONValue.object(data).text()),
      ]),
    ])
  }

  static func history(
    generation: Int, lane: String, text: String?, completed: Bool, message: String = "reply-42",
    sequence: Int = 9,
    channel: String = "room-42", type: Int = 2, setting: Int = 2
  ) -> JSONValue {
    var entry = JSONObject([("event_key", .string("main")), ("status", .string(lane))])
    if let text { entry["snapshot"] = .object(["kind": .string("text"), "text": .string(text)]) }
    let meta: JSONValue = .object([
      "has_events": .bool(true), "completed": .bool(completed), "event_version": .integer(1),
      "events": .array(lane == "absent" ? [] : [.object(entry)]),
    ])
    let row: JSONValue = .object([
      "setting": .integer(Int64(setting)), "client_msg_no": .string(message),
      "message_seq": .integer(Int64(sequence)),
      "channel_id": .string(channel), "channel_type": .integer(Int64(type)), "event_meta": meta,
    ])
    return .object([
      "op": .string("history"), "generation": .integer(Int64(generation)),
      "response": .object(["more": .integer(0), "messages": .array([row])]),
    ])
  }

  static func base(
    sequence: Int, message: String = "reply-42", stream: Bool = true, channel: String = "room-42",
    type: Int = 2
  ) -> JSONValue {
    .object([
      "op": .string("recv"),
      "params": .object([
        "header": .object([:]), "setting": .object(["stream": .bool(stream)]),
        "messageId": .string("90071992547"),
        "messageSeq": .integer(Int64(sequence)), "clientMsgNo": .string(message),
        "timestamp": .integer(1_790_000_000),
        "channelId": .string(channel), "channelType": .integer(Int64(type)), "fromUid": .string("author-42"),
        "payload": .object(["type": .integer(1), "content": .string("")]),
      ]),
    ])
  }

  static func connected() -> JSONValue { .object(["op": .string("connected")]) }

  static func historyFailed(generation: Int) -> JSONValue {
    .object(["op": .string("history_failed"), "generation": .integer(Int64(generation))])
  }
}

/// Plays one vector under one set of rules.
struct VectorPlayer {
  var replay: TimelineReplay
  let rules: TimelineRules
  let id: String

  init(_ vector: TimelineVector, rules: TimelineRules) {
    self.rules = rules
    id = "\(vector.id) \(rules)"
    replay = TimelineReplay(channel: vector.channel ?? ChannelKey(id: "room-42", type: 2), rules: rules)
  }

  mutating func play(_ step: JSONValue) throws {
    let parts = step.asArray ?? []
    let what = parts[0].asString ?? ""
    let options =
      parts.last?.asObject != nil && !["event", "line", "expect"].contains(what) ? parts.last : nil
    let message = options?["message"]?.asString ?? "reply-42"
    let sequence = options?["seq"]?.asInt ?? 9
    let lane = options?["lane"]?.asString ?? "main"
    let channel = options?["channel"]?.asString ?? "room-42"
    let type = options?["type"]?.asInt ?? 2
    switch what {
    case "connected": try feed(Wire.connected())
    case "delta":
      try feed(
        Wire.event(
          "delta", id: parts[1].asString ?? "", text: Self.text(parts[3]), offset: parts[2], message: message,
          sequence: sequence, lane: lane, channel: channel, type: type))
    case "deltas":
      for index in 0..<(parts[2].asInt ?? 0) {
        let offset = (parts[3].asInt ?? 0) + index
        try feed(
          Wire.event(
            "delta", id: "\(parts[1].asString ?? "")\(index)", text: "x", offset: .integer(Int64(offset))))
      }
    case "messages":
      for sequence in (parts[1].asInt ?? 0)...(parts[2].asInt ?? 0) {
        try feed(
          Wire.event(
            "delta", id: "1", text: "x", offset: .integer(0), message: "m\(sequence)", sequence: sequence))
      }
    case "open", "snapshot", "close", "cancel", "error", "finish":
      let text = parts.count > 2 && !parts[2].isNull && parts[2].asObject == nil ? Self.text(parts[2]) : nil
      try feed(
        Wire.event(
          what, id: parts[1].asString ?? "", text: text, message: message, sequence: sequence, lane: lane,
          channel: channel, type: type))
    case "history":
      try feed(
        Wire.history(
          generation: parts[1].asInt ?? 0, lane: parts[2].asString ?? "",
          text: parts[3].isNull ? nil : Self.text(parts[3]),
          completed: parts[4].asBool ?? false, message: message, sequence: sequence, channel: channel,
          type: type,
          setting: options?["setting"]?.asInt ?? 2))
    case "history_failed": try feed(Wire.historyFailed(generation: parts[1].asInt ?? 0))
    case "recv":
      try feed(
        Wire.base(
          sequence: parts[1].asInt ?? 0, message: message, stream: options?["stream"]?.asBool ?? true,
          channel: channel,
          type: type))
    case "event": try feed(.object(["op": .string("event"), "params": parts[1]]))
    case "line": try feed(parts[1])
    case "expect":
      if let wanted = parts[1]["both"] { check(wanted) }
      if let wanted = parts[1][rules.rawValue] { check(wanted) }
    default: Issue.record("\(id): unknown step \(what)")
    }
  }

  private mutating func feed(_ line: JSONValue) throws { try replay.feed(Array(line.text().utf8)) }

  private func check(_ wanted: JSONValue) {
    let result = replay.result
    let rows = result["rows"]?.asArray ?? []
    let row = rows.first { $0["client_msg_no"]?.asString == "reply-42" }
    if let text = wanted["text"] {
      let found = row?["text"]?.asString ?? "no row"
      #expect(Array(found.utf8) == Array(Self.text(text).utf8), "\(id): text")
    }
    for key in ["status", "finished", "truncated"] {
      if let value = wanted[key] { #expect(row?[key] == value, "\(id): \(key)") }
    }
    if let count = wanted["rows"]?.asInt { #expect(rows.count == count, "\(id): rows") }
    if let order = wanted["order"] {
      #expect(JSONValue.array(rows.compactMap { $0["client_msg_no"] }) == order, "\(id)")
    }
    if let sequences = wanted["sequences"]?.asArray {
      #expect(rows.first?["message_seq"] == sequences.first, "\(id): first sequence")
      #expect(rows.last?["message_seq"] == sequences.last, "\(id): last sequence")
    }
    for (key, value) in wanted["counts"]?.asObject?.pairs ?? [] {
      #expect(result["counts"]?[key] == value, "\(id): count \(key)")
    }
  }

  /// A text, `[text, times]`, or several of these one after the other.
  static func text(_ value: JSONValue) -> String {
    if let text = value.asString { return text }
    let parts = value.asArray ?? []
    if parts.count == 2, let part = parts[0].asString, let times = parts[1].asInt {
      return String(repeating: part, count: times)
    }
    return parts.map(text).joined()
  }
}

@Suite struct TimelineVectorTests {
  @Test func vectorsAreThere() { #expect(TimelineVector.all.count >= 50) }

  @Test(arguments: TimelineVector.all, TimelineRules.allCases)
  func vectorHolds(_ vector: TimelineVector, under rules: TimelineRules) throws {
    var player = VectorPlayer(vector, rules: rules)

    for step in vector.steps { try player.play(step) }
  }
}
