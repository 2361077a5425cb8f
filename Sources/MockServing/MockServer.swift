// Streams with known timing, served to real clients over HTTP/1.1: one thread, one event queue, one timer wheel. What
// it sends follows from settings, seed and request; what it did is counted. Knows no run, no plan and no report.

internal import EventLoops
internal import Primitives
internal import Recording
package import Scenarios

/// How a mock is started.
package struct MockOptions: Sendable {
  package var settings = MockSettings()
  package var seed: UInt64 = 42
  /// A numeric address or `localhost`. Default loopback.
  package var host = "127.0.0.1"
  /// 0: a free one.
  package var port = 0
  /// Other processes listen on the same port (SO_REUSEPORT).
  package var sharesPort = false
  /// Descriptors of the control pipe; nil: none. The end of the input ends the mock.
  package var controlInput: Int32?
  package var controlOutput: Int32 = 1

  package init() {}
}

/// The server. `init` listens, so the addresses are known before `run`; `run` serves until it is told to stop.
package struct MockServer: ~Copyable {
  let options: MockOptions
  let settings: MockSettings
  let queue: EventQueue
  var wheel: TimerWheel
  var connections: ConnectionTable
  var sessions: SessionTable
  var counters: MockCounters
  var layouts: [LayoutKey: Int32] = [:]
  let layoutTable: UnsafeMutablePointer<StreamLayout>
  /// Layouts beyond this number get the model "mock-1".
  static let maximumLayouts = 1024

  var listeners: [Int32] = []
  private(set) package var addresses: [String] = []
  package let port: Int
  private let stopPipe: (reading: Int32, writing: Int32)
  var isStopping = false

  /// Where events are put together before they are sent.
  var scratch: UnsafeMutablePointer<UInt8>
  var scratchCapacity: Int
  var scratchCount = 0
  /// Where the text of one event is put together.
  var text: UnsafeMutablePointer<UInt8>
  var textCapacity: Int
  let readBuffer: UnsafeMutablePointer<UInt8>
  static let readCapacity = 64 << 10

  /// Connections that have more to send at once, and those of the turn before.
  var busy: [Int32] = []
  private var turn: [Int32] = []
  private var dueTimers: [Int32] = []

  /// Events counted at the beginning of this window of 2^27 ns, and whether there were over 3,800 a second before it.
  private var rateWindow: Int64 = 0
  private var rateEvents: Int64 = 0
  private var isCrowded = false

  let isConstantlyZero: Bool
  /// Whether text may hold what JSON escapes.
  let needsEscape: Bool
  /// One token an event, and no tool call.
  let isPlainText: Bool
  let callsTool: Bool
  let eventsPerWrite: Int
  let start: Instant
  var anonymousCount: UInt64 = 0

  // Faults.
  let faults: [Fault]
  /// How often each fault that concerns the whole server has happened.
  var globalUses: [Int]
  /// By slot, for streams that faults may concern.
  var progress: [Int32: FaultProgress] = [:]
  /// Accepting is paused until then; `max` for ever.
  var acceptsAgain: Int64 = 0
  var acceptRate: Double?
  var nextAccept: Int64 = 0

  // Control.
  var controlBytes: [UInt8] = []
  var closes = ClosedSessions()
  let recording: RecordedStream?

  // Tokens of the queue that stand for no connection; a connection's has its generation in the upper half.
  static let specialToken: UInt64 = 0xFFFF_FFFF << 32
  static let controlToken = specialToken | 0x1000
  static let stopToken = specialToken | 0x1001

  package init(options: MockOptions) throws(MockError) {
    // All that can fail comes first: a value that cannot be copied is made whole or not at all.
    SocketCalls.raiseDescriptorLimit()
    let recording: RecordedStream? =
      if let file = options.settings.replay { try RecordedStream.load(file) } else { nil }
    let queue: EventQueue
    do throws(EventQueueError) {
      queue = try EventQueue(capacity: 1024)
    } catch {
      throw .noEventQueue(call: error.call, errno: error.errno)
    }
    guard let pipe = SocketCalls.makePipe() else { throw .noEventQueue(call: "pipe", errno: 0) }
    var sockets: [Int32] = []
    var names: [String] = []
    let port: Int
    do throws(MockError) {
      port = try Self.listen(options, &sockets, &names)
    } catch {
      SocketCalls.close(pipe.reading)
      SocketCalls.close(pipe.writing)
      throw error
    }

    self.options = options
    self.recording = recording
    self.queue = queue
    self.port = port
    settings = options.settings
    faults = options.settings.faults
    globalUses = Array(repeating: 0, count: options.settings.faults.count)
    start = .now()
    stopPipe = pipe
    listeners = sockets
    addresses = names
    connections = ConnectionTable(capacity: 256)
    counters = MockCounters()
    // Two timers a connection: its pace, and whatever else it waits for; the last two are the server's own.
    wheel = TimerWheel(timers: 2 * 256 + 2, now: start)
    sessions = SessionTable(faults: options.settings.faults.count)
    layoutTable = .allocate(capacity: Self.maximumLayouts + 16)
    scratchCapacity = 256 << 10
    scratch = .allocate(capacity: scratchCapacity)
    textCapacity = 64 << 10
    text = .allocate(capacity: textCapacity)
    readBuffer = .allocate(capacity: Self.readCapacity)
    isConstantlyZero = options.settings.interval.constantValue == 0
    needsEscape = options.settings.text != .latin || options.settings.toolCall
    isPlainText = options.settings.tokensPerEvent <= 1 && !options.settings.toolCall
    callsTool = options.settings.toolCall
    eventsPerWrite = max(1, options.settings.eventsPerWrite)
  }

  deinit {
    for descriptor in listeners where descriptor >= 0 { SocketCalls.close(descriptor) }
    for slot in 0..<connections.capacity where connections[slot].pointee.phase != .free {
      SocketCalls.close(connections[slot].pointee.descriptor)
      connections[slot].pointee.input?.deallocate()
      connections[slot].pointee.output?.deallocate()
      connections[slot].pointee.dropScript()
    }
    SocketCalls.close(stopPipe.reading)
    SocketCalls.close(stopPipe.writing)
    scratch.deallocate()
    text.deallocate()
    readBuffer.deallocate()
    layoutTable.deallocate()
  }

  /// A byte written to this descriptor ends `run`, from any thread or a signal handler. Valid while the server lives.
  package var stopDescriptor: Int32 { stopPipe.writing }

  /// Serves until it is stopped or the control pipe ends.
  package mutating func run() throws(MockError) {
    EventQueue.useExactTimers()
    do throws(EventQueueError) {
      for (index, descriptor) in listeners.enumerated() {
        try queue.add(descriptor, .read, token: Self.specialToken | UInt64(index))
      }
      try queue.add(stopPipe.reading, .read, token: Self.stopToken)
      if let control = options.controlInput {
        SocketCalls.doNotBlock(control)
        try queue.add(control, .read, token: Self.controlToken)
      }
      scheduleServerFaults()
      while !isStopping { try turnOnce() }
    } catch {
      throw .noEventQueue(call: error.call, errno: error.errno)
    }
  }

  private mutating func turnOnce() throws(EventQueueError) {
    let deadline = busy.isEmpty ? coalesced(wheel.nextDeadline()) : start
    for ready in try queue.wait(until: deadline) { handle(ready) }
    if !busy.isEmpty {
      swap(&busy, &turn)
      for slot in turn where connections[Int(slot)].pointee.flags.contains(.isBusy) {
        connections[Int(slot)].pointee.flags.remove(.isBusy)
        pump(Int(slot))
      }
      turn.removeAll(keepingCapacity: true)
    }
    fireTimers()
  }

  /// Above some thousand events a second, wake-ups share a grid of 250 µs: half of the cost of an event is then the
  /// write, as it should be, and events are 125 µs later on average than they could be. Below, each has its own.
  private mutating func coalesced(_ deadline: Instant?) -> Instant? {
    guard let deadline else { return nil }
    let window = deadline.nanoseconds >> 27
    if window != rateWindow {
      isCrowded = counters.events - rateEvents > 512 * (window - rateWindow)
      (rateWindow, rateEvents) = (window, counters.events)
    }
    guard isCrowded else { return deadline }
    return Instant(nanoseconds: (deadline.nanoseconds + 249_999) / 250_000 * 250_000)
  }

  private mutating func handle(_ ready: Readiness) {
    if ready.token >= Self.specialToken {
      switch ready.token {
      case Self.controlToken: readControl()
      case Self.stopToken: isStopping = true
      default: acceptAll(Int(ready.token & 0xFFFF))
      }
      return
    }
    let slot = Int(truncatingIfNeeded: ready.token & 0xFFFF_FFFF)
    guard slot < connections.capacity,
      (connections[slot].pointee.generation & 0x7FFF_FFFF) == UInt32(ready.token >> 32),
      connections[slot].pointee.phase != .free
    else { return }
    if ready.isReadable || ready.isClosed {
      readInput(slot, isClosed: ready.isClosed)
      guard (connections[slot].pointee.generation & 0x7FFF_FFFF) == UInt32(ready.token >> 32) else { return }
    }
    if ready.isWritable { flush(slot, limit: connections[slot].pointee.drip.map { Int($0.bytes) } ?? .max) }
  }

  // MARK: timers

  /// The server's own timers come after those of all connections.
  static let serverTimers = 2

  @inline(__always) func paceTimer(_ slot: Int) -> Int { Self.serverTimers + 2 * slot }
  @inline(__always) func auxiliaryTimer(_ slot: Int) -> Int { Self.serverTimers + 2 * slot + 1 }

  @inline(__always) mutating func setPace(_ slot: Int, at due: Int64) {
    connections[slot].pointee.flags.remove(.isDue)
    wheel.set(paceTimer(slot), at: Instant(nanoseconds: due))
  }

  mutating func cancelPace(_ slot: Int) {
    connections[slot].pointee.flags.remove(.isDue)
    wheel.cancel(paceTimer(slot))
  }

  mutating func setAuxiliary(_ slot: Int, _ purpose: AuxiliaryPurpose, at due: Int64) {
    connections[slot].pointee.flags.remove(.isAuxiliaryDue)
    connections[slot].pointee.purpose = purpose
    wheel.set(auxiliaryTimer(slot), at: Instant(nanoseconds: due))
  }

  mutating func cancelAuxiliary(_ slot: Int) {
    connections[slot].pointee.flags.remove(.isAuxiliaryDue)
    connections[slot].pointee.purpose = .none
    wheel.cancel(auxiliaryTimer(slot))
  }

  /// Takes all due timers from the wheel, then lets each act unless it was set anew or cancelled meanwhile.
  private mutating func fireTimers() {
    var collected = dueTimers
    dueTimers = []
    collected.removeAll(keepingCapacity: true)
    wheel.expire(.now()) { timer, _ in collected.append(Int32(timer)) }
    for timer in collected where timer >= Int32(Self.serverTimers) {
      let (slot, which) = (Int(timer) - Self.serverTimers).quotientAndRemainder(dividingBy: 2)
      connections[slot].pointee.flags.insert(which == 0 ? .isDue : .isAuxiliaryDue)
    }
    for timer in collected {
      if timer < Int32(Self.serverTimers) {
        fireServerTimer(Int(timer))
        continue
      }
      let (slot, which) = (Int(timer) - Self.serverTimers).quotientAndRemainder(dividingBy: 2)
      let flags = connections[slot].pointee.flags
      if which == 0, flags.contains(.isDue) {
        connections[slot].pointee.flags.remove(.isDue)
        pump(slot)
      } else if which == 1, flags.contains(.isAuxiliaryDue) {
        connections[slot].pointee.flags.remove(.isAuxiliaryDue)
        fireAuxiliary(slot)
      }
    }
    dueTimers = collected
  }

  // MARK: listening

  /// Opens the listening sockets of `options`; returns the port they share.
  private static func listen(_ options: MockOptions, _ sockets: inout [Int32], _ names: inout [String])
    throws(MockError) -> Int
  {
    let count = max(1, min(options.settings.addresses, 64))
    var attempts = options.port == 0 ? 20 : 1
    while true {
      do throws(MockError) {
        return try listenOnce(options, count, &sockets, &names)
      } catch {
        for descriptor in sockets { SocketCalls.close(descriptor) }
        (sockets, names) = ([], [])
        attempts -= 1
        if attempts == 0 { throw error }
      }
    }
  }

  private static func listenOnce(
    _ options: MockOptions, _ count: Int, _ sockets: inout [Int32], _ names: inout [String]
  ) throws(MockError) -> Int {
    var port = options.port
    for index in 0..<count {
      // 127.0.0.1, 127.0.0.2, …: each has its own range of ports towards the client.
      let host = index == 0 ? options.host : "127.0.0.\(index + 1)"
      let shown = host.contains(":") ? "[\(host)]" : host
      guard let address = SocketAddress(host: host, port: port) else {
        throw .cannotListen(address: shown, reason: "not an address of this machine", isTaken: false)
      }
      switch SocketCalls.listen(address, sharesPort: options.sharesPort) {
      case .success(let descriptor):
        sockets.append(descriptor)
        if port == 0 { port = SocketCalls.port(of: descriptor) }
        names.append("http://\(shown):\(port)")
      case .failure(let failure):
        throw .cannotListen(
          address: "\(shown):\(port)", reason: SocketCalls.text(of: failure.errno),
          isTaken: failure.errno == SocketCalls.addressInUse)
      }
    }
    return port
  }

  mutating func acceptAll(_ index: Int) {
    guard index < listeners.count, listeners[index] >= 0 else { return }
    var budget = 256
    while budget > 0 {
      if let acceptRate, !maySlowlyAccept(acceptRate) { return }
      let descriptor = SocketCalls.accept(listeners[index])
      if descriptor < 0 {
        if -descriptor == SocketCalls.aborted || -descriptor == SocketCalls.interrupted { continue }
        // Out of descriptors: the queue would report the waiting connection for ever.
        if -descriptor != SocketCalls.wouldBlock {
          pauseAccepting(until: Instant.now().nanoseconds + 50_000_000)
        }
        return
      }
      budget -= 1
      let slot = connections.take()
      wheel.grow(to: Self.serverTimers + 2 * connections.capacity)
      let connection = connections[slot]
      connection.pointee.descriptor = descriptor
      connection.pointee.phase = .reading
      do throws(EventQueueError) {
        try queue.add(descriptor, .read, token: token(slot))
      } catch {
        SocketCalls.close(descriptor)
        connections.give(slot)
        continue
      }
      counters.connections += 1
      counters.active += 1
      counters.maximumActive = max(counters.maximumActive, counters.active)
      setAuxiliary(slot, .requestDeadline, at: Instant.now().nanoseconds + Self.idleLimit)
    }
  }

  @inline(__always) func token(_ slot: Int) -> UInt64 {
    UInt64(connections[slot].pointee.generation & 0x7FFF_FFFF) << 32 | UInt64(slot)
  }

  /// How long a connection may stay without a request, in ns.
  static let idleLimit: Int64 = 300_000_000_000
  /// How long a request may take to arrive once it has begun, in ns.
  static let requestLimit: Int64 = 10_000_000_000
}
