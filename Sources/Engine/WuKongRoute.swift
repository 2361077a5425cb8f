// Where the WebSocket is: the answer of `/route`, read the way WuKongIM's clients read it.

internal import EventLoops
package import Primitives
internal import Transports

package struct WuKongRoute: Equatable, Sendable {
  /// The WebSocket's address; `ws` stands as http, `wss` as https.
  package let address: WebAddress

  package struct Problem: Error, Equatable, Sendable {
    package var message: String
  }

  /// `wss_addr`, and where that is empty `ws_addr`. An API that is reached over TLS leads to no plain WebSocket: what
  /// ends TLS in front of the API ends it for the WebSocket too, on the same port.
  package init(answer: [UInt8], api: WebAddress) throws(Problem) {
    guard let document = try? JSONReader.read(answer) else {
      throw Problem(message: "the answer is not JSON")
    }
    func read(_ key: String, _ scheme: String, _ standIn: String) throws(Problem) -> WebAddress? {
      guard let text = document[key]?.asString, !text.isEmpty else { return nil }
      guard text.lowercased().hasPrefix(scheme),
        let address = WebAddress(standIn + text.dropFirst(scheme.count)),
        !address.hasCredentials
      else { throw Problem(message: "\(key) '\(text.prefix(80))' is no \(scheme) address") }
      return address
    }
    if let secure = try read("wss_addr", "wss://", "https://") {
      address = secure
    } else if let plain = try read("ws_addr", "ws://", "http://") {
      var found = plain
      if api.isSecure {
        found = api
        found.target = plain.target
      }
      address = found
    } else {
      throw Problem(message: "neither wss_addr nor ws_addr is there")
    }
  }

  /// Waits for the resolver.
  func destination(_ settings: SecureSettings) throws(Problem) -> ChannelDestination {
    do throws(SocketError) {
      return try ChannelDestination(
        host: address.host, port: address.port, isSecure: address.isSecure, settings: settings)
    } catch { throw Problem(message: "\(address.host): \(error.message)") }
  }
}
