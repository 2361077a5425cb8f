// TCP sockets that never block: listening, accepting, dialling, reading, writing. What waits is the queue's business.

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

package enum StreamSocket {
  /// What a read or a write came to.
  package enum Outcome {
    case bytes(Int)
    case wouldBlock
    case ended
  }

  /// A listening socket that does not block, or the call and errno that failed.
  package static func listen(host: String, port: Int) -> Result<Int32, SocketError> {
    var storage = sockaddr_storage()
    var length = socklen_t(0)
    var family = AF_INET
    var four = sockaddr_in()
    var six = sockaddr_in6()
    if inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host, &four.sin_addr) == 1 {
      four.sin_family = sa_family_t(AF_INET)
      four.sin_port = UInt16(port).bigEndian
      length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutableBytes(of: &storage) { to in withUnsafeBytes(of: &four) { to.copyMemory(from: $0) } }
    } else if inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
      family = AF_INET6
      six.sin6_family = sa_family_t(AF_INET6)
      six.sin6_port = UInt16(port).bigEndian
      length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      withUnsafeMutableBytes(of: &storage) { to in withUnsafeBytes(of: &six) { to.copyMemory(from: $0) } }
    } else {
      return .failure(SocketError(call: "inet_pton", errno: EINVAL))
    }
    #if canImport(Glibc)
      let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      let descriptor = socket(family, SOCK_STREAM, 0)
    #endif
    if descriptor < 0 { return .failure(SocketError(call: "socket", errno: errno)) }
    func fail(_ call: String) -> Result<Int32, SocketError> {
      let code = errno
      close(descriptor)
      return .failure(SocketError(call: call, errno: code))
    }
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    // Accepted sockets take this over.
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    doNotBlock(descriptor)
    let bound = withUnsafePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    if bound != 0 { return fail("bind") }
    #if canImport(Glibc)
      if Glibc.listen(descriptor, 4_096) != 0 { return fail("listen") }
    #else
      if Darwin.listen(descriptor, 4_096) != 0 { return fail("listen") }
    #endif
    return .success(descriptor)
  }

  /// The port that a socket has.
  package static func port(of descriptor: Int32) -> Int {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let code = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    if code != 0 { return 0 }
    // At the same place for both families, in network order.
    return withUnsafeBytes(of: &storage) { Int($0[2]) << 8 | Int($0[3]) }
  }

  /// The next connection; nil where none waits or the process has no descriptor left.
  package static func acceptNext(_ descriptor: Int32) -> Int32? {
    while true {
      let accepted = accept(descriptor, nil, nil)
      if accepted >= 0 {
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        doNotBlock(accepted)
        return accepted
      }
      if errno != EINTR && errno != ECONNABORTED { return nil }
    }
  }

  package static func receive(_ descriptor: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>) -> Outcome {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
    if count > 0 { return .bytes(count) }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? .wouldBlock : .ended
  }

  package static func transmit(_ descriptor: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> Outcome {
    #if canImport(Glibc)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    let count = send(descriptor, bytes.baseAddress, bytes.count, flags)
    if count >= 0 { return .bytes(count) }
    return errno == EAGAIN || errno == EINTR ? .wouldBlock : .ended
  }

  package static func doNotBlock(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  /// Ends our direction; the peer's stays open.
  package static func shutWriting(_ descriptor: Int32) {
    #if canImport(Glibc)
      shutdown(descriptor, Int32(SHUT_WR))
    #else
      shutdown(descriptor, SHUT_WR)
    #endif
  }

  package static func end(_ descriptor: Int32) { close(descriptor) }

  /// The wall clock, in milliseconds since 1970.
  package static func wallMilliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int(time.tv_sec) * 1_000 + Int(time.tv_nsec) / 1_000_000
  }
}

/// A socket call that failed.
package struct SocketError: Error, Equatable, Sendable {
  package var call: String
  package var errno: Int32

  package init(call: String, errno: Int32) {
    self.call = call
    self.errno = errno
  }

  package var message: String { "\(call): \(String(cString: strerror(errno)))" }
}

/// Where to dial, looked up once.
package struct SocketDestination: Sendable {
  fileprivate var storage = sockaddr_storage()
  fileprivate var length: socklen_t = 0
  fileprivate var family: Int32 = AF_INET

  /// The first address of a host. Waits for the resolver.
  package init(host: String, port: Int) throws(SocketError) {
    var hints = addrinfo()
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0, let info = list else {
      throw SocketError(call: "getaddrinfo", errno: ENOENT)
    }
    defer { freeaddrinfo(list) }
    family = info.pointee.ai_family
    length = info.pointee.ai_addrlen
    withUnsafeMutableBytes(of: &storage) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: info.pointee.ai_addr, count: Int(length)))
    }
  }
}

extension StreamSocket {
  /// A socket that is being connected; writable when that is over, and `dialError` tells how.
  package static func dial(_ destination: SocketDestination) throws(SocketError) -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(
        destination.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      let descriptor = socket(destination.family, SOCK_STREAM, 0)
    #endif
    if descriptor < 0 { throw SocketError(call: "socket", errno: errno) }
    doNotBlock(descriptor)
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    var storage = destination.storage
    let code = withUnsafePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, destination.length)
      }
    }
    if code != 0 && errno != EINPROGRESS {
      let failure = errno
      close(descriptor)
      throw SocketError(call: "connect", errno: failure)
    }
    return descriptor
  }

  /// The errno of a dial that is over; 0 when it is connected.
  package static func dialError(_ descriptor: Int32) -> Int32 {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
    return code
  }
}
