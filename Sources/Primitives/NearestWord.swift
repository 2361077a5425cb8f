// A mistyped word becomes the known word it was probably meant to be.

package enum NearestWord {
  /// The candidate with the smallest edit distance, if that is small against the word's length.
  package static func find(_ word: String, among candidates: some Sequence<String>) -> String? {
    let wanted = Array(word.lowercased().prefix(64))
    let ranked = candidates.map { ($0, distance(wanted, Array($0.lowercased()))) }.min { $0.1 < $1.1 }
    guard let ranked, ranked.1 <= max(2, wanted.count / 3), ranked.1 < wanted.count else { return nil }
    return ranked.0
  }

  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let above = row[j + 1]
        row[j + 1] = x == y ? diagonal : 1 + min(diagonal, above, row[j])
        diagonal = above
      }
    }
    return row[b.count]
  }
}
