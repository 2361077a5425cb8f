// The answers of several mock processes that share a port become one, so that who asks need not know how many there
// are. Numbers are added, the highest event number counts, lists are joined.

package import Primitives

package enum FleetAnswer {
  /// - Parameter answers: of the same command, one a process.
  package static func merge(_ answers: [JSONValue]) -> JSONValue {
    guard var merged = answers.first?.asObject else { return .object(JSONObject()) }
    for answer in answers.dropFirst() {
      for (key, value) in answer.asObject?.pairs ?? [] {
        merged[key] = merged[key].map { join($0, value, key: key) } ?? value
      }
    }
    return .object(merged)
  }

  private static func join(_ a: JSONValue, _ b: JSONValue, key: String) -> JSONValue {
    switch (a, b) {
    case (.integer(let x), .integer(let y)): return .integer(key == "max_ns" ? max(x, y) : x &+ y)
    case (.bool(let x), .bool(let y)): return .bool(x && y)
    case (.array(let x), .array(let y)): return .array(key == "counts" ? addCounts(x, y) : x + y)
    case (.object(let x), .object(let y)):
      var merged = x
      for (inner, value) in y.pairs {
        guard let mine = x[inner] else {
          merged[inner] = value
          continue
        }
        // `sent` and `closes`: a session that came to two processes has the later of both.
        merged[inner] =
          key == "sent" || key == "closes"
          ? ((mine.asInt ?? 0) >= (value.asInt ?? 0) ? mine : value) : join(mine, value, key: inner)
      }
      return .object(merged)
    default:
      if let x = a.asDouble, let y = b.asDouble { return .number(x + y) }
      return a.isNull ? b : a
    }
  }

  /// Pairs of index and count, in the order of the index.
  private static func addCounts(_ a: [JSONValue], _ b: [JSONValue]) -> [JSONValue] {
    var counts: [Int: Int] = [:]
    for pair in a + b {
      if let index = pair[0]?.asInt, let count = pair[1]?.asInt { counts[index, default: 0] += count }
    }
    return counts.sorted { $0.key < $1.key }.map {
      .array([.integer(Int64($0.key)), .integer(Int64($0.value))])
    }
  }
}
