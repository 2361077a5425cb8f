// `openssl s_server` on a free port with a certificate that names other.test: a TLS server that no one here wrote.

import Foundation
import TestSupport

final class SecureServer {
  let port: Int
  private let process: Process

  /// Leaves `cert.pem` and `key.pem` in the folder.
  init(_ openssl: String, in folder: TemporaryFolder) throws {
    try TestCertificate.make(openssl, in: folder)
    // The port is found by binding and letting go: another process could take it in between, so a few are tried.
    let log = folder.path("s_server.log")
    for _ in 0..<5 {
      let probe = try ScriptedServer { _ in }
      let candidate = probe.port
      probe.end()
      _ = FileManager.default.createFile(atPath: log, contents: nil)
      let attempt = Process()
      attempt.executableURL = URL(fileURLWithPath: openssl)
      attempt.currentDirectoryURL = URL(fileURLWithPath: folder.path(""))
      attempt.arguments = ["s_server", "-accept", "127.0.0.1:\(candidate)", "-cert", "cert.pem", "-key", "key.pem", "-www"]
      attempt.standardInput = FileHandle.nullDevice
      attempt.standardOutput = FileHandle(forWritingAtPath: log)
      attempt.standardError = FileHandle.nullDevice
      try attempt.run()
      let isUp = eventually {
        !attempt.isRunning || (try? String(contentsOfFile: log, encoding: .utf8))?.contains("ACCEPT") == true
      }
      if isUp && attempt.isRunning {
        process = attempt
        port = candidate
        return
      }
    }
    throw SecureServerError("openssl s_server did not listen")
  }

  func end() {
    if process.isRunning { process.terminate() }
  }

  deinit { end() }
}
