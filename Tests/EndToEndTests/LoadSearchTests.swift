import Testing
import ssebench

/// The bisection of `search`, against limits that are known.
@Suite struct LoadSearchTests {
  /// The loads tried, and what was found, where loads up to `limit` meet what is asked.
  private func search(limit: Double, tolerance: Double, isWhole: Bool) -> (tried: [Double], search: LoadSearch) {
    var search = LoadSearch(from: 1_000, to: 8_000, tolerance: tolerance)
    var tried: [Double] = []
    while let load = search.next, tried.count < 100 {
      let used = isWhole ? load.rounded() : load
      if search.isKnown(used) { break }
      tried.append(used)
      search.learn(used, met: used <= limit)
    }
    return (tried, search)
  }

  @Test(arguments: [0.1, 1, 50, 1e-12]) func wholeLoads_EndWhateverTheTolerance(_ tolerance: Double) {
    let (tried, search) = search(limit: 4_668, tolerance: tolerance, isWhole: true)

    #expect(tried.count < 20 && Set(tried).count == tried.count, "\(tried)")
    #expect((search.best ?? 0) <= 4_668 && 4_668 - (search.best ?? 0) < max(1, tolerance))
    #expect((search.worst ?? 0) > 4_668)
  }

  @Test func fractions_EndWithinTheTolerance() {
    let (tried, search) = search(limit: 4_668.4, tolerance: 0.1, isWhole: false)

    #expect(tried.count < 30)
    #expect((search.worst ?? 0) - (search.best ?? 0) <= 0.1 && (search.best ?? 0) <= 4_668.4)
  }

  @Test func ends_AreTriedFirst() {
    #expect(search(limit: 999, tolerance: 1, isWhole: true).tried == [1_000])
    #expect(search(limit: 9_000, tolerance: 1, isWhole: true).tried == [1_000, 8_000])
  }
}
