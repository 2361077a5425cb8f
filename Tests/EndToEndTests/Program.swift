// The built program, run as a user runs it.

import Foundation

struct Program {
  var status: Int32
  var output: String
  var errors: String

  var lines: [String] { output.split(separator: "\n").map(String.init) }
  /// Each line of the output as JSON.
  var objects: [[String: Any]] {
    lines.compactMap { (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any] }
  }

  /// Beside the test bundle.
  static let path: String = {
    let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    return bundle.appendingPathComponent("ssebench").path
  }()

  /// Runs to the end; the program is killed after `limit` seconds, which no test should need.
  static func run(_ arguments: String..., folder: String? = nil, limit: Double = 60) throws -> Program {
    try run(words: arguments, folder: folder, limit: limit)
  }

  static func run(words arguments: [String], folder: String? = nil, limit: Double = 60) throws -> Program {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
    let output = Pipe()
    let errors = FileManager.default.temporaryDirectory.appendingPathComponent("ssebench-\(UUID().uuidString).err")
    FileManager.default.createFile(atPath: errors.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: errors) }
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errors)
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let killer = DispatchWorkItem { kill(process.processIdentifier, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: killer)
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    killer.cancel()
    return Program(
      status: process.terminationStatus, output: String(decoding: data, as: UTF8.self),
      errors: (try? String(contentsOf: errors, encoding: .utf8)) ?? "")
  }
}
