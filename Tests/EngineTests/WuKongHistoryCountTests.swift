// How often readers ask, as the server counts it: one history for each successful connect, none while they are online.

import Engine
import Foundation
import MockServing
import Primitives
import Recording
import Scenarios
import Testing
import WuKongIM

@Suite struct WuKongHistoryCountTests {
  @Test func oneHistoryForEachConnect_AndNoneWhileOnline() throws {
    let listener = try WuKongListener()
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      listener.run()
      isOver.signal()
    }
    let load = WuKongWorkloadTests.load(readers: 12, channels: 3, replies: 6, deltas: 200, kills: 4)
    var settings = WuKongWorkloadSettings(load: load, host: "127.0.0.1", port: listener.port)
    settings.seed = 21
    settings.client.firstDelay = .milliseconds(2)

    let workload = try WuKongWorkload(settings: settings)
    workload.run()
    listener.stop()
    isOver.wait()

    let server = listener.server
    #expect(workload.counts.readersCompleted == 12, "\(workload.problems)")
    #expect(server.counts.connects == 12 * 5 + workload.counts.reopened && server.counts.refusedConnects == 0)
    #expect(server.counts.histories == server.counts.connects)
    #expect(server.historiesByUID.count == 12 && server.historiesByUID.values.allSatisfy { $0 >= 5 })
    // Thousands of events were seen online meanwhile, and none made a reader ask.
    #expect(workload.counts.eventsReceived > 2_000)
  }
}
