// The events of one message as a server of era 3 keeps them: lanes, their text, what is durable and what is only in the
// slot leader's memory, and the first result of each event id. Knows no channel, no HTTP and no client.
//
// The original keeps a copy of the whole text for each event id, which is quadratic; we keep where the text ended.

internal import Primitives

package enum LaneStatus: String, Sendable {
  case open, closed, error, cancelled
}

enum LaneSnapshot: Equatable, Sendable {
  case none
  /// `{"kind":"text","text":…}`, UTF-8.
  case text([UInt8])
  /// A payload of any other kind, as it was posted.
  case other(JSONValue)

  /// What `payload` says the lane's content is: `payload.snapshot`, or the payload itself where it has a kind.
  init(posted payload: JSONValue) {
    let value = payload["snapshot"].flatMap { $0.isNull ? nil : $0 } ?? payload
    guard let object = value.asObject, object["kind"] != nil else {
      self = .none
      return
    }
    if ByteText(value["kind"]?.asString ?? "") == "text", let text = value["text"]?.asString {
      self = .text(Array(text.utf8))
    } else {
      self = .other(value)
    }
  }

  var value: JSONValue? {
    switch self {
    case .none: nil
    case .text(let bytes):
      .object(["kind": .string("text"), "text": .string(String(decoding: bytes, as: UTF8.self))])
    case .other(let value): value
    }
  }
}

struct StreamLane: Sendable {
  var status = LaneStatus.open
  var snapshot = LaneSnapshot.none
  /// Visibility of the lane's first event.
  var isPrivate: Bool
  /// `last_msg_event_seq`: 0 until it is terminal.
  var sequence = 0

  /// Terminal lanes are in the store, open ones in the leader's memory alone.
  var isDurable: Bool { status != .open }
}

/// What an event's request is answered with.
package struct EventState: Equatable, Sendable {
  var lane: ByteText
  var status: LaneStatus
  /// `msg_event_seq`: 0 for events that are only cached.
  var sequence: Int
  /// Bytes of the lane's text after the event.
  var textEnd: Int
  var isDurable: Bool { sequence > 0 }
}

struct MessageStream: Sendable {
  static let finishLane: ByteText = "__finish__"
  static let maximumLanes = 32

  enum Problem: String, Error, Sendable {
    case cacheMiss = "message event stream cache miss"
    case tooManyLanes = "too many event lanes for one message"
  }

  private(set) var lanes: [ByteText: StreamLane] = [:]
  private(set) var finished: EventState?
  private(set) var eventCount = 0
  private var results: [ByteText: EventState] = [:]
  /// Counts terminal events: the durable sequence.
  private var sequence = 0

  var hasOpenLane: Bool { lanes.values.contains { $0.status == .open } }
  var lastSequence: Int { sequence }

  /// The first result of an event id.
  func result(of id: ByteText) -> EventState? { results[id] }

  /// An event that no result is known for. `applied` is false where an earlier end answers it.
  mutating func apply(
    _ kind: StreamEvent.Kind, id: ByteText, lane name: ByteText, isPrivate: Bool, payload: JSONValue
  ) throws(Problem) -> (state: EventState, applied: Bool) {
    if let finished { return (finished, false) }
    if kind == .finish { return (try finish(id: id, payload: payload), true) }
    if let known = lanes[name], known.isDurable {
      return (
        EventState(lane: name, status: known.status, sequence: known.sequence, textEnd: textCount(known)),
        false
      )
    }
    var lane: StreamLane
    // Taken out while it changes, so that its text grows in place.
    if let known = lanes.removeValue(forKey: name) {
      lane = known
    } else {
      let ends = kind == .close || kind == .cancel || kind == .error
      if ends && LaneSnapshot(posted: payload) == .none { throw .cacheMiss }
      if lanes.count >= Self.maximumLanes { throw .tooManyLanes }
      lane = StreamLane(isPrivate: isPrivate)
    }
    switch kind {
    case .delta: append(payload, to: &lane)
    case .snapshot: lane.snapshot = LaneSnapshot(posted: payload)
    case .close: end(&lane, .closed, payload)
    case .cancel: end(&lane, .cancelled, payload)
    case .error: end(&lane, .error, payload)
    case .open, .finish, .unknownStream, .foreign: break
    }
    lanes[name] = lane
    eventCount += 1
    let state = EventState(lane: name, status: lane.status, sequence: lane.sequence, textEnd: textCount(lane))
    results[id] = state
    return (state, true)
  }

  private func textCount(_ lane: StreamLane) -> Int {
    if case .text(let bytes) = lane.snapshot { bytes.count } else { 0 }
  }

  /// Text is appended to text; a delta of any other kind replaces what is there.
  private func append(_ payload: JSONValue, to lane: inout StreamLane) {
    guard let delta = Self.textDelta(payload) else {
      if payload.asObject?.isEmpty == false { lane.snapshot = .other(payload) }
      return
    }
    if case .text(var bytes) = lane.snapshot {
      lane.snapshot = .none
      bytes.append(contentsOf: delta.utf8)
      lane.snapshot = .text(bytes)
    } else {
      lane.snapshot = .text(Array(delta.utf8))
    }
  }

  static func textDelta(_ payload: JSONValue) -> String? {
    guard let kind = payload["kind"]?.asString, ByteText(kind) == "text" else { return nil }
    return payload["delta"]?.asString
  }

  /// Without a snapshot of its own a terminal event keeps the text that is cached.
  private mutating func end(_ lane: inout StreamLane, _ status: LaneStatus, _ payload: JSONValue) {
    let posted = LaneSnapshot(posted: payload)
    if posted != .none { lane.snapshot = posted }
    sequence += 1
    lane.status = status
    lane.sequence = sequence
  }

  /// Closes every open lane and marks the message completed. Its snapshot goes into each open lane; without an open
  /// lane it is stored nowhere, which is how a lone finish loses text after a leader change.
  private mutating func finish(id: ByteText, payload: JSONValue) throws(Problem) -> EventState {
    let posted = LaneSnapshot(posted: payload)
    if !hasOpenLane && posted == .none { throw .cacheMiss }
    for name in lanes.keys.sorted(by: { $0.string.utf8.lexicographicallyPrecedes($1.string.utf8) }) {
      guard var lane = lanes[name], lane.status == .open else { continue }
      end(&lane, .closed, .null)
      if posted != .none { lane.snapshot = posted }
      lanes[name] = lane
    }
    sequence += 1
    eventCount += 1
    let state = EventState(lane: Self.finishLane, status: .closed, sequence: sequence, textEnd: 0)
    finished = state
    results[id] = state
    return state
  }

  /// What a leader change or a restart leaves: terminal lanes, the finish, and the results of those.
  mutating func loseCache() {
    lanes = lanes.filter { $0.value.isDurable }
    results = results.filter { $0.value.isDurable }
  }
}
