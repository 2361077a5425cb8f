import Engine
import Foundation
import Primitives
import Recording
import Scenarios

enum DevCommand {
  static let command = Command(
    name: "dev", summary: "dev", examples: [("dev", "dev")], operands: "URL STACK CONC SESSIONS", operandCount: 4...5,
    run: { invocation in
      var scenario = Scenario()
      scenario.endpoint.mock = nil
      scenario.endpoint.url = invocation.operands[0]
      scenario.client.stack = Stack(rawValue: invocation.operands[1])!
      if invocation.operands.count > 4 { scenario.client.decoder = Decoder(rawValue: invocation.operands[4])! }
      let concurrency = Int(invocation.operands[2])!
      let total = Int64(invocation.operands[3])!
      var lim = rlimit(); getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lim); lim.rlim_cur = lim.rlim_max; setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lim)
      scenario.load.concurrency = concurrency
      let settings = try SessionSettings(scenario, mockURLs: nil)
      var next: Int64 = 0
      let load = WorkerLoad(
        kind: .closed([Int64](repeating: 0, count: concurrency)), capacity: concurrency, concurrency: concurrency, warmUp: 0,
        rampUp: 0, startsEnd: nil, drain: nil, dropsBeyond: false, lateAfter: 1_000_000, budget: BudgetShare(),
        starts: { next < total ? { let s = SessionStart(index: next, at: 0); next += 1; return s }() : nil },
        think: { _ in 0 }, bodyFor: { _ in [] })
      let run = try EngineRun(settings: settings, loads: [load], origin: .now() + .milliseconds(20))
      run.start()
      let totalRecord = IntervalRecord()
      var samples: [String] = []
      var last = WorkerReport()
      while true {
        usleep(20000)
        let reports = run.take()
        for interval in reports[0].intervals { totalRecord.add(interval.record); run.giveBack(interval.record, toWorker: 0) }
        samples += reports[0].errorSamples.map { "\($0.kind.word): \($0.message)" }
        last = reports[0]
        if last.isFinished { break }
      }
      run.join()
      let c = totalRecord.counters
      print("completed", c.completed, "failed", c.failed, "tokens", c.tokenEvents, "usage", c.tokens, "peak", last.peakLive)
      for (i, n) in totalRecord.errors.enumerated() where n > 0 { print(SessionErrorKind(rawValue: UInt8(i))!.word, n) }
      print(samples.prefix(5))
      for m in [Metric.connect, .ttfb, .ttft, .itl, .e2e, .loopIteration, .callbackDwell, .sendLag] {
        let h = totalRecord[m]
        print(m.key, h.count, "p50", Double(h.value(atQuantile: 0.5)) / 1e6, "p99", Double(h.value(atQuantile: 0.99)) / 1e6, "max", Double(h.largest) / 1e6)
      }
      print("reads", c.reads, "cpu us/event", Double(last.cpu) / 1000 / Double(max(1, c.tokenEvents)), "parse ns/event", c.sampledEvents > 0 ? c.sampledParseNanoseconds / c.sampledEvents : 0, "wall", Double(last.wall) / 1e9)
      return .success
    })
}
