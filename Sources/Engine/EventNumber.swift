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

  /// What the rule finds in an event.
  package enum Mark: Equatable {
    /// Nothing: a heartbeat, an end event.
    case none
    /// Something else than a number.
    case unusable
    /// `isIntact`: whether its checksum holds; one that is asked for and missing does not.
    case number(Int64, isIntact: Bool)
  }

  /// - Parameter prefix: the session's; what stood before the number in its first id.
  package func mark(of event: EventSlices, prefix: inout UInt64) -> Mark {
    var tree: JSONValue?
    if case .json = sequence { tree = try? JSONReader.read(event.data) }
    if tree == nil && checksum != nil { tree = try? JSONReader.read(event.data) }
    let found = number(of: event, tree, &prefix)
    guard case .number(let number, _) = found, let checksum else { return found }
    let said = value(checksum.crc32c, tree)?.asString.flatMap { UInt32($0, radix: 16) }
    guard let text = value(checksum.of, tree)?.asString, let said else { return .number(number, isIntact: false) }
    return .number(number, isIntact: CRC32C.checksum(text.utf8) == said)
  }

  private func value(_ path: String, _ tree: JSONValue?) -> JSONValue? {
    guard var value = tree else { return nil }
    for key in path.split(separator: ".") {
      guard let next = Int(key).flatMap({ value[$0] }) ?? value[String(key)] else { return nil }
      value = next
    }
    return value
  }

  /// The number, without a look at the checksum.
  private func number(of event: EventSlices, _ tree: JSONValue?, _ prefix: inout UInt64) -> Mark {
    func usable(_ number: Int64?) -> Mark { number.map { .number($0, isIntact: true) } ?? .unusable }
    switch sequence {
    // An event that names no id repeats that of an earlier one, and has no number of its own.
    case .id: return event.fields.contains(.ownID) ? usable(numberOf(id: event.lastEventID, &prefix)) : .none
    case .json(let path):
      guard let value = value(path, tree) else { return .none }
      return usable(value.asInt.map(Int64.init) ?? value.asString.flatMap { Int64($0) })
    case .regex:
      guard let pattern, let match = try? pattern.firstMatch(in: String(decoding: event.data, as: UTF8.self))
      else {
        return .none
      }
      let group = match.output.count > 1 ? match.output[1] : match.output[0]
      return usable(group.substring.flatMap { Int64($0) })
    }
  }

  /// A whole number, or the digits at the end of an id such as "stream-7:41". What stands before the digits must stay what it was: ids
  /// made of several numbers ("1764547200:3") count no events.
  private func numberOf(id: UnsafeRawBufferPointer, _ prefix: inout UInt64) -> Int64? {
    var start = id.count
    while start > 0 && (0x30...0x39).contains(id[start - 1]) { start -= 1 }
    if start == 1, id[0] == UInt8(ascii: "-") { start = 0 }
    guard start < id.count else { return nil }
    // 0 is left for "none seen".
    let hash = UInt64(CRC32C.checksum(UnsafeRawBufferPointer(rebasing: id[..<start]))) + 1
    if prefix == 0 { prefix = hash }
    return prefix == hash ? Int64(String(decoding: id[start...], as: UTF8.self)) : nil
  }
}
