// How many worker threads a load gets: one on a small machine, where the mock needs the other core.

import Arrivals
import Foundation
import Scenarios

enum WorkerThreads {
  static func count(_ scenario: Scenario, _ plan: Plan, mostLive: Int) -> Int {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let most = cores <= 2 ? 1 : min(4, cores / 2)
    // No thread without a place.
    guard case .closed(let closed) = plan.kind else { return max(1, min(most, mostLive)) }
    return max(1, min(most, closed.places))
  }
}

/// This very program, to be started again as the mock.
enum Executable {
  static var path: String {
    #if os(Linux)
    if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
    #endif
    return Bundle.main.executablePath ?? CommandLine.arguments[0]
  }
}
