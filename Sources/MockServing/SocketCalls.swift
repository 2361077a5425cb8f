// The system calls of the mock: addresses from text, listening, accepting without blocking, sending without SIGPIPE,
// pipes, limits, CPU time. Errors come back as errno values. What differs between systems is SystemConstants'.

internal import CPlatform
#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// An address to listen on, as the kernel takes it.
struct SocketAddress {
  var storage = sockaddr_storage()
  var length: socklen_t = 0
  var family: Int32 = AF_INET

  /// - Parameter host: a numeric IPv4 or IPv6 address (without brackets), or `localhost`.
  init?(host: String, port: Int) {
    var hints = addrinfo()
    hints.ai_socktype = SystemConstants.stream
    hints.ai_flags = AI_PASSIVE
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0, let found = list else { return nil }
    defer { freeaddrinfo(list) }
    family = found.pointee.ai_family
    length = found.pointee.ai_addrlen
    withUnsafeMutableBytes(of: &storage) { target in
      target.copyMemory(from: UnsafeRawBufferPointer(start: found.pointee.ai_addr, count: Int(length)))
    }
  }
}

enum SocketCalls {
  /// A listening socket that does not block; a failure is an errno.
  static func listen(_ address: SocketAddress, sharesPort: Bool) -> Result<Int32, SocketFailure> {
    let descriptor = socket(address.family, SystemConstants.stream, 0)
    if descriptor < 0 { return .failure(SocketFailure(call: "socket", errno: errno)) }
    doNotBlock(descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    func fail(_ call: String) -> Result<Int32, SocketFailure> {
      let code = errno
      close(descriptor)
      return .failure(SocketFailure(call: call, errno: code))
    }
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    if sharesPort { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
    if address.family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
    // Accepted sockets take this over: an event leaves at once.
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    var copy = address.storage
    let bound = withUnsafePointer(to: &copy) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, address.length) }
    }
    if bound != 0 { return fail("bind") }
    if SystemCalls.listen(descriptor, 65_535) != 0 { return fail("listen") }
    return .success(descriptor)
  }

  /// The port that a listening socket has.
  static func port(of descriptor: Int32) -> Int {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let done = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard done == 0 else { return 0 }
    // The port stands at the same place for both families, in network order.
    return withUnsafeBytes(of: &storage) { Int($0[2]) << 8 | Int($0[3]) }
  }

  /// The next connection, or a negative errno.
  static func accept(_ descriptor: Int32) -> Int32 {
    let accepted = CPlatform_accept(descriptor)
    return accepted < 0 ? -errno : accepted
  }

  /// Bytes taken, or a negative errno.
  @inline(__always) static func send(_ descriptor: Int32, _ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int
  {
    let sent = SystemCalls.send(descriptor, bytes, count)
    return sent < 0 ? -Int(errno) : sent
  }

  /// Bytes read, 0 at the end, or a negative errno.
  static func receive(_ descriptor: Int32, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    let received = recv(descriptor, bytes, count, 0)
    return received < 0 ? -Int(errno) : received
  }

  static func shutWriting(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  /// The next close of this socket resets the connection.
  static func resetOnClose(_ descriptor: Int32) {
    var value = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  static func close(_ descriptor: Int32) { SystemCalls.close(descriptor) }

  static func doNotBlock(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  /// Bytes read from a pipe, 0 at the end, or a negative errno.
  static func read(_ descriptor: Int32, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    let received = SystemCalls.read(descriptor, bytes, count)
    return received < 0 ? -Int(errno) : received
  }

  /// Writes all of it, waiting where it must; false when the reader is gone.
  static func writeWhole(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
    var at = 0
    while at < bytes.count {
      let count = bytes[at...].withUnsafeBytes { rest in
        rest.baseAddress.map { SystemCalls.write(descriptor, $0, rest.count) } ?? 0
      }
      if count < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN {
          var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&waiting, 1, 1000)
          continue
        }
        return false
      }
      at += count
    }
    return true
  }

  /// The whole of a file; nil when it cannot be read or is larger than `limit`.
  static func readFile(_ path: String, limit: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = SystemCalls.read(descriptor, &part, part.count)
      if count < 0 { return nil }
      if count == 0 { return bytes }
      bytes += part[..<count]
      if bytes.count > limit { return nil }
    }
  }

  /// Raises the soft limit of descriptors to the hard one; returns what holds then.
  @discardableResult
  static func raiseDescriptorLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(SystemConstants.descriptorLimit, &limit) == 0 else { return 1024 }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(SystemConstants.descriptorLimit, &limit)
    _ = getrlimit(SystemConstants.descriptorLimit, &limit)
    return Int(clamping: limit.rlim_cur)
  }

  /// Both ends of a pipe: reading, writing.
  static func makePipe() -> (reading: Int32, writing: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      doNotBlock(end)
    }
    return (ends[0], ends[1])
  }

  /// CPU time of this process, user and system, in seconds.
  static func processorSeconds() -> Double {
    var usage = rusage()
    getrusage(SystemConstants.ownUsage, &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
  }

  /// How long this process was ready to run and did not, in seconds; nil where the kernel does not say.
  static func runQueueWaitSeconds() -> Double? {
    let descriptor = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 128)
    let count = SystemCalls.read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let words = bytes[..<count].split { $0 == 0x20 || $0 == 0x0A }
    guard words.count >= 2, let waited = Double(String(decoding: words[1], as: UTF8.self)) else { return nil }
    return waited / 1e9
  }

  static func text(of errno: Int32) -> String {
    strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
  }

  static let wouldBlock = EAGAIN
  static let addressInUse = EADDRINUSE
  static let interrupted = EINTR
  /// A connection that was gone before it was accepted.
  static let aborted = ECONNABORTED
}
