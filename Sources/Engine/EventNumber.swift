// The number of a foreign server's event, by the scenario's rule: a path into the JSON, the id, or a pattern; and whether
// the event is whole, by the checksum that the rule names.

import Primitives
package import Scenarios
package import Streams

/// One rule, ready to be asked; owned by one worker, since a `Regex` is not Sendable.
package final class EventNumberRule {
  private let sequence: Verify.Sequence
  private let checksum: Verify.Checksum?
  private let pattern: Regex<AnyRegexOutput>?

  package init(_ verify: Verify) throws(EngineError) {
    sequence = verify.sequence
    checksum = verify.checksum
    if case .regex(let text) = verify.sequence {
      do {
        pattern = try Regex(text)
      } catch {
        throw EngineError(
          "verify.sequence.regex: '\(text)' is not a regular expression; expected one with a group around the number"
        )
      }
    } else {
      pattern = nil
    }
  }

  /// The number of this event, and whether its checksum holds (one that is asked for and missing does not); nil where the
  /// rule finds no number.
  package func mark(of event: EventSlices) -> (number: Int64, isIntact: Bool)? {
    var tree: JSONValue?
    if case .json = sequence { tree = try? JSONReader.read(event.data) }
    if tree == nil && checksum != nil { tree = try? JSONReader.read(event.data) }
    guard let number = number(of: event, tree) else { return nil }
    guard let checksum else { return (number, true) }
    let said = value(checksum.crc32c, tree)?.asString.flatMap { UInt32($0, radix: 16) }
    guard let text = value(checksum.of, tree)?.asString, let said else { return (number, false) }
    return (number, CRC32C.checksum(text.utf8) == said)
  }

  private func value(_ path: String, _ tree: JSONValue?) -> JSONValue? {
    guard var value = tree else { return nil }
    for key in path.split(separator: ".") {
      guard let next = Int(key).flatMap({ value[$0] }) ?? value[String(key)] else { return nil }
      value = next
    }
    return value
  }

  private func number(of event: EventSlices, _ tree: JSONValue?) -> Int64? {
    switch sequence {
    // An event that names no id repeats that of an earlier one, and has no number of its own.
    case .id: return event.fields.contains(.ownID) ? trailingNumber(event.lastEventID) : nil
    case .json(let path):
      let value = value(path, tree)
      return value?.asInt.map(Int64.init) ?? value?.asString.flatMap { Int64($0) }
    case .regex:
      guard let pattern, let match = try? pattern.firstMatch(in: String(decoding: event.data, as: UTF8.self))
      else {
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
