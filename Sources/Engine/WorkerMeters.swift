// What a worker measures of itself: its CPU and its waits for a core. Read once a second, never
// per event.

internal import CPlatform
import Primitives
import Recording

struct WorkerMeters {
  private var beganCPU: Int64 = 0
  private var beganWall: Int64 = 0
  private var lastCPU: Int64 = 0
  private var lastWall: Int64 = 0
  private var cpu: Int64 = 0
  private var wall: Int64 = 0
  private var saturatedFor = 0.0
  private var longestSaturated = 0.0
  private var scheduler = SchedulerStatistics()
  private(set) var schedulerBegan = SchedulerStatistics.Reading()
  private var schedulerNow = SchedulerStatistics.Reading()
  /// What one reading of the thread's CPU clock costs, taken off the sampled times.
  private(set) var clockCost: Int64 = 0

  init() {}

  /// - Parameter cpuClock: what samples are taken with.
  mutating func begin(cpuClock: () -> Int64) {
    scheduler.open()
    beganCPU = CPlatform_thread_cpu_ns()
    beganWall = Instant.now().nanoseconds
    lastCPU = beganCPU
    lastWall = beganWall
    schedulerBegan = scheduler.read()
    schedulerNow = schedulerBegan
    let start = cpuClock()
    for _ in 0..<64 { _ = cpuClock() }
    clockCost = (cpuClock() - start) / 65
  }

  /// Once a second.
  mutating func second(_ now: Int64) {
    let used = CPlatform_thread_cpu_ns()
    let length = Double(now - lastWall)
    if length > 0 {
      if Double(used - lastCPU) / length > 0.9 {
        saturatedFor += length / 1e9
        longestSaturated = max(longestSaturated, saturatedFor)
      } else {
        saturatedFor = 0
      }
    }
    lastCPU = used
    lastWall = now
  }

  mutating func read(_ now: Int64) {
    cpu = CPlatform_thread_cpu_ns() - beganCPU
    wall = now - beganWall
    schedulerNow = scheduler.read()
  }

  mutating func end() { scheduler.close() }

  func fill(_ report: inout WorkerReport) {
    report.cpu = cpu
    report.wall = wall
    report.saturatedSeconds = longestSaturated
    if schedulerNow.isKnown {
      report.running = schedulerNow.running - schedulerBegan.running
      report.runQueueWait = schedulerNow.waiting - schedulerBegan.waiting
    } else {
      report.runQueueWait = -1
    }
  }
}
