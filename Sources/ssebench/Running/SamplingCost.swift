// What the readings of memory cost: CPU time of the thread that takes them.

import CPlatform

struct SamplingCost: Sendable {
  private(set) var samples = 0
  private(set) var nanoseconds: Int64 = 0

  mutating func add(_ cost: Int64) {
    samples += 1
    nanoseconds += max(0, cost)
  }
}

enum CPUTime {
  /// In nanoseconds.
  static var ofThisThread: Int64 { CPlatform_thread_cpu_ns() }
}
