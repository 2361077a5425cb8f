// The stacks and the decoder that are made with Foundation, put into the settings of a variant: the engine knows
// neither.

import Engine
import Foundation
import FoundationClients
import Primitives
import Scenarios

extension SessionSettings {
  /// Gives the engine what it needs for the scenario's stack and decoder.
  mutating func useFoundation(_ scenario: Scenario) {
    if scenario.client.decoder == .foundation { foreignDecoder = { FoundationDecoder() } }
    guard scenario.client.stack.isURLSession else { return }
    var options = URLSessionOptions()
    options.sessionPerTransfer = scenario.client.connections == .fresh
    let timeouts = scenario.client.timeouts
    if scenario.client.fidelity == .faithful && scenario.client.stack != .urlsession {
      options.requestTimeout = timeouts.idle.seconds
      options.resourceTimeout = timeouts.total.seconds
    } else {
      // The engine's limits are exact; Foundation's only stand behind them, in whole seconds on Linux.
      options.requestTimeout = max(timeouts.idle, timeouts.firstEvent, timeouts.connect).seconds.rounded(.up) + 5
      options.resourceTimeout = timeouts.total.seconds.rounded(.up) + 5
    }
    transportFactory = URLSessionTransport.factory(options)
  }
}
