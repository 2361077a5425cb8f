// `ssebench timeline`: lines of WuKongIM notifications and histories in, message rows and counts out.

import Foundation
import Primitives
import WuKongIM

enum TimelineCommand {
  /// A line beyond this is refused.
  static let maximumLineBytes = 16 << 20

  static let command = Command(
    name: "timeline", summary: "Project WuKongIM stream events and histories to message rows",
    examples: [
      ("ssebench timeline session.jsonl", "prints the rows as a client must show them after these lines"),
      ("ssebench timeline session.jsonl --rules demo", "the same as the public web demo shows them"),
    ],
    operands: "[FILE|-]", operandCount: 0...1,
    flags: [
      Flag(
        "--rules", "RULES", "Follow all rules (normative), or only those of the public web demo",
        choices: TimelineRules.allCases.map(\.rawValue)),
      Flag("--channel", "ID:TYPE", "Project this channel; else the first one that a line names"),
    ],
    discussion: """
      One JSON object a line:
        {"op":"connected"}                                   a connection was authenticated
        {"op":"recv","params":{…}}                           a base message, as on the wire
        {"op":"event","params":{…}}                          a live event, as on the wire
        {"op":"history","generation":N,"response":{…}}       what /channel/messagesync answered to the N-th connected
        {"op":"history_failed","generation":N}               that read failed
      Prints {"rows":[…],"counts":{…}}. A line that is none of these ends with exit code 65; what a server sent
      wrong inside a good line is counted as undecodable.
      """,
    run: run)

  static func run(_ invocation: Invocation) throws -> ExitCode {
    let rules = invocation.value("--rules").flatMap(TimelineRules.init(rawValue:)) ?? .normative
    var replay = TimelineReplay(channel: try channel(invocation.value("--channel")), rules: rules)
    let path = invocation.operands.first ?? "-"
    let name = path == "-" ? "stdin" : path
    var number = 0
    try forEachLine(of: path, named: name) { line in
      number += 1
      do throws(TimelineLineProblem) { try replay.feed(line) } catch {
        throw CommandFailure(.data, "\(name):\(number): \(error.message)")
      }
    }
    Terminal.result(replay.result.text() + "\n")
    return .success
  }

  /// `room-42:2`; the id may hold colons, the type is what stands behind the last one.
  private static func channel(_ text: String?) throws -> ChannelKey? {
    guard let text else { return nil }
    guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
      let type = Int(text[text.index(after: colon)...]),
      (0...255).contains(type)
    else { throw CommandFailure(.usage, "--channel: '\(text)' is not ID:TYPE; an example is room-42:2") }
    return ChannelKey(id: ByteText(String(text[..<colon])), type: type)
  }

  /// Reads as it comes, so that a pipe may be longer than memory.
  private static func forEachLine(of path: String, named name: String, _ body: ([UInt8]) throws -> Void)
    throws
  {
    let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      throw CommandFailure(
        .noInput, "\(path): \(String(cString: strerror(errno))); expected a file of JSON lines, or -")
    }
    defer { if descriptor != 0 { close(descriptor) } }
    var pending: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0 {
        let code = errno
        if code == EINTR { continue }
        throw CommandFailure(
          code == EISDIR ? .noInput : .ioError, "\(name): \(String(cString: strerror(code)))")
      }
      if count == 0 { break }
      var rest = chunk[..<count]
      while let end = rest.firstIndex(of: 0x0A) {
        pending.append(contentsOf: rest[..<end])
        try body(pending)
        pending.removeAll(keepingCapacity: true)
        rest = rest[(end + 1)...]
      }
      pending.append(contentsOf: rest)
      if pending.count > maximumLineBytes {
        throw CommandFailure(.data, "\(name): a line is longer than 16 MiB; expected one JSON object a line")
      }
    }
    if !pending.isEmpty { try body(pending) }
  }
}
