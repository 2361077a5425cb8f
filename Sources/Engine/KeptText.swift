// What a consumer keeps of a stream's text, as an app would: the positive controls of the memory measure.

import Scenarios

/// The text of one session under a consumer that keeps it.
package final class KeptText {
  /// `accumulate`: blocks of 256 bytes, so that its growth is known.
  /// The newest block; each begins with the address of the one before it, so that nothing but blocks is taken.
  private var block: UnsafeMutableRawPointer?
  private var used = 256
  /// `accumulate-string` and `coalesce`: a growing String, doublings and all.
  package private(set) var text = ""
  /// What the view shows: the text as last published.
  package private(set) var shown = ""
  package private(set) var publishes = 0
  private var published = Int64.min
  private var isPending = false
  /// The least time between two updates of a view, one frame at 60 Hz.
  package static let frame: Int64 = 16_000_000

  package init() {}

  deinit {
    while let last = block {
      block = last.load(as: UnsafeMutableRawPointer?.self)
      last.deallocate()
    }
  }

  func appendBlocks(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    while rest.count > 0 {
      if used == 256 {
        let fresh = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 8)
        fresh.storeBytes(of: block, as: UnsafeMutableRawPointer?.self)
        block = fresh
        used = MemoryLayout<UnsafeMutableRawPointer?>.stride
      }
      let count = min(256 - used, rest.count)
      if let last = block, let base = rest.baseAddress { (last + used).copyMemory(from: base, byteCount: count) }
      used += count
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  func appendString(_ bytes: UnsafeRawBufferPointer) {
    text += String(decoding: bytes, as: UTF8.self)
  }

  /// A view that updates at most once a frame: the first text at once, the last always.
  ///
  /// - Returns: true where text has begun to wait for the next frame: `publish` is then due at `nextPublish`.
  @discardableResult
  package func coalesce(_ bytes: UnsafeRawBufferPointer, at now: Int64) -> Bool {
    appendString(bytes)
    let wasPending = isPending
    isPending = true
    if published == .min || now - published >= Self.frame {
      publish(at: now)
      return false
    }
    return !wasPending
  }

  /// When waiting text is to be shown; nil where none waits.
  package var nextPublish: Int64? { isPending ? published + Self.frame : nil }

  package func publish(at now: Int64) {
    guard isPending else { return }
    published = now
    publishes += 1
    isPending = false
    // A view keeps the text it shows, so that the next append copies it: what a view model pays for an update.
    shown = text
  }

  package func flush() { publish(at: published) }
}
