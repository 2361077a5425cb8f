// How long this thread ran and how long it waited for a core, from the kernel (Linux: /proc/thread-self/schedstat).
// Elsewhere unknown, and said so.

#if os(Linux)
internal import Glibc
#endif

struct SchedulerStatistics {
  struct Reading {
    var isKnown = false
    /// Nanoseconds.
    var running: Int64 = 0
    var waiting: Int64 = 0
  }

  private var descriptor: Int32 = -1

  /// To be called on the thread that is asked about.
  mutating func open() {
    #if os(Linux)
    descriptor = Glibc.open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
    #endif
  }

  mutating func close() {
    #if os(Linux)
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
    #endif
  }

  func read() -> Reading {
    #if os(Linux)
    guard descriptor >= 0 else { return Reading() }
    var bytes = [UInt8](repeating: 0, count: 96)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return Reading() }
    let fields = String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ")
    guard fields.count >= 2, let running = Int64(fields[0]), let waiting = Int64(fields[1]) else { return Reading() }
    return Reading(isKnown: true, running: running, waiting: waiting)
    #else
    return Reading()
    #endif
  }
}
