// What the readings of memory cost: CPU time of the thread that takes them.

import CPlatform

struct SamplingCost: Sendable {
  private(set) var samples: Int64 = 0
  private(set) var seconds = 0.0

  mutating func add(nanoseconds: Int64) {
    samples += 1
    seconds += Double(max(0, nanoseconds)) / 1e9
  }
}

enum CPUTime {
  /// In nanoseconds.
  static var ofThisThread: Int64 { CPlatform_thread_cpu_ns() }
}
