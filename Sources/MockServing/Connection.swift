// One accepted socket: what it has sent us, what we still have to send, and where its stream stands. Plain memory in a
// table by number, so that ten thousand of them cost a few megabytes and no reference count.

internal import Arrivals
internal import Primitives

struct Connection {
  enum Phase: UInt8 {
    case free
    /// Between requests, or in the middle of one.
    case reading
    case streaming
    /// Nothing more will be made; closes once what is pending has been sent.
    case finishing
    /// Our side is shut; what comes is thrown away until the peer closes.
    case lingering
  }

  struct Flags: OptionSet {
    let rawValue: UInt32
    static let keepAlive = Flags(rawValue: 1 << 0)
    static let chunked = Flags(rawValue: 1 << 1)
    /// The queue reports when the socket takes more.
    static let awaitsWriting = Flags(rawValue: 1 << 2)
    /// Its pace timer has been taken from the wheel and waits for its turn.
    static let isDue = Flags(rawValue: 1 << 3)
    /// Its other timer, likewise.
    static let isAuxiliaryDue = Flags(rawValue: 1 << 4)
    /// The stream goes as fast as the connection takes it.
    static let unpaced = Flags(rawValue: 1 << 5)
    /// Events that were due before now go out together.
    static let catchesUp = Flags(rawValue: 1 << 6)
    /// What is pending may not be sent yet.
    static let held = Flags(rawValue: 1 << 7)
    /// A stall with comments.
    static let comments = Flags(rawValue: 1 << 8)
    /// In the list of those that go on at the next turn.
    static let isBusy = Flags(rawValue: 1 << 9)
    /// The interest in reading has been given up while a stream goes on.
    static let mute = Flags(rawValue: 1 << 10)
    /// The next event after a blockage is late through no fault of ours.
    static let wasBlocked = Flags(rawValue: 1 << 11)
    /// The body ends without its last chunk.
    static let endsAbruptly = Flags(rawValue: 1 << 12)
    static let continueSent = Flags(rawValue: 1 << 13)
    /// A recording is served.
    static let replaysRecording = Flags(rawValue: 1 << 14)
    /// The first bytes of a request are there; it has a deadline.
    static let requestBegun = Flags(rawValue: 1 << 15)
    /// Only the head of the answer is asked for.
    static let headOnly = Flags(rawValue: 1 << 16)
    /// The session has no name and ends with the stream.
    static let anonymous = Flags(rawValue: 1 << 17)
    /// Closes with a reset.
    static let resets = Flags(rawValue: 1 << 18)
    /// Shuts our side when what is pending has been sent, and keeps the socket.
    static let halfCloses = Flags(rawValue: 1 << 19)
    /// The end marker is left out.
    static let noTrailer = Flags(rawValue: 1 << 20)
  }

  var descriptor: Int32 = -1
  /// Tells a slot's users apart: reports for an earlier one are thrown away.
  var generation: UInt32 = 0
  var phase = Phase.free
  var flags: Flags = []

  var input: UnsafeMutablePointer<UInt8>?
  var inputCount: Int32 = 0
  var inputCapacity: Int32 = 0

  /// Bytes that the socket did not take, from `outputStart` on.
  var output: UnsafeMutablePointer<UInt8>?
  var outputStart: Int32 = 0
  var outputCount: Int32 = 0
  var outputCapacity: Int32 = 0

  /// When the other timer is due: slow sender, fault, release of held bytes.
  var purpose = AuxiliaryPurpose.none

  // The stream.
  /// Owned; made by `keepScript`, freed by `dropScript`.
  private var box: Unmanaged<ScriptBox>?
  var layout: Int32 = -1
  var session: Int32 = -1
  /// Which connection of its session, from 1.
  var ordinal: Int32 = 0
  var promptTokens: Int32 = 0
  var reasoningEvents: Int32 = 0
  var visibleEvents: Int32 = 0
  /// Exact bytes of an event's text; 0: as the script has it.
  var textSize: Int32 = 0
  /// Number of the next event, from 1, and of the last.
  var next: Int = 1
  var last: Int = 0
  /// When the next event is due, and when the next write is: later where a write holds several events.
  var due: Int64 = 0
  var writeDue: Int64 = 0
  var id: UInt64 = 0
  /// Body bytes of this response so far, before chunked framing.
  var bodyCount: Int = 0
  var responseStart: Int64 = 0
  /// Events up to this one are with the kernel once `output` is empty.
  var pendingHighest: Int = 0

  // Where the next look at the faults is due.
  var faultEvent: Int = .max
  var faultByte: Int = .max
  var drip: Drip?
  /// When a stall ends.
  var heldUntil: Int64 = 0
  /// Events of the session before this response, where the stream cannot be resumed.
  var sentBefore: Int = 0
  /// The fault that the end of the body is; −1: none.
  var endFault: Int32 = -1
  /// A Content-Length in place of chunks; −1: none.
  var contentLength: Int = -1

  struct Drip {
    var bytes: Int32
    var every: Int64
  }

  mutating func keepScript(_ value: StreamScript) {
    dropScript()
    box = .passRetained(ScriptBox(value))
  }

  mutating func dropScript() {
    box?.release()
    box = nil
  }

  /// A copy, for what happens once a stream.
  var script: StreamScript? { box?.takeUnretainedValue().script }

  // For what happens with each event: nothing is copied, nothing counted.

  @inline(__always) func gap(before event: Int) -> Int64 {
    box.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.script.gap(before: event).value }
  }

  /// Bytes written, or −1 where `capacity` may not be enough.
  @inline(__always) func writeText(
    of event: Int, into text: UnsafeMutablePointer<UInt8>, capacity: Int
  ) -> Int {
    box.unsafelyUnwrapped._withUnsafeGuaranteedRef {
      if $0.textCapacity > capacity { return -1 }
      return $0.script.writeText(of: event, into: UnsafeMutableRawBufferPointer(start: text, count: capacity))
    }
  }

  var pendingOutput: Int { Int(outputCount - outputStart) }
}

/// A script by reference: immutable, so that its methods are called in place.
final class ScriptBox {
  let script: StreamScript
  let textCapacity: Int

  init(_ script: StreamScript) {
    self.script = script
    textCapacity = script.textCapacity
  }
}

/// What the second timer of a connection is for.
enum AuxiliaryPurpose: UInt8 {
  case none
  /// A request must be complete by then.
  case requestDeadline
  /// A fault at a time.
  case fault
  /// A stall ends.
  case release
  /// The next comment or the next drip.
  case pulse
  /// A lingering socket is given up.
  case linger
}

/// The connections by number. Grows in place of being sized for the worst case; never shrinks.
struct ConnectionTable: ~Copyable {
  private(set) var slots: UnsafeMutablePointer<Connection>
  private(set) var capacity: Int
  private var free: [Int32] = []

  init(capacity: Int) {
    self.capacity = capacity
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Connection(), count: capacity)
    free = (0..<Int32(capacity)).reversed()
  }

  deinit { slots.deallocate() }

  @inline(__always) subscript(slot: Int) -> UnsafeMutablePointer<Connection> { slots + slot }

  /// A free slot; the table doubles when there is none.
  mutating func take() -> Int {
    if let slot = free.popLast() { return Int(slot) }
    let larger = UnsafeMutablePointer<Connection>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: slots, count: capacity)
    (larger + capacity).initialize(repeating: Connection(), count: capacity)
    slots.deallocate()
    slots = larger
    free = (Int32(capacity)..<Int32(capacity * 2)).reversed()
    capacity *= 2
    return Int(free.removeLast())
  }

  mutating func give(_ slot: Int) {
    let generation = slots[slot].generation &+ 1
    slots[slot] = Connection()
    slots[slot].generation = generation
    free.append(Int32(slot))
  }
}
