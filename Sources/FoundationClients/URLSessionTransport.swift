// Foundation's URLSession, with a delegate, as the transport of one worker. On Linux it stands over a libcurl and
// threads of its own: arrivals come through an inbox, with the instant at which the delegate was called.

package import EventLoops
import Foundation
package import Primitives
package import Transports

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// How a worker's URLSession is set up.
package struct URLSessionOptions: Sendable, Equatable {
  /// A session for each transfer, as recouse/EventSource makes them: no connection is ever used again.
  package var sessionPerTransfer = false
  /// `timeoutIntervalForRequest`, in seconds: the longest time without a byte. Linux cuts it to whole seconds.
  package var requestTimeout = 60.0
  /// `timeoutIntervalForResource`, in seconds. Linux keeps it and does nothing with it.
  package var resourceTimeout = 300.0
  /// Body bytes that may wait for the worker, or for a slow consumer in one place, before the transfer is given up.
  package var queueLimit = 64 << 20

  package init() {}
}

/// - `requestSent` is never reported: no delegate call says when a request goes out.
/// - A paused place does not stop reading from its socket, since Foundation on Linux cannot: the bytes wait here, are
///   counted (`peakQueuedBytes`) and bounded.
package final class URLSessionTransport: Transport {
  private struct Place {
    var key = -1
    var task: URLSessionDataTask?
    var session: URLSession?
    var isPaused = false
    /// What came while the place was paused, and since.
    var held: [Arrival] = []
    var heldBytes = 0
  }

  private let endpoint: EndpointAddress
  private let options: URLSessionOptions
  private unowned let receiver: any TransferReceiver
  private let inbox: ArrivalInbox
  private var places: [Place]
  private var placeOfKey: [Int: Int] = [:]
  private var shared: URLSession?
  private var lastKey = 0
  /// What was taken from the inbox, and how much of it has been dealt with.
  private var taken: [Arrival] = []
  private var takenHead = 0
  /// Places that read on and hold arrivals.
  private var resumed: [Int] = []
  private var peakHeldBytes = 0
  private let body: Data?

  package init(
    endpoint: EndpointAddress, places count: Int, queue: EventQueue, receiver: any TransferReceiver,
    options: URLSessionOptions
  ) throws(URLSessionRefusal) {
    if let refusal = URLSessionRefusal(endpoint) { throw refusal }
    self.endpoint = endpoint
    self.options = options
    self.receiver = receiver
    inbox = ArrivalInbox(queue: queue, limit: options.queueLimit)
    places = Array(repeating: Place(), count: count)
    body = endpoint.body.isEmpty ? nil : Data(endpoint.body)
    if !options.sessionPerTransfer { shared = makeSession(onlyKey: nil) }
  }

  /// Makes the transports of a run's workers.
  package static func factory(_ options: URLSessionOptions) -> TransportFactory {
    { endpoint, places, queue, receiver in
      try URLSessionTransport(endpoint: endpoint, places: places, queue: queue, receiver: receiver, options: options)
    }
  }

  private func makeSession(onlyKey: Int?) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = options.requestTimeout
    configuration.timeoutIntervalForResource = options.resourceTimeout
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    // The default of 6 would make the seventh stream wait for the end of a first.
    configuration.httpMaximumConnectionsPerHost = max(6, places.count)
    return URLSession(
      configuration: configuration,
      delegate: StreamDelegate(inbox: inbox, onlyKey: onlyKey, followsRedirects: endpoint.followsRedirects),
      delegateQueue: nil)
  }

  // MARK: Transport

  package func start(_ place: Int, _ request: TransferRequest, at now: Instant) {
    guard let foundationRequest = makeRequest(place, request) else {
      receiver.transferEnded(place, .failed(.protocolViolation, detail: "Foundation takes no such URL"), at: now)
      return
    }
    let task: URLSessionDataTask
    if let shared {
      task = shared.dataTask(with: foundationRequest)
      places[place].key = task.taskIdentifier
    } else {
      lastKey += 1
      let session = makeSession(onlyKey: lastKey)
      task = session.dataTask(with: foundationRequest)
      places[place].key = lastKey
      places[place].session = session
    }
    places[place].task = task
    placeOfKey[places[place].key] = place
    task.resume()
  }

  package func cancel(_ place: Int) {
    places[place].task?.cancel()
    places[place].session?.invalidateAndCancel()
    release(place)
  }

  package func setPaused(_ place: Int, _ paused: Bool) {
    guard places[place].key >= 0 else { return }
    places[place].isPaused = paused
    if !paused && !places[place].held.isEmpty { resumed.append(place) }
  }

  package func handle(_ readiness: Readiness) {}

  package var hasBacklog: Bool { takenHead < taken.count || !inbox.isEmpty }

  package func nextDeadline() -> Instant? { resumed.isEmpty && !hasBacklog ? nil : Instant(nanoseconds: 0) }

  /// What one turn hands over at most, so that under a flood the timers of other sessions have theirs: arrivals, bytes
  /// (of which the last arrival may bring more), and arrivals looked at, for most may be of places that are closed.
  private static let arrivalsPerTurn = 64
  private static let bytesPerTurn = 256 << 10
  private static let looksPerTurn = 4096

  package func expire(_ now: Instant) {
    deliverHeld()
    if takenHead == taken.count {
      takenHead = 0
      taken.removeAll(keepingCapacity: true)
      guard !inbox.isEmpty else { return }
      inbox.take(&taken)
    }
    var delivered = 0
    var deliveredBytes = 0
    var bytes = 0
    let end = min(taken.count, takenHead + Self.looksPerTurn)
    while takenHead < end && delivered < Self.arrivalsPerTurn && deliveredBytes < Self.bytesPerTurn {
      let arrival = taken[takenHead]
      takenHead += 1
      var size = 0
      if case .body(_, let data, _) = arrival { size = data.count }
      bytes += size
      if sort(arrival) {
        delivered += 1
        deliveredBytes += size
      }
    }
    inbox.giveBack(bytes)
  }

  package var peakQueuedBytes: Int { max(peakHeldBytes, inbox.peakBytes) }

  package func shutDown() {
    for place in places.indices { cancel(place) }
    shared?.invalidateAndCancel()
    shared = nil
  }

  // MARK: Arrivals

  /// - Returns: false for what nobody waits for any more.
  private func sort(_ arrival: Arrival) -> Bool {
    let key =
      switch arrival {
      case .head(let key, _, _), .body(let key, _, _), .end(let key, _, _): key
      }
    // What was cancelled is not reported any more.
    guard let place = placeOfKey[key] else { return false }
    if case .end(_, .failed(.overflow, _), _) = arrival {
      // What the inbox did not take cannot be waited for.
      report(arrival, place)
    } else if places[place].isPaused || !places[place].held.isEmpty {
      hold(arrival, place)
    } else {
      report(arrival, place)
    }
    return true
  }

  private func report(_ arrival: Arrival, _ place: Int) {
    switch arrival {
    case .head(_, let head, let at): receiver.headReceived(place, head, at: at)
    case .body(_, let data, let at): data.withUnsafeBytes { receiver.bodyReceived(place, $0, at: at) }
    case .end(_, let end, let at):
      places[place].session?.finishTasksAndInvalidate()
      release(place)
      receiver.transferEnded(place, end, at: at)
    }
  }

  private func hold(_ arrival: Arrival, _ place: Int) {
    if case .body(_, let data, let at) = arrival {
      if places[place].heldBytes + data.count > options.queueLimit {
        places[place].task?.cancel()
        let detail = "the consumer is slower than the stream by more than \(options.queueLimit) bytes"
        report(.end(key: places[place].key, .failed(.overflow, detail: detail), at: at), place)
        return
      }
      places[place].heldBytes += data.count
      peakHeldBytes = max(peakHeldBytes, places[place].heldBytes)
    }
    places[place].held.append(arrival)
  }

  /// One arrival a turn for each place that reads on: the consumer may pause again after it.
  private func deliverHeld() {
    guard !resumed.isEmpty else { return }
    let turn = resumed
    resumed.removeAll(keepingCapacity: true)
    for place in turn where !places[place].isPaused && !places[place].held.isEmpty {
      let arrival = places[place].held.removeFirst()
      if case .body(_, let data, _) = arrival { places[place].heldBytes -= data.count }
      report(arrival, place)
      if !places[place].held.isEmpty { resumed.append(place) }
    }
  }

  private func release(_ place: Int) {
    if places[place].key >= 0 { placeOfKey[places[place].key] = nil }
    places[place] = Place()
  }

  // MARK: Requests

  private func makeRequest(_ place: Int, _ request: TransferRequest) -> URLRequest? {
    let urls = endpoint.alternatives
    guard let url = URL(string: request.url ?? (urls.isEmpty ? endpoint.url : urls[place % urls.count])) else { return nil }
    var made = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: options.requestTimeout)
    made.httpMethod = endpoint.method
    made.httpBody = request.body.map { Data($0) } ?? body
    for header in endpoint.headers { made.setValue(header.value, forHTTPHeaderField: header.name) }
    for header in request.headers { made.setValue(header.value, forHTTPHeaderField: header.name) }
    return made
  }
}

/// What URLSession cannot do on this system, with what to use instead.
package struct URLSessionRefusal: Error, Equatable, Sendable, CustomStringConvertible {
  package var description: String

  /// nil where the endpoint is within its means.
  init?(_ endpoint: EndpointAddress) {
    let found: String? =
      if endpoint.unixSocket != nil {
        "endpoint.unix_socket"
      } else if !endpoint.resolve.isEmpty {
        "endpoint.resolve"
      } else if endpoint.proxy != nil {
        "endpoint.proxy"
      } else if endpoint.certificateFile != nil || endpoint.keyFile != nil || endpoint.caFile != nil || !endpoint.verifiesTLS {
        "endpoint.tls"
      } else if endpoint.httpVersion == .http2 {
        "endpoint.http 2"
      } else if ([endpoint.url] + endpoint.alternatives).contains(where: { WebAddress($0)?.host.contains(":") == true }) {
        // Foundation on Linux holds its own host, without brackets, against libcurl's, with them, and calls it a bad URL.
        "endpoint.url with an IPv6 address"
      } else {
        nil
      }
    guard let found else { return nil }
    description = "\(found): URLSession cannot do that on this system. Use the stack curl"
  }
}
