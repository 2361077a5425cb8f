// A certificate of its own authority, made for one test by openssl.

import Foundation

package enum TestCertificate {
  /// Writes `cert.pem` and `key.pem`, good for two days and for `name` alone.
  package static func make(_ openssl: String, for name: String = "other.test", in folder: TemporaryFolder)
    throws
  {
    let make = Process()
    make.executableURL = URL(fileURLWithPath: openssl)
    make.currentDirectoryURL = URL(fileURLWithPath: folder.path(""))
    make.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-keyout", "key.pem",
      "-out", "cert.pem", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)",
    ]
    make.standardOutput = FileHandle.nullDevice
    make.standardError = FileHandle.nullDevice
    try make.run()
    make.waitUntilExit()
    guard make.terminationStatus == 0 else {
      throw SecureServerError("openssl req ended with \(make.terminationStatus)")
    }
  }
}

package struct SecureServerError: Error, CustomStringConvertible {
  package var description: String
  package init(_ description: String) { self.description = description }
}
