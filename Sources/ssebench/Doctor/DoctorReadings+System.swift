// The readings of this machine: the kernel's files, the limits of this process, and what libcurl says of itself.

import CPlatform
import Foundation
import Transports

extension DoctorReadings {
  /// Takes some 300 ms, in which steal time is watched.
  static func ofThisMachine() -> DoctorReadings {
    var readings = DoctorReadings()
    let limit = DescriptorLimit.current
    readings.softDescriptors = limit.soft
    readings.hardDescriptors = limit.hard
    readings.cores = ProcessInfo.processInfo.activeProcessorCount
    if let words = numbers("/proc/sys/net/ipv4/ip_local_port_range"), words.count == 2, words[0] <= words[1] {
      readings.ports = words[0]...words[1]
    }
    readings.somaxconn = numbers("/proc/sys/net/core/somaxconn")?.first
    readings.governor = line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    readings.clockSource = line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    readings.loopbackMTU = numbers("/sys/class/net/lo/mtu")?.first
    readings.loadAverage = line("/proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) }
    readings.memoryAvailable = availableMemory()
    readings.diskFree = freeDisk()
    readings.stealRatio = steal()
    readings.curlVersion = CurlFeatures.version
    readings.curlFeatures = CurlFeatures.names
    readings.hasJemalloc = ProcessMeters.hasJemalloc
    readings.allowsRealtime = allowsRealtime()
    readings.isDebugBuild = Version.build == "debug"
    return readings
  }

  private static func line(_ path: String) -> String? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").first.map(String.init)
  }

  private static func numbers(_ path: String) -> [Int]? {
    line(path)?.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }
  }

  private static func availableMemory() -> Int64? {
    guard let text = try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8) else { return nil }
    let row = text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
    var available = row?.split(separator: " ").dropFirst().first.flatMap { Int64($0) }.map { $0 * 1024 }
    // A container's own limit may be lower than what the host has.
    if let limit = line("/sys/fs/cgroup/memory.max").flatMap({ Int64($0) }),
      let used = line("/sys/fs/cgroup/memory.current").flatMap({ Int64($0) })
    {
      available = min(available ?? .max, max(0, limit - used))
    }
    return available
  }

  private static func freeDisk() -> Int64? {
    let here = FileManager.default.currentDirectoryPath
    let place = FileManager.default.fileExists(atPath: here + "/Reports") ? here + "/Reports" : here
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: place)
    return (attributes?[.systemFreeSize] as? NSNumber)?.int64Value
  }

  /// Stolen ÷ all time of all cores, between two looks.
  private static func steal() -> Double? {
    func look() -> (stolen: Int64, all: Int64)? {
      guard let fields = line("/proc/stat")?.split(separator: " ").dropFirst().compactMap({ Int64($0) }), fields.count >= 8
      else { return nil }
      return (fields[7], fields[..<8].reduce(0, +))
    }
    guard let first = look() else { return nil }
    usleep(300_000)
    guard let second = look(), second.all > first.all else { return nil }
    return Double(max(0, second.stolen - first.stolen)) / Double(second.all - first.all)
  }

  /// Asks for it on a thread that ends at once.
  private static func allowsRealtime() -> Bool {
    let answer = Answer(false)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      answer.value = CPlatform_enter_realtime() == 0
      done.signal()
    }
    thread.start()
    done.wait()
    return answer.value
  }
}

/// A value that a thread leaves behind; the semaphore orders the two sides.
private final class Answer: @unchecked Sendable {
  var value: Bool
  init(_ value: Bool) { self.value = value }
}
