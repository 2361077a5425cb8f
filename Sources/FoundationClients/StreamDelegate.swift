// URLSession's delegate: takes the instant first, then puts what it was told into the worker's inbox. Knows no places.

import Foundation
import Primitives
import Synchronization
import Transports

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The delegate of one URLSession. Called on the session's own queue, one call at a time.
final class StreamDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let inbox: ArrivalInbox
  /// The key of the only transfer of a session; nil where a session has many, whose task numbers are the keys.
  private let onlyKey: Int?
  private let followsRedirects: Bool
  /// Transfers that have a head, to tell a cut body from a failed request; true where the body is compressed and no
  /// byte of it has come, to tell a coding that Foundation does not know.
  private let opened = Mutex([Int: Bool]())

  init(inbox: ArrivalInbox, onlyKey: Int?, followsRedirects: Bool) {
    self.inbox = inbox
    self.onlyKey = onlyKey
    self.followsRedirects = followsRedirects
  }

  private func key(_ task: URLSessionTask) -> Int { onlyKey ?? task.taskIdentifier }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let at = Instant.now()
    let head = (response as? HTTPURLResponse).map { ResponseHead($0) } ?? ResponseHead()
    let key = key(dataTask)
    let isCoded = !["", "identity"].contains(head.contentEncoding.lowercased())
    opened.withLock { $0[key] = isCoded }
    inbox.put(.head(key: key, head, at: at))
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let at = Instant.now()
    let key = key(dataTask)
    opened.withLock { if $0[key] == true { $0[key] = false } }
    if inbox.put(.body(key: key, data, at: at)) { return }
    inbox.put(.end(key: key, .failed(.overflow, detail: "more bytes wait than the client holds"), at: at))
    dataTask.cancel()
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let at = Instant.now()
    let key = key(task)
    let isCoded = opened.withLock { $0.removeValue(forKey: key) }
    var end = TransferEnd(error, isOpen: isCoded != nil)
    if isCoded == nil && end == .complete {
      // A redirect that leads nowhere: Foundation ends the task without an error and without having shown its head.
      if let response = task.response as? HTTPURLResponse {
        inbox.put(.head(key: key, ResponseHead(response), at: at))
      } else {
        end = .failed(.protocolViolation, detail: "Foundation ended the request without a response")
      }
    }
    if isCoded == true && end == .cut {
      end = .failed(.unsupportedEncoding, detail: "Foundation could not decode the body's Content-Encoding")
    }
    inbox.put(.end(key: key, end, at: at))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // After 307 and 308 Foundation on Linux repeats a POST without its body, whatever the request here holds.
    completionHandler(followsRedirects && ResponseHead(response).isRedirect ? request : nil)
  }
}

extension ResponseHead {
  init(_ response: HTTPURLResponse) {
    self.init()
    status = response.statusCode
    contentType = response.value(forHTTPHeaderField: "Content-Type") ?? ""
    contentEncoding = response.value(forHTTPHeaderField: "Content-Encoding") ?? ""
    retryAfter = response.value(forHTTPHeaderField: "Retry-After")
    location = response.value(forHTTPHeaderField: "Location")
  }
}

extension TransferEnd {
  /// URLSession's error as a transfer's end; nil is a complete body.
  init(_ error: (any Error)?, isOpen: Bool) {
    guard let error else {
      self = .complete
      return
    }
    guard let error = error as? URLError else {
      self = .failed(.reset, detail: "\(error)")
      return
    }
    let detail = "URLError \(error.code.rawValue): \(error.localizedDescription)"
    let failure: TransportFailure? =
      switch error.code {
      case .cannotFindHost, .dnsLookupFailed: .nameLookup
      case .cannotConnectToHost, .notConnectedToInternet: .refused
      case .timedOut: isOpen ? .idleTimeout : .connectTimeout
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
        .clientCertificateRequired:
        .tls
      case .httpTooManyRedirects: .redirectLoop
      case .cannotDecodeContentData, .cannotDecodeRawData: .unsupportedEncoding
      // libcurl's "nothing came back", which Foundation on Linux puts among the bad answers.
      case .badServerResponse where detail.contains("Empty reply"): .reset
      case .badServerResponse, .cannotParseResponse, .unsupportedURL, .badURL: .protocolViolation
      // On Linux what TLS says comes without a code of its own.
      case .unknown where detail.contains("SSL") || detail.contains("certificate"): .tls
      default: nil
      }
    // Foundation on Linux has no code of its own for a body that ends too early.
    self = failure.map { .failed($0, detail: detail) } ?? (isOpen ? .cut : .failed(.reset, detail: detail))
  }
}
