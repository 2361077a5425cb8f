// How often and how much a worker's thread asks the allocator for, per event: exact counts over the longest stretch of
// whole seconds in which no session began or ended. Knows nothing of what the memory is for.

internal import CPlatform

/// Counts the requests of one thread. Everything is called on that thread.
struct AllocationWindow {
  private struct Reading {
    var requests: UInt64
    var bytes: UInt64
    var events: Int64
    /// Sessions begun and ended so far: a stretch is quiet while it stays the same.
    var turnover: Int64
  }

  private var arena: Int32 = -1
  private var thread: UnsafePointer<UInt64>?
  private var freed: UnsafePointer<UInt64>?
  private var knowsBytes = true
  private var first: Reading?
  private var open: Reading?
  private var longest: (requests: UInt64, bytes: UInt64, events: Int64)?
  private var whole: (requests: UInt64, bytes: UInt64, events: Int64)?

  init() {}

  /// Gives the thread an arena of its own, so that nobody else's requests are in the count.
  ///
  /// - Parameter wholeProcess: counts every thread's requests instead, for a stack that works on threads of its own. Their
  ///   bytes are then those of the allocator's size classes, which is what a thread's own counter has too.
  mutating func begin(wholeProcess: Bool) {
    arena = wholeProcess ? CPlatform_all_arenas() : CPlatform_own_arena()
    thread = wholeProcess ? nil : CPlatform_thread_allocated()
    freed = wholeProcess ? nil : CPlatform_thread_deallocated()
  }

  /// Bytes that this thread has taken and not given back, to the byte: unlike the arenas' statistics it knows no cache.
  var net: Int64? {
    guard let thread, let freed else { return nil }
    return Int64(bitPattern: thread.pointee &- freed.pointee)
  }

  /// At the end of a second.
  mutating func second(events: Int64, turnover: Int64) {
    guard arena >= 0 else { return }
    CPlatform_mallctl_flush_thread_cache()
    CPlatform_mallctl_refresh()
    var requests: UInt64 = 0
    guard CPlatform_arena_requests(arena, &requests) else { return }
    var bytes = thread?.pointee ?? 0
    if thread == nil { knowsBytes = CPlatform_arena_bytes(arena, &bytes) }
    let now = Reading(requests: requests, bytes: bytes, events: events, turnover: turnover)
    if let first {
      whole = (now.requests &- first.requests, now.bytes &- first.bytes, now.events - first.events)
    } else {
      first = now
    }
    guard let open, open.turnover == turnover else {
      self.open = now
      return
    }
    if now.events - open.events > longest?.events ?? 0 {
      longest = (now.requests &- open.requests, now.bytes &- open.bytes, now.events - open.events)
    }
  }

  /// Requests, bytes and events of the longest quiet stretch; of everything after the first second where the load was
  /// never quiet, so that the cost of beginning sessions is in it.
  ///
  /// −1 for bytes that are not known.
  var result: (requests: Int64, bytes: Int64, events: Int64)? {
    guard let best = longest ?? whole, best.events > 0 else { return nil }
    return (Int64(clamping: best.requests), knowsBytes ? Int64(clamping: best.bytes) : -1, best.events)
  }
}
