// What the mock remembers of a session between its connections: how many there were, when its stream began, how far it
// came, which faults it had. Bounded: the oldest without a live connection are forgotten.

internal import Primitives

struct SessionState {
  /// The plan's index, a hash of its name, or, without one, a count.
  var key: UInt64 = 0
  /// What its content follows from.
  var index: Int = 0
  var isAnonymous = false
  var connections: Int32 = 0
  var live: Int32 = 0
  /// When the first request came; 0: not yet.
  var start: Int64 = 0
  /// The highest event number that was fully handed to the kernel.
  var highest: Int = 0
  /// Events sent over all connections.
  var sent: Int = 0
  /// Due time of one event, kept so that a resume need not add all gaps up again.
  var knownEvent = -1
  var knownDue: Int64 = 0
  /// Events that faults have taken out, so that neither a resume nor a replay brings them back.
  var skips: [Range<Int>] = []
  /// The lower number of two swapped events that were the last to be sent; 0: none.
  var swapped = 0
  var idWasReset = false
}

struct SessionTable: ~Copyable {
  /// Sessions without a live connection beyond which the oldest are forgotten.
  static let maximumIdle = 100_000

  private(set) var states: UnsafeMutablePointer<SessionState>
  private var capacity: Int
  private var used = 0
  private var free: [Int32] = []
  private var byKey: [UInt64: Int32] = [:]
  /// Idle sessions, oldest first; may hold some that live again.
  private var idle: [(session: Int32, key: UInt64)] = []
  private var idleStart = 0
  /// How often each fault has happened in each session.
  private let faultCount: Int
  private var uses: UnsafeMutablePointer<UInt16>

  init(faults: Int) {
    capacity = 1024
    faultCount = faults
    states = .allocate(capacity: capacity)
    states.initialize(repeating: SessionState(), count: capacity)
    uses = .allocate(capacity: max(1, capacity * faults))
    uses.initialize(repeating: 0, count: max(1, capacity * faults))
  }

  deinit {
    states.deinitialize(count: capacity)
    states.deallocate()
    uses.deallocate()
  }

  @inline(__always) subscript(session: Int32) -> UnsafeMutablePointer<SessionState> { states + Int(session) }

  func uses(of fault: Int, in session: Int32) -> Int { Int(uses[Int(session) * faultCount + fault]) }

  func countUse(of fault: Int, in session: Int32) {
    let at = Int(session) * faultCount + fault
    if uses[at] < .max { uses[at] += 1 }
  }

  func find(_ key: UInt64) -> Int32? { byKey[key] }

  /// The session with this key, made if it is not known.
  mutating func open(key: UInt64, index: Int) -> Int32 {
    if let session = byKey[key] { return session }
    let session = take()
    states[Int(session)].key = key
    states[Int(session)].index = index
    byKey[key] = session
    return session
  }

  /// A session of one stream that nobody can come back to.
  mutating func openAnonymous(number: UInt64) -> Int32 {
    let session = take()
    states[Int(session)].key = number
    states[Int(session)].isAnonymous = true
    return session
  }

  /// A connection of the session ended.
  mutating func leave(_ session: Int32) {
    let state = self[session]
    state.pointee.live -= 1
    guard state.pointee.live <= 0 else { return }
    if state.pointee.isAnonymous {
      free.append(session)
      return
    }
    idle.append((session, state.pointee.key))
    while idle.count - idleStart > Self.maximumIdle {
      let oldest = idle[idleStart]
      idleStart += 1
      guard byKey[oldest.key] == oldest.session, self[oldest.session].pointee.live <= 0 else { continue }
      byKey[oldest.key] = nil
      free.append(oldest.session)
    }
    if idleStart > 4096, idleStart * 2 > idle.count {
      idle.removeFirst(idleStart)
      idleStart = 0
    }
  }

  private mutating func take() -> Int32 {
    if let session = free.popLast() {
      states[Int(session)] = SessionState()
      for fault in 0..<faultCount { uses[Int(session) * faultCount + fault] = 0 }
      return session
    }
    if used == capacity { grow() }
    used += 1
    return Int32(used - 1)
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<SessionState>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: states, count: capacity)
    (larger + capacity).initialize(repeating: SessionState(), count: capacity)
    let moreUses = UnsafeMutablePointer<UInt16>.allocate(capacity: max(1, capacity * 2 * faultCount))
    moreUses.initialize(repeating: 0, count: max(1, capacity * 2 * faultCount))
    moreUses.update(from: uses, count: capacity * faultCount)
    states.deallocate()
    uses.deallocate()
    states = larger
    uses = moreUses
    capacity *= 2
  }
}
