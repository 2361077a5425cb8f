// With SSEBENCH_SAMPLE_RUNS=DIR the tests leave synthetic run folders there, for the interop scripts and for looking at.

import Foundation
import Testing
import Reporting
import TestSupport

@Suite struct SampleRuns {
  @Test(.enabled(if: ProcessInfo.processInfo.environment["SSEBENCH_SAMPLE_RUNS"] != nil))
  func syntheticRuns_AreLeftBehind() throws {
    let folder = ProcessInfo.processInfo.environment["SSEBENCH_SAMPLE_RUNS"] ?? ""

    try SyntheticRun.make {
      $0.name = "quickstart"
      $0.gates = ["ttft_ms.p99 < 400", "errors_ratio <= 0.001", "ttft_ms.p50 <= baseline * 1.10"]
    }.write(to: "\(folder)/quickstart")
    try SyntheticRun.make {
      $0.name = "parsers side by side"
      $0.variants = ["whatwg", "data-only", "lines"]
      $0.factor = 1.05
      $0.repeats = 3
      $0.sessions = 800
      $0.errorShare = 0.01
      $0.gates = ["ttft_ms.p99 < 250"]
    }.write(to: "\(folder)/variants")
    try SyntheticRun.make {
      $0.name = "memory of 2,000 tokens"
      $0.withMemory = true
      $0.slope = 0.64
      $0.sessions = 200
      $0.tokens = 2_000
      $0.gap = 5
    }.write(to: "\(folder)/memory")
    try SyntheticRun.make {
      $0.name = "recovery <script>alert(1)</script>"
      $0.withRecovery = true
      $0.sessions = 4_000
    }.write(to: "\(folder)/recovery")
  }
}
