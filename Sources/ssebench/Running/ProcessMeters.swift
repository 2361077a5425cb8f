// What this process uses: CPU from getrusage, resident memory from the kernel, allocations from jemalloc. Numbers that
// cannot be read are absent, never 0.

import CPlatform
import Foundation
import Recording

enum ProcessMeters {
  /// User and system seconds of all threads; children are left out.
  static var cpuSeconds: Double {
    var usage = rusage()
    #if canImport(Glibc)
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
    getrusage(RUSAGE_SELF, &usage)
    #endif
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// The resident set in bytes; −1 where it cannot be read.
  static var residentBytes: Int64 {
    #if os(Linux)
    let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return -1 }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 128)
    let count = Foundation.read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return -1 }
    let fields = String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let pages = Int64(fields[1]) else { return -1 }
    return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
    #else
    return -1
    #endif
  }

  static let hasJemalloc = CPlatform_has_jemalloc()

  /// jemalloc's `stats.allocated` after a refresh; −1 without jemalloc.
  static var allocatedBytes: Int64 {
    guard hasJemalloc else { return -1 }
    CPlatform_mallctl_refresh()
    return read("stats.allocated")
  }

  /// The same without what only waits in the calling thread's cache, which counts as allocated.
  static var heldBytes: Int64 {
    CPlatform_mallctl_flush_thread_cache()
    return allocatedBytes
  }

  /// Bytes that the calling thread has taken and not given back, to the byte; nil without jemalloc.
  static var threadNetBytes: Int64? {
    guard let taken = CPlatform_thread_allocated(), let freed = CPlatform_thread_deallocated() else { return nil }
    return Int64(bitPattern: taken.pointee &- freed.pointee)
  }

  private static func read(_ name: String) -> Int64 {
    var value: UInt64 = 0
    return CPlatform_mallctl_read(name, &value) ? Int64(clamping: value) : -1
  }

  /// One whole reading; the caller fills in what it knows of the run.
  static func sample() -> MemorySample {
    var sample = MemorySample()
    if hasJemalloc {
      CPlatform_mallctl_refresh()
      sample.allocated = read("stats.allocated")
      sample.active = read("stats.active")
      sample.resident = read("stats.resident")
      sample.retained = read("stats.retained")
      let small = read("stats.arenas.4096.small.nrequests")
      let large = read("stats.arenas.4096.large.nrequests")
      if small >= 0 && large >= 0 { sample.requests = small + large }
    }
    sample.rss = residentBytes
    return sample
  }
}
