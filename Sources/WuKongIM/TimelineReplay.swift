// Lines of JSON drive a StreamTimeline: `connected`, `recv`, `event`, `history` and `history_failed`, with
// notifications and answers exactly as they are on the wire. What `ssebench timeline` reads and prints.

package import Primitives

/// Why a line is not one of ours. What a *server* sent wrong inside a good line is counted, not thrown.
package enum TimelineLineProblem: Error, Equatable, Sendable {
  case notJSON(JSONSyntaxError)
  case notAnObject
  case missingOp
  case unknownOp(String)
  case missingGeneration(String)

  package var message: String {
    switch self {
    case .notJSON(let error): "not JSON: \(error.message) (column \(error.column))"
    case .notAnObject: "expected a JSON object"
    case .missingOp: "the key \"op\" is missing; expected one of \(TimelineReplay.operations)"
    case .unknownOp(let op): "unknown op '\(op.prefix(40))'; expected one of \(TimelineReplay.operations)"
    case .missingGeneration(let op):
      "\(op) needs \"generation\": the number of the `connected` that it answers, from 1"
    }
  }
}

package struct TimelineReplay: Sendable {
  static let operations = "connected, recv, event, history, history_failed"

  package private(set) var timeline: StreamTimeline

  package init(channel: ChannelKey? = nil, rules: TimelineRules = .normative) {
    timeline = StreamTimeline(channel: channel, rules: rules)
  }

  /// One line, without its end; blank lines are skipped.
  package mutating func feed(_ line: [UInt8]) throws(TimelineLineProblem) {
    if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
    let document: JSONValue
    var isWhole = true
    do throws(JSONSyntaxError) {
      document = try JSONReader.read(line)
    } catch {
      guard let repaired = LoneSurrogates.replaced(in: line), let value = try? JSONReader.read(repaired)
      else {
        throw .notJSON(error)
      }
      document = value
      isWhole = false
    }
    guard document.asObject != nil else { throw .notAnObject }
    guard let op = document["op"]?.asString else { throw .missingOp }
    switch op {
    case "connected": timeline.connected()
    case "recv":
      guard isWhole, let base = try? BaseMessage(params: document["params"]) else {
        timeline.receiveUndecodable()
        return
      }
      timeline.receive(base)
    case "event":
      guard isWhole, let event = try? StreamEvent(params: document["params"]) else {
        timeline.receiveUndecodable()
        return
      }
      timeline.receive(event)
    case "history":
      let generation = try generation(of: document, op: op)
      let response = document["response"] ?? .null
      if HistoryPage.isRefusal(response) {
        timeline.historyFailed(generation: generation)
        return
      }
      guard isWhole, let page = try? HistoryPage(response: response) else {
        timeline.historyUndecodable(generation: generation)
        return
      }
      // The id in store of a person channel is not the one that clients see.
      timeline.adopt(page.rows.lazy.compactMap(\.channel).first { $0.type != ChannelKey.person })
      timeline.apply(page, generation: generation)
    case "history_failed": timeline.historyFailed(generation: try generation(of: document, op: op))
    default: throw .unknownOp(op)
    }
  }

  private func generation(of document: JSONValue, op: String) throws(TimelineLineProblem) -> Int {
    guard let generation = document["generation"]?.asInt, generation > 0 else { throw .missingGeneration(op) }
    return generation
  }

  /// `{"rows":[…],"counts":{…}}`, rows in order of message sequence.
  package var result: JSONValue {
    let rows = timeline.rows.map { row -> JSONValue in
      .object([
        "client_msg_no": .string(row.clientMessageNumber.string),
        "message_seq": row.messageSequence.map { .integer($0) } ?? .null,
        "text": .string(row.string),
        "status": .string(row.status.rawValue),
        "finished": .bool(row.isFinished),
        "truncated": .bool(row.isTruncated),
      ])
    }
    let counts = timeline.counts
    return .object([
      "rows": .array(rows),
      "counts": .object([
        "duplicates": .integer(Int64(counts.duplicates)),
        "covered": .integer(Int64(counts.covered)),
        "gaps": .integer(Int64(counts.gaps)),
        "overflow": .integer(Int64(counts.overflow)),
        "undecodable": .integer(Int64(counts.undecodable)),
        "ignored": .integer(Int64(counts.ignored)),
        "stale_histories": .integer(Int64(counts.staleHistories)),
      ]),
    ])
  }
}
