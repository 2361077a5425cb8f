import CPlatform
import Foundation
import Testing

/// The counters of the whole process, for stacks that work on threads of their own.
@Suite struct AllocationCountTests {
  @Test func bytesOfOtherThreads_AreCounted() throws {
    guard CPlatform_has_jemalloc() else { return }
    func read() -> UInt64? {
      var bytes: UInt64 = 0
      CPlatform_mallctl_refresh()
      return CPlatform_arena_bytes(CPlatform_all_arenas(), &bytes) ? bytes : nil
    }
    let before = try #require(read())
    let done = DispatchSemaphore(value: 0)

    Thread.detachNewThread {
      // 4,096 is a size class of its own; a megabyte is a large one.
      for size in Array(repeating: 4_096, count: 10_000) + Array(repeating: 1 << 20, count: 20) {
        let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
        block.storeBytes(of: size, as: Int.self)
        block.deallocate()
      }
      CPlatform_mallctl_flush_thread_cache()
      done.signal()
    }
    done.wait()

    let counted = try #require(read()) - before
    #expect(counted >= 10_000 * 4_096 + 20 * (1 << 20), "\(counted)")
  }
}
