// TLS in front of a plain server on loopback: Python's ssl module, which no one here wrote. Its certificate names
// other.test; `cert.pem` in the folder is the authority.

import Foundation

package final class TLSRelay {
  package let port: Int
  private let process: Process
  private let leash: Pipe

  /// What it needs is not part of Swift's tools: the tests that need it are skipped where it is missing.
  package static var isPossible: Bool { openssl != nil && python != nil }

  private static let openssl = found("openssl")
  private static let python = found("python3")

  private static func found(_ name: String) -> String? {
    ["/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"].map { $0 + name }.first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
  }

  /// - Parameters:
  ///   - target: the plain server's port; 0: takes connections and never answers.
  ///   - name: whom the certificate names.
  package init(to target: Int, for name: String = "other.test", in folder: TemporaryFolder) throws {
    guard let openssl = Self.openssl, let python = Self.python else {
      throw SecureServerError("no openssl or no python3")
    }
    if !folder.exists("cert.pem") { try TestCertificate.make(openssl, for: name, in: folder) }
    process = Process()
    leash = Pipe()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = [
      BuiltProgram.repository + "/Tests/Interop/_tls_relay.py", folder.path("cert.pem"),
      folder.path("key.pem"), String(target),
    ]
    process.standardInput = leash
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      line.append(more)
    }
    guard let number = Int(String(decoding: line, as: UTF8.self).filter(\.isNumber)) else {
      process.terminate()
      throw SecureServerError("the relay did not listen")
    }
    port = number
  }

  package func end() {
    if process.isRunning { process.terminate() }
  }

  deinit { end() }
}
