// The machine as far as a figure depends on it: processor, cores, memory, governor, limits.

import Foundation
import Recording

enum MachineReading {
  static func read() -> MachineRecord {
    var machine = MachineRecord()
    var name = utsname()
    uname(&name)
    machine.system = text(name.sysname)
    machine.kernel = text(name.release)
    machine.host = text(name.nodename)
    machine.cores = ProcessInfo.processInfo.activeProcessorCount
    machine.memoryBytes = Int64(ProcessInfo.processInfo.physicalMemory)
    machine.processor = processor() ?? text(name.machine)
    machine.governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    machine.descriptorLimit = DescriptorLimit.current.hard
    return machine
  }

  private static func processor() -> String? {
    guard let info = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else { return nil }
    let line = info.split(separator: "\n").first { $0.hasPrefix("model name") }
    return line?.split(separator: ":", maxSplits: 1).last.map { $0.trimmingCharacters(in: .whitespaces) }
  }

  private static func firstLine(_ path: String) -> String? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").first.map(String.init)
  }

  private static func text<Tuple>(_ characters: Tuple) -> String {
    withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}

/// The number of descriptors that this process may have open.
enum DescriptorLimit {
  static var current: (soft: Int, hard: Int) {
    var limit = rlimit()
    getrlimit(resource, &limit)
    return (Int(clamping: limit.rlim_cur), Int(clamping: limit.rlim_max))
  }

  /// Makes room for that many descriptors at once. The kernel's table doubles as it fills, and each time every thread
  /// of the process waits for a grace period: 10 to 20 ms that would look like the server's.
  static func reserve(_ count: Int) {
    let highest = fcntl(2, F_DUPFD_CLOEXEC, Int32(clamping: min(count, current.soft - 1)))
    if highest >= 0 { close(highest) }
  }

  /// Raises the soft limit to the hard one, as every run does.
  static func raise() {
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }

  #if canImport(Glibc)
  private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
  private static let resource = RLIMIT_NOFILE
  #endif
}
