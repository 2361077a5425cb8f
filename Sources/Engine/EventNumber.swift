// The number of a foreign server's event, by the scenario's rule: a path into the JSON, the id, or a pattern.

import Primitives
import Scenarios
import Streams

/// One rule, ready to be asked; owned by one worker, since a `Regex` is not Sendable.
final class EventNumberRule {
  private let sequence: Verify.Sequence
  private let pattern: Regex<AnyRegexOutput>?

  init(_ sequence: Verify.Sequence) throws(EngineError) {
    self.sequence = sequence
    if case .regex(let text) = sequence {
      do {
        pattern = try Regex(text)
      } catch {
        throw EngineError("verify.sequence.regex: '\(text)' is not a regular expression; expected one with a group around the number")
      }
    } else {
      pattern = nil
    }
  }

  /// The number of this event; nil where the rule finds none.
  func number(of event: EventSlices) -> Int64? {
    switch sequence {
    case .id: return trailingNumber(event.lastEventID)
    case .json(let path):
      guard var value = try? JSONReader.read(event.data) else { return nil }
      for key in path.split(separator: ".") {
        guard let next = Int(key).flatMap({ value[$0] }) ?? value[String(key)] else { return nil }
        value = next
      }
      return value.asInt.map(Int64.init) ?? value.asString.flatMap { Int64($0) }
    case .regex:
      guard let pattern, let match = try? pattern.firstMatch(in: String(decoding: event.data, as: UTF8.self)) else {
        return nil
      }
      let group = match.output.count > 1 ? match.output[1] : match.output[0]
      return group.substring.flatMap { Int64($0) }
    }
  }

  /// The digits at the end of an id: "41", "stream-7:41".
  private func trailingNumber(_ id: UnsafeRawBufferPointer) -> Int64? {
    var start = id.count
    while start > 0 && (0x30...0x39).contains(id[start - 1]) { start -= 1 }
    return start < id.count ? Int64(String(decoding: id[start...], as: UTF8.self)) : nil
  }
}
