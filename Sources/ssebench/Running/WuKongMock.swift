// The WuKongIM mock as `ssebench mock --api wukongim`: one listener for HTTP and WebSockets. With `--control` the end of
// standard input ends it, as with the other mocks.

import Foundation
import MockServing
import Primitives
import Scenarios
import WuKongIM

enum WuKongMock {
  static func serve(_ options: MockOptions) throws -> ExitCode {
    let listener: WuKongListener
    do {
      listener = try WuKongListener(host: options.host, port: options.port, faults: faults(options))
    } catch {
      throw CommandFailure(
        .cannotCreate, "cannot listen on \(options.host):\(options.port): \(error). Use a free port, such as 127.0.0.1:0")
    }
    Terminal.result(
      JSONValue.object(["listening": .string(listener.httpURL), "ws": .string(listener.webSocketURL)]).text() + "\n")
    signal(SIGTERM) { _ in _exit(0) }
    signal(SIGINT) { _ in _exit(0) }
    if options.controlInput != nil { Thread { answerControl(listener) }.start() }
    listener.run()
    return .success
  }

  private static func faults(_ options: MockOptions) -> WuKongFaults {
    var settings: [WuKongFaultKind: WuKongFaults.Setting] = [:]
    for fault in options.settings.wukongFaults {
      guard let kind = WuKongFaultKind(rawValue: fault.kind) else { continue }
      settings[kind] = WuKongFaults.Setting(
        probability: fault.probability, length: fault.length ?? .milliseconds(100))
    }
    return WuKongFaults(settings, seed: options.seed)
  }

  /// Every line gets the same small account; the end of the input ends the mock.
  private static func answerControl(_ listener: WuKongListener) {
    while readLine() != nil {
      let usage = ProcessMeters.cpuSeconds
      Terminal.result(JSONValue.object(["stats": .object(["cpu_s": .number(usage)])]).text() + "\n")
    }
    listener.stop()
  }
}
