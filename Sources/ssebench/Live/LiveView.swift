// What a run serves about itself: the servers that its flags ask for, up before the first session and down with the run.

import Scenarios

final class LiveView {
  let watch: RunWatch
  private let servers: [LiveServer]

  /// nil where no flag asks for one. A port that is taken ends the run before any traffic.
  init?(_ options: RunOptions, _ loaded: LoadedScenario) throws {
    guard options.dashboard != nil || options.metrics != nil else { return nil }
    let dashboard = try options.dashboard.map { try LiveServer($0, flag: "--dashboard") }
    // One port for both, unless it is any free one.
    let isShared = options.metrics == options.dashboard && options.metrics?.port != 0
    let metrics = isShared ? dashboard : try options.metrics.map { try LiveServer($0, flag: "--metrics") }
    servers = isShared ? [dashboard].compactMap { $0 } : [dashboard, metrics].compactMap { $0 }
    let scenario = loaded.variants[0].scenario
    watch = RunWatch(
      name: loaded.secrets.scrub(loaded.name), api: (scenario.endpoint.mock?.api ?? scenario.endpoint.api).rawValue,
      dashboard: dashboard, metrics: metrics)
    for server in servers { server.start() }
    // Said even under --quiet: with port 0 nobody could know it otherwise.
    if let dashboard { Terminal.note("dashboard: \(dashboard.address)/") }
    if let metrics { Terminal.note("metrics: \(metrics.address)/metrics") }
  }

  func end() { for server in servers { server.end() } }
}
