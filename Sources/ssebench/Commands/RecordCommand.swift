// `ssebench record`: one response as it arrives, into a file that the mock can serve again.

import Engine
import Foundation
import MockServing
import Primitives
import Scenarios
import Streams
import Transports

enum RecordCommand {
  static let command = Command(
    name: "record", summary: "Keep a real stream with the time of each read, for replay by the mock",
    examples: [
      (
        "ssebench record https://host/v1/chat/completions --out real.jsonl -H 'Authorization: Bearer …' -d @request.json",
        "keeps the answer; `\"replay\": \"real.jsonl\"` in a scenario's endpoint.mock serves it again"
      ),
    ],
    operands: "URL", operandCount: 1...1,
    flags: [
      Flag("--out", "FILE.jsonl", "The recording, made new", isPath: true),
      Flag("--for", "DURATION", "End the recording when this has passed"),
    ] + HTTPFlags.all,
    discussion: """
      One request, no reconnect. The file holds the URL without its query, status and content type, and one line a read, with
      the time since the request went out; compressed bodies are kept decoded. Values of request headers are replaced where the
      answer repeats them. Prints {"file":…,"reads":N,"bytes":N,"end":…}; exit code 69 if no answer with status 200 came.
      """,
    run: run)

  private static func run(_ invocation: Invocation) throws -> ExitCode {
    guard let path = invocation.value("--out") else { throw CommandFailure(.usage, "record: --out FILE.jsonl is missing") }
    let request = try HTTPFlags.request(invocation)
    var settings: SessionSettings
    do {
      settings = try SessionSettings(
        listeningTo: request.url, headers: request.headers, body: request.body, tls: request.tls, stack: request.stack)
    } catch {
      throw CommandFailure(.usage, error.description)
    }
    // Whatever is streamed can be kept, NDJSON too.
    settings.contentTypes = []
    let recorder = try Recorder(path: path, url: request.url, secrets: request.secrets)
    Interrupts.watch()
    let session = try ListenSession(
      settings, duration: try invocation.duration("--for"), endsAtMarker: false, listener: recorder.listener)
    try session.run { Interrupts.seen > 0 || recorder.failure != nil }
    try recorder.finish()
    guard session.hasOpened else {
      try? FileManager.default.removeItem(atPath: path)
      throw CommandFailure(.unavailable, "record: \(recorder.problem)")
    }
    Terminal.result(
      JSONValue.object([
        "file": .string(path), "reads": .integer(recorder.reads), "bytes": .integer(recorder.bytes),
        "end": recorder.end.map { .string($0) } ?? .null,
      ]).text() + "\n")
    return Interrupts.seen > 0 ? .interrupted : .success
  }
}

/// Writes a recording as it comes.
private final class Recorder {
  private let descriptor: Int32
  private let path: String
  private let secrets: Secrets
  private var recording = RecordedStream()
  private var sent = Nanoseconds.zero
  private(set) var reads: Int64 = 0
  private(set) var bytes: Int64 = 0
  /// `complete`, an error kind, or nil where we ended it.
  private(set) var end: String?
  /// Why there is no stream to keep.
  private(set) var problem = "no answer"
  private(set) var failure: Int32?

  init(path: String, url: String, secrets: Secrets) throws {
    self.path = path
    self.secrets = secrets
    recording.url = Self.bare(url)
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw CommandFailure(
        .cannotCreate, "--out: '\(Terminal.printable(path))' cannot be made: \(String(cString: strerror(errno))); name a file that is not there yet")
    }
  }

  /// A query or credentials may be secret.
  private static func bare(_ url: String) -> String {
    guard let address = WebAddress(url) else { return "" }
    return (address.isSecure ? "https://" : "http://") + address.hostHeader + address.target.prefix { $0 != "?" }
  }

  var listener: ListenSession.Listener {
    var listener = ListenSession.Listener()
    listener.sent = { [unowned self] in sent = $0 }
    listener.changed = { [unowned self] change, at in changed(change, at) }
    listener.read = { [unowned self] bytes, at in read(bytes, at) }
    return listener
  }

  private func changed(_ change: ListenSession.Change, _ at: Nanoseconds) {
    switch change {
    case .open(let head):
      recording.status = head.status
      recording.headers = [(name: "content-type", value: head.contentType)]
      write(recording.headLine)
    case .closed(let reason, let detail, let status):
      problem = reason + (status != 0 ? " (status \(status))" : "") + (detail.isEmpty ? "" : ": \(secrets.scrub(detail))")
      guard !["interrupted", "duration"].contains(reason) else { return }
      end = reason == "end" ? "complete" : reason
      if let end { write(RecordedStream.endLine(at: since(at), end)) }
    default: break
    }
  }

  private func read(_ slice: UnsafeRawBufferPointer, _ at: Nanoseconds) {
    reads += 1
    bytes += Int64(slice.count)
    write(RecordedStream.line(.init(at: since(at), bytes: secrets.scrub(Array(slice)))))
  }

  private func since(_ at: Nanoseconds) -> Nanoseconds { max(.zero, at - sent) }

  private func write(_ line: String) {
    var rest = Array(line.utf8)[...]
    while !rest.isEmpty, failure == nil {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        failure = errno
      }
    }
  }

  func finish() throws {
    close(descriptor)
    if let failure {
      throw CommandFailure(.ioError, "--out: '\(Terminal.printable(path))': \(String(cString: strerror(failure)))")
    }
  }
}
