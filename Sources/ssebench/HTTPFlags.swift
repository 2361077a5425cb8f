// The flags that describe one request, for the commands that send one: `listen` and `record`.

import Foundation
import Primitives
import Scenarios
import Transports

enum HTTPFlags {
  static let all = [
    Flag("--header", short: "-H", "'K: V'", "A request header", repeats: true),
    Flag("--data", short: "-d", "BODY", "Send this body with POST; @FILE reads it from a file"),
    Flag("--ca", "FILE", "Trust the certificates of this PEM file", isPath: true),
    Flag("--insecure", nil, "Do not verify the server's certificate"),
    Flag("--stack", "NAME", "The HTTP transport (default curl)", choices: ["curl", "raw"]),
  ]

  struct Request {
    var url: String
    var headers: [(name: String, value: String)] = []
    /// nil: GET.
    var body: [UInt8]?
    var tls = TLSSettings()
    var stack = Stack.curl
    /// The values of headers that may be secret.
    var secrets = Secrets.none
  }

  static func request(_ invocation: Invocation) throws -> Request {
    var request = Request(url: invocation.operands[0])
    guard WebAddress(request.url) != nil else {
      throw CommandFailure(
        .usage, "'\(Terminal.printable(request.url))' is not an http or https URL; expected http://host:port/path")
    }
    var variables = Variables(environment: ProcessInfo.processInfo.environment)
    for header in invocation.values("--header") {
      let resolved: String
      do throws(ScenarioFailure) {
        resolved = try variables.resolve(header, for: "--header")
      } catch {
        throw CommandFailure(.configuration, error.description)
      }
      request.headers.append(try parsed(resolved))
    }
    if let text = invocation.value("--data") { request.body = try body(text) }
    request.tls.ca = invocation.value("--ca")
    request.tls.insecure = invocation.has("--insecure")
    if invocation.value("--stack") == "raw" { request.stack = .raw }
    request.secrets = Secrets(secrets(in: request.headers))
    return request
  }

  /// The values of headers given on the command line that may be secret, each under its header's name.
  static func secrets(in headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
    let open: Set = ["accept", "accept-encoding", "accept-language", "cache-control", "content-type", "user-agent", "last-event-id"]
    return headers.filter { !open.contains($0.name.lowercased()) }
      .flatMap { header in
        // A scheme and a token: the token alone is as secret.
        let token = header.value.split(separator: " ").last.map(String.init) ?? ""
        let name = header.name.uppercased().replacing("-", with: "_")
        return (token == header.value ? [token] : [header.value, token]).filter { $0.count >= 4 }.map { (name: name, value: $0) }
      }
  }

  private static func parsed(_ header: String) throws -> (name: String, value: String) {
    guard let colon = header.firstIndex(of: ":"), colon > header.startIndex else {
      throw CommandFailure(.usage, "--header: expected 'Name: value'")
    }
    let name = String(header[..<colon])
    let value = header[header.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    let isToken = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard isToken, !value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
      throw CommandFailure(.usage, "--header: a name has no spaces, and neither part has control characters")
    }
    return (name, value)
  }

  private static func body(_ text: String) throws -> [UInt8] {
    guard text.hasPrefix("@") else { return Array(text.utf8) }
    let path = String(text.dropFirst())
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CommandFailure(.noInput, "--data: '\(Terminal.printable(path))' cannot be read")
    }
    guard data.count <= ScenarioFile.largest else {
      throw CommandFailure(.data, "--data: '\(Terminal.printable(path))' is over \(ScenarioFile.largest >> 20) MiB")
    }
    return Array(data)
  }
}

extension Invocation {
  /// The value of a flag as a duration with a unit.
  func duration(_ flag: String) throws -> Nanoseconds? {
    guard let text = value(flag) else { return nil }
    guard let duration = Units.duration(text) else {
      throw CommandFailure(.usage, "\(flag): '\(Terminal.printable(text))' is not a duration; expected 200ms, 2.5s or 1m")
    }
    return duration
  }
}

extension Terminal {
  /// Text from the command line without control characters, cut to a sensible length.
  static func printable(_ text: String) -> String {
    String(text.unicodeScalars.prefix(200).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : Character($0) })
  }
}
