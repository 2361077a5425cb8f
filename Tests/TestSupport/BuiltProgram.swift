// The built `ssebench` as a user starts it: words and an environment in, both outputs and the exit code out, with a time
// limit that fails the test and not the machine.

import Foundation

package enum BuiltProgram {
  /// Beside the test bundle, since both are built together; `SSEBENCH` names another.
  package static let path: String = {
    if let named = ProcessInfo.processInfo.environment["SSEBENCH"] { return named }
    #if os(Linux)
    if let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      let beside = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("ssebench").path
      if FileManager.default.isExecutableFile(atPath: beside) { return beside }
    }
    #endif
    return repository + "/.build/release/ssebench"
  }()

  /// The root of the repository, as far as this file knows it.
  package static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// Runs to the end.
  ///
  /// - Parameters:
  ///   - folder: the current folder of the program.
  ///   - environment: added to a small fixed one.
  ///   - fileBlocks: the largest file that it may write, in blocks of 512 bytes (`ulimit -f`).
  ///   - limit: seconds after which it is killed, which is an error.
  package static func run(
    _ words: [String], in folder: TemporaryFolder, environment: [String: String] = [:], fileBlocks: Int? = nil,
    limit: Double = 90
  ) throws -> ProgramResult {
    let program = try start(words, in: folder, environment: environment, fileBlocks: fileBlocks)
    return try program.wait(limit: limit)
  }

  /// Starts it; the caller waits.
  package static func start(
    _ words: [String], in folder: TemporaryFolder, environment: [String: String] = [:], fileBlocks: Int? = nil
  ) throws -> RunningProgram {
    var script = "cd \"$1\" || exit 99; shift; "
    if let fileBlocks { script += "ulimit -f \(fileBlocks); " }
    script += "exec \"$@\""
    let name = "output-\(UInt64.random(in: 0...UInt64.max))"
    let output = folder.path(name + ".out")
    let errors = folder.path(name + ".err")
    var values = ["PATH": "/usr/bin:/bin", "HOME": folder.path(""), "LANG": "C.UTF-8"]
    if let libraries = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] { values["LD_LIBRARY_PATH"] = libraries }
    values.merge(environment) { $1 }

    #if canImport(Glibc)
    var actions = posix_spawn_file_actions_t()
    #else
    var actions: posix_spawn_file_actions_t?
    #endif
    // The threads that tests run on block signals, and a child would inherit that.
    #if canImport(Glibc)
    var attributes = posix_spawnattr_t()
    #else
    var attributes: posix_spawnattr_t?
    #endif
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    var arguments = (["/bin/sh", "-c", script, "sh", folder.path(""), path] + words).map { strdup($0) } + [nil]
    var variables = values.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in arguments + variables { free(word) } }
    var process: Int32 = 0
    let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, &arguments, &variables)
    if code != 0 { throw ProgramError("/bin/sh could not be started: errno \(code)") }
    return RunningProgram(process: process, words: words, output: output, errors: errors)
  }
}

package struct ProgramError: Error, CustomStringConvertible {
  package var description: String
  init(_ description: String) { self.description = description }
}

package struct ProgramResult: Sendable {
  /// The exit status; for a signal 128 and its number, as a shell says it.
  package var code: Int32
  package var output: String
  package var errors: String
}

package final class RunningProgram {
  package let process: Int32
  private let words: [String]
  private let output: String
  private let errors: String
  private var isOver = false

  init(process: Int32, words: [String], output: String, errors: String) {
    self.process = process
    self.words = words
    self.output = output
    self.errors = errors
  }

  deinit {
    if !isOver {
      kill(process, SIGKILL)
      var status: Int32 = 0
      waitpid(process, &status, 0)
    }
  }

  package func signal(_ number: Int32) { kill(process, number) }

  /// What it has written to stdout so far.
  package var outputSoFar: String { Self.text(output) }
  package var errorsSoFar: String { Self.text(errors) }

  package func wait(limit: Double = 90) throws -> ProgramResult {
    var status: Int32 = 0
    let deadline = Date().addingTimeInterval(limit)
    while waitpid(process, &status, WNOHANG) == 0 {
      if Date() > deadline {
        throw ProgramError("ssebench \(words.joined(separator: " ")) was not over after \(limit) s; stderr: \(errorsSoFar)")
      }
      usleep(5_000)
    }
    isOver = true
    let signal = status & 0x7F
    return ProgramResult(code: signal == 0 ? status >> 8 & 0xFF : 128 + signal, output: outputSoFar, errors: errorsSoFar)
  }

  /// Processes whose parent this one is.
  package var children: [Int32] {
    #if os(Linux)
    let listed = (try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)) ?? ""
    let all = listed.split(separator: " ").compactMap { Int32($0) }
    return all.isEmpty ? Self.childrenByStatus(process) : all
    #else
    return []
    #endif
  }

  /// For kernels without `/proc/…/children`, and for children that another thread started.
  private static func childrenByStatus(_ parent: Int32) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter { candidate in
      guard let text = try? String(contentsOfFile: "/proc/\(candidate)/stat", encoding: .utf8),
        let close = text.lastIndex(of: ")")
      else { return false }
      let fields = text[text.index(after: close)...].split(separator: " ")
      return fields.count > 1 && Int32(fields[1]) == parent
    }
  }

  private static func text(_ path: String) -> String {
    String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
  }
}

/// Whether a process exists and is no zombie.
package func isAlive(_ process: Int32) -> Bool {
  guard kill(process, 0) == 0 else { return false }
  guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8), let close = text.lastIndex(of: ")")
  else { return true }
  return text[text.index(after: close)...].split(separator: " ").first != "Z"
}
