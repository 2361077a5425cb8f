// Counts of a histogram's layout where only few are used: pages of 64, taken when they are touched. A second's counts of
// many shards together take some kilobytes and not the quarter of a megabyte of the whole layout.

package struct PagedCounts {
  private static let pageSize = 64
  /// For each page of the layout its place in `counts`, counted in pages from 1; 0: untouched.
  private var pages = [UInt16](repeating: 0, count: (Histogram.size + pageSize - 1) / pageSize)
  private var counts: [Int64] = []

  package init() {}

  package mutating func add(_ count: Int64, at index: Int) {
    let page = index / Self.pageSize
    if pages[page] == 0 {
      counts.append(contentsOf: repeatElement(0, count: Self.pageSize))
      pages[page] = UInt16(counts.count / Self.pageSize)
    }
    counts[(Int(pages[page]) - 1) * Self.pageSize + index % Self.pageSize] += count
  }

  /// The same counts as a histogram; its sums come from the middles of the counts.
  package var histogram: Histogram {
    var used: [(index: Int, count: Int64)] = []
    for (page, place) in pages.enumerated() where place > 0 {
      for offset in 0..<Self.pageSize {
        let count = counts[(Int(place) - 1) * Self.pageSize + offset]
        if count > 0 { used.append((page * Self.pageSize + offset, count)) }
      }
    }
    return Histogram(counts: used)
  }
}
