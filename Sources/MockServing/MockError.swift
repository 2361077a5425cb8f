// Why a mock could not begin: an address that cannot be had, a recording that cannot be read.

package enum MockError: Error, Equatable {
  /// The port is taken, or the address is not ours.
  case cannotListen(address: String, reason: String, isTaken: Bool)
  /// The kernel refused the event queue.
  case noEventQueue(call: String, errno: Int32)
  /// `replay`: the file and what is wrong with it.
  case badRecording(file: String, reason: String)
}

/// A socket call that failed.
struct SocketFailure: Error, Equatable {
  var call: String
  var errno: Int32
}
