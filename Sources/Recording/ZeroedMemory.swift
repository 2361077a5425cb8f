// Memory that comes zeroed from the allocator, so that pages never touched are never resident.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

func zeroedCounts(_ count: Int) -> UnsafeMutablePointer<Int64> {
  guard let memory = calloc(count, MemoryLayout<Int64>.stride) else {
    preconditionFailure("no memory for a histogram of \(count) counts")
  }
  return memory.bindMemory(to: Int64.self, capacity: count)
}

func releaseCounts(_ counts: UnsafeMutablePointer<Int64>) { free(counts) }
