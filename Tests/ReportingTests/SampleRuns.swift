// With SSEBENCH_SAMPLE_RUNS=DIR the tests leave synthetic run folders there, for the interop scripts and for looking at.

import Foundation
import Testing
import Analysis
import Primitives
import Recording
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
    for (index, ttft) in [200.0, 200, 210].enumerated() {
      let run = SyntheticRun.make(seed: UInt64(index) + 10) {
        $0.name = "pair"
        $0.ttft = ttft
        $0.repeats = 3
        $0.sessions = 400
        $0.gates = ["ttft_ms.p50 <= baseline * 1.02", "errors_ratio == 0"]
      }
      try run.write(to: "\(folder)/pair-\(index)")
    }
    for index in 0..<4 {
      var run = SyntheticRun.make(seed: UInt64(index) + 1) { $0.name = "sharded"; $0.sessions = 300 }
      run.record.seed = 42
      run.record.scenario = .object(["name": .string("sharded"), "gates": .array([.string("ttft_ms.p99 < 400")])])
      run.record.shard = RunShard(index: index, count: 4)
      try run.write(to: "\(folder)/shard-\(index)")
    }
    try OutputFile.replace(SummarySchema.document.text(pretty: true), to: "\(folder)/quickstart/schema.json")
    try OutputFile.replace(SummarySchema.document.text(pretty: true), to: "\(folder)/memory/schema.json")
    try SyntheticRun.make {
      $0.name = "recovery <script>alert(1)</script>"
      $0.withRecovery = true
      $0.sessions = 4_000
    }.write(to: "\(folder)/recovery")
  }
}
