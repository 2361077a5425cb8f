// The same on Apple's systems. Written to compile there; run on Linux only so far. SIGPIPE is ignored by the command.

#if canImport(Darwin)
  internal import Darwin

  enum SystemConstants {
    static let stream = SOCK_STREAM
    static let descriptorLimit = RLIMIT_NOFILE
    static let ownUsage = RUSAGE_SELF
  }

  enum SystemCalls {
    static func listen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { Darwin.listen(descriptor, backlog) }

    @inline(__always) static func send(_ descriptor: Int32, _ bytes: UnsafePointer<UInt8>, _ count: Int)
      -> Int
    {
      Darwin.send(descriptor, bytes, count, 0)
    }

    static func close(_ descriptor: Int32) { _ = Darwin.close(descriptor) }

    static func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
      Darwin.read(descriptor, bytes, count)
    }

    static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
      Darwin.write(descriptor, bytes, count)
    }
  }
#endif
