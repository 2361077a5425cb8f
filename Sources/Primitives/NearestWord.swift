// A mistyped word becomes the known word it was probably meant to be.

package enum NearestWord {
  /// The candidate with the smallest edit distance, if that is small against the word's length.
  package static func find(_ word: String, among candidates: some Sequence<String>) -> String? {
    let wanted = Array(word.lowercased().prefix(64))
    let ranked = candidates.map { ($0, distance(wanted, Array($0.lowercased()))) }.min { $0.1 < $1.1 }
    guard let ranked, ranked.1 <= max(2, wanted.count / 3), ranked.1 < wanted.count else { return nil }
    return ranked.0
  }

  /// Insertions, deletions, replacements, and two neighbours changed round as one.
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var before: [Int] = []
    var row = Array(0...b.count)
    for i in a.indices {
      var next = [i + 1]
      for j in b.indices {
        var cost = min(row[j] + (a[i] == b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
        next.append(cost)
      }
      before = row
      row = next
    }
    return row[b.count]
  }
}
