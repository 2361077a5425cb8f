// The names and types in which Linux differs from Apple's systems, and the calls whose names SocketCalls has too.

#if canImport(Glibc)
  internal import Glibc

  enum SystemConstants {
    static let stream = Int32(SOCK_STREAM.rawValue)
    static let descriptorLimit = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    static let ownUsage = RUSAGE_SELF.rawValue
  }

  enum SystemCalls {
    static func listen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { Glibc.listen(descriptor, backlog) }

    @inline(__always) static func send(_ descriptor: Int32, _ bytes: UnsafePointer<UInt8>, _ count: Int)
      -> Int
    {
      Glibc.send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
    }

    static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    static func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
      Glibc.read(descriptor, bytes, count)
    }

    static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
      Glibc.write(descriptor, bytes, count)
    }
  }
#endif
