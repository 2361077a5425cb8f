// A host and port become addresses to connect to, looked up once before a run.

internal import Primitives
#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// An address in the form that `connect` takes.
struct SocketAddress: Sendable {
  private var storage = sockaddr_storage()
  private var length: socklen_t = 0
  var family: Int32 { Int32(storage.ss_family) }

  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  /// The addresses of a host, in the system's order; empty with the resolver's words where there is none.
  static func lookUp(host: String, port: Int) -> (addresses: [SocketAddress], problem: String) {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    #if canImport(Glibc)
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
    hints.ai_socktype = SOCK_STREAM
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { return ([], String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let info = next {
      var address = SocketAddress()
      if let source = info.pointee.ai_addr, Int(info.pointee.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size {
        withUnsafeMutableBytes(of: &address.storage) {
          $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: Int(info.pointee.ai_addrlen)))
        }
        address.length = info.pointee.ai_addrlen
        addresses.append(address)
      }
      next = info.pointee.ai_next
    }
    return (addresses, "")
  }

  /// The address of a Unix socket; nil where the path is too long.
  static func unix(path: String) -> SocketAddress? {
    var address = sockaddr_un()
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    var result = SocketAddress()
    withUnsafeMutableBytes(of: &result.storage) { storage in
      withUnsafeBytes(of: &address) { storage.copyMemory(from: $0) }
    }
    result.length = socklen_t(MemoryLayout<sockaddr_un>.size)
    return result
  }
}

extension SocketAddress {
  /// The address in digits, for libcurl's list of resolved names.
  var numericHost: String? {
    var text = [CChar](repeating: 0, count: 128)
    let code = withSockaddr { getnameinfo($0, $1, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) }
    guard code == 0 else { return nil }
    let name = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    return name.contains(":") ? "[\(name)]" : name
  }
}

extension WebAddress {
  /// The host's addresses in libcurl's form, "host:port:address,…"; nil for a number, and where there is none. Waits
  /// for the resolver.
  var lookedUp: String? {
    guard host.contains(where: \.isLetter), !host.contains(":") else { return nil }
    let found = SocketAddress.lookUp(host: host, port: port).addresses.compactMap(\.numericHost)
    return found.isEmpty ? nil : "\(host):\(port):\(found.joined(separator: ","))"
  }
}

/// The system's words for an errno.
func systemMessage(_ code: Int32) -> String { String(cString: strerror(code)) }
