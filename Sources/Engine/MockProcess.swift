// The built-in mock as a process of its own: started with its settings, asked over pipes, gone when this process is,
// however that ends. Knows nothing of what the mock serves.

internal import Synchronization
package import Primitives

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A running mock. Its standard input is the leash: when the last writer is gone, the mock ends by itself.
package final class MockProcess: @unchecked Sendable {
  package let process: Int32
  /// Base URLs, one for each address it listens on.
  package let urls: [String]
  /// Of the WuKongIM listener, where there is one.
  package let webSocketURL: String?
  private let input: Int32
  private let output: Int32
  private var pending: [UInt8] = []
  private let lock = Mutex(())
  private var isEnded = false

  /// Starts `executable mock /dev/fd/3 --control …` and waits until it listens.
  ///
  /// - Parameters:
  ///   - settings: what `MOCK.json` holds; it goes through a pipe, so no file is left behind.
  ///   - arguments: further flags.
  package init(executable: String, settings: String, arguments: [String]) throws(EngineError) {
    var toChild: [Int32] = [0, 0]
    var fromChild: [Int32] = [0, 0]
    var file: [Int32] = [0, 0]
    guard pipe(&file) == 0 else { throw EngineError("no pipe to the mock: \(Self.systemWords(errno))") }
    guard pipe(&toChild) == 0 else { throw EngineError("no pipe to the mock: \(Self.systemWords(errno))") }
    guard pipe(&fromChild) == 0 else { throw EngineError("no pipe from the mock: \(Self.systemWords(errno))") }
    // The mock must not inherit our ends: it would hold its own leash.
    for descriptor in [toChild[0], toChild[1], fromChild[0], fromChild[1], file[0], file[1]] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    #if canImport(Glibc)
    var actions = posix_spawn_file_actions_t()
    #else
    var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    posix_spawn_file_actions_adddup2(&actions, file[0], 3)
    var words = ([executable, "mock", "/dev/fd/3", "--control"] + arguments).map { strdup($0) }
    words.append(nil)
    var child: pid_t = 0
    // A group of its own: Ctrl-C goes to the run, which ends its mock when it has asked for the last figures.
    #if canImport(Glibc)
    var attributes = posix_spawnattr_t()
    #else
    var attributes: posix_spawnattr_t?
    #endif
    posix_spawnattr_init(&attributes)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    posix_spawnattr_setpgroup(&attributes, 0)
    let code = posix_spawn(&child, executable, &actions, &attributes, words, environ)
    posix_spawn_file_actions_destroy(&actions)
    posix_spawnattr_destroy(&attributes)
    for word in words { free(word) }
    close(toChild[0])
    close(fromChild[1])
    close(file[0])
    guard code == 0 else {
      close(file[1])
      close(toChild[1])
      close(fromChild[0])
      throw EngineError("the mock could not be started: \(Self.systemWords(code))")
    }
    process = child
    input = toChild[1]
    output = fromChild[0]
    var text = Array(settings.utf8)[...]
    while !text.isEmpty {
      let count = text.withUnsafeBytes { write(file[1], $0.baseAddress, $0.count) }
      if count < 0 && errno != EINTR { break }
      text = text.dropFirst(max(0, count))
    }
    close(file[1])
    var waiting: [UInt8] = []
    guard let line = Self.readLine(output, &waiting, within: 10_000),
      let value = try? JSONReader.read(line), let listening = value["listening"]?.asString
    else {
      close(input)
      close(output)
      kill(child, SIGKILL)
      var status: Int32 = 0
      waitpid(child, &status, 0)
      throw EngineError("the mock ended before it listened; run `ssebench mock` by hand to see why")
    }
    pending = waiting
    let more = value["addresses"]?.asArray?.compactMap(\.asString) ?? []
    urls = more.isEmpty ? [listening] : more
    webSocketURL = value["ws"]?.asString
  }

  deinit { end() }

  /// Sends one line and reads the one that answers it; nil when the mock is gone or says nothing for 5 s.
  package func ask(_ line: String) -> JSONValue? {
    lock.withLock { _ in
      guard !isEnded else { return nil }
      var bytes = Array(line.utf8)[...]
      bytes.append(0x0A)
      while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
        if count < 0 {
          if errno == EINTR { continue }
          return nil
        }
        bytes = bytes.dropFirst(count)
      }
      return Self.readLine(output, &pending, within: 5_000).flatMap { try? JSONReader.read($0) }
    }
  }

  /// Whether the process is still there.
  package var isRunning: Bool {
    if isEnded { return false }
    var status: Int32 = 0
    if waitpid(process, &status, WNOHANG) == process {
      lock.withLock { _ in closeEnds() }
      return false
    }
    return true
  }

  /// Lets the mock go and waits for its end: by closing its input, and by SIGKILL after 2 s.
  package func end() {
    lock.withLock { _ in
      guard !isEnded else { return }
      closeEnds()
      var status: Int32 = 0
      for _ in 0..<200 {
        if waitpid(process, &status, WNOHANG) != 0 { return }
        usleep(10_000)
      }
      kill(process, SIGKILL)
      waitpid(process, &status, 0)
    }
  }

  private func closeEnds() {
    isEnded = true
    close(input)
    close(output)
  }

  /// One line without its end; nil at the end of the file or after `milliseconds`.
  private static func readLine(_ descriptor: Int32, _ pending: inout [UInt8], within milliseconds: Int32) -> [UInt8]? {
    let deadline = Instant.now() + .milliseconds(Double(milliseconds))
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      if let end = pending.firstIndex(of: 0x0A) {
        let line = Array(pending[..<end])
        // A new array: a long answer's room would be held for good.
        pending = Array(pending[(end + 1)...])
        return line
      }
      let left = (deadline - Instant.now()).milliseconds
      if left <= 0 { return nil }
      var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = poll(&poller, 1, Int32(left.rounded(.up)))
      if ready < 0 && errno == EINTR { continue }
      if ready <= 0 { return nil }
      let count = read(descriptor, &buffer, buffer.count)
      if count <= 0 { return nil }
      pending.append(contentsOf: buffer[..<count])
    }
  }

  private static func systemWords(_ code: Int32) -> String { String(cString: strerror(code)) }
}
