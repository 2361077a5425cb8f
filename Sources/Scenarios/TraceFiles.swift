// Trace files become values or arrivals: each file is read once, bounded in size, line by line. What is wrong is said
// with its line.

import Primitives

/// Why a trace is no trace.
struct TraceProblem: Error {
  var found: String
  var expected: String
}

/// The traces that a scenario names, each read once for all variants.
final class TraceFiles {
  /// The largest file of arrivals, its longest line, and the most lines: the largest published trace has 5.34 million.
  static let largestFile = 2 << 30
  static let longestLine = 4 << 20
  static let mostArrivals = 10_000_000
  /// Of a distribution's values.
  static let mostValues = 1_000_000

  enum Unit { case time, count }

  private var arrivals: [String: [TraceArrival]] = [:]
  private var values: [String: [Double]] = [:]

  /// One value a line: a duration, or a number. Empty lines and lines that begin with # are passed over.
  func values(_ path: String, unit: Unit) throws(TraceProblem) -> [Double] {
    let key = "\(unit) \(path)"
    if let known = values[key] { return known }
    var read: [Double] = []
    var problem: TraceProblem?
    try lines(of: path, limit: 64 << 20) { number, line in
      let text = line.trimmed
      if text.isEmpty || text.first == UInt8(ascii: "#") { return true }
      let word = String(decoding: text, as: UTF8.self)
      let value = unit == .time ? Units.duration(word).map { Double($0.value) } : Double(word)
      guard let value, value.isFinite, value >= 0, read.count < Self.mostValues else {
        problem = TraceProblem(
          found: "line \(number) is not a value here",
          expected: unit == .time
            ? "a duration such as 20ms on each line"
            : "a number on each line, \(Self.mostValues) lines at most")
        return false
      }
      read.append(value)
      return true
    }
    if let problem { throw problem }
    if read.isEmpty { throw TraceProblem(found: "holds no value", expected: "one value a line") }
    values[key] = read
    return read
  }

  /// The arrivals in order of time, counted from the first.
  func arrivals(_ path: String, format: TraceFormat) throws(TraceProblem) -> [TraceArrival] {
    let key = "\(format) \(path)"
    if let known = arrivals[key] { return known }
    var reader = TraceLineReader(format: format)
    var read: [(order: Int64, arrival: TraceArrival)] = []
    var problem: TraceProblem?
    try lines(of: path, limit: Self.largestFile) { number, line in
      do throws(TraceProblem) {
        guard let (time, input, output) = try reader.read(line.trimmed) else { return true }
        if read.count == Self.mostArrivals {
          throw TraceProblem(found: "more than \(Self.mostArrivals) lines", expected: "fewer")
        }
        read.append((time, TraceArrival(at: .zero, inputTokens: input, outputTokens: output)))
        return true
      } catch {
        problem = TraceProblem(found: "line \(number): \(error.found)", expected: error.expected)
        return false
      }
    }
    if let problem { throw problem }
    guard let first = read.map(\.order).min() else {
      throw TraceProblem(found: "holds no arrival", expected: "one arrival a line")
    }
    var sorted = true
    for index in read.indices {
      let (offset, overflows) = read[index].order.subtractingReportingOverflow(first)
      if overflows || offset > 365 * 86_400 * 1_000_000_000 {
        throw TraceProblem(found: "spans more than a year", expected: "times in the format's unit")
      }
      read[index].arrival.at = Nanoseconds(offset)
      if index > 0, read[index].order < read[index - 1].order { sorted = false }
    }
    if !sorted {
      // Equal times keep the order of the file.
      read = read.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }.map(
        \.element)
    }
    let result = read.map(\.arrival)
    arrivals[key] = result
    return result
  }

  /// Hands out lines with their numbers, from 1, until `take` returns false.
  private func lines(of path: String, limit: Int, _ take: (Int, ArraySlice<UInt8>) -> Bool)
    throws(TraceProblem)
  {
    var rest: [UInt8] = []
    var number = 0
    var isOver = false
    var tooLong = false
    do throws(BoundedFile.Failure) {
      try BoundedFile.chunks(of: path, limit: limit) { chunk in
        var start = 0
        for end in 0..<chunk.count where chunk[end] == 0x0A {
          number += 1
          let line = rest.isEmpty ? ArraySlice(chunk[start..<end]) : ArraySlice(rest + chunk[start..<end])
          rest.removeAll(keepingCapacity: true)
          start = end + 1
          if !take(number, line) {
            isOver = true
            return false
          }
        }
        rest += chunk[start...]
        tooLong = rest.count > Self.longestLine
        return !tooLong
      }
    } catch {
      throw TraceProblem(
        found: error.message, expected: "a readable file of at most \(Units.sizeText(limit))")
    }
    if tooLong {
      throw TraceProblem(
        found: "line \(number + 1) is longer than \(Units.sizeText(Self.longestLine))",
        expected: "shorter lines")
    }
    if !isOver && !rest.isEmpty { _ = take(number + 1, rest[...]) }
  }
}

extension ArraySlice<UInt8> {
  /// Without blanks and line ends on both sides.
  var trimmed: ArraySlice<UInt8> {
    var slice = self
    while let first = slice.first, first == 0x20 || first == 0x09 || first == 0x0D {
      slice = slice.dropFirst()
    }
    while let last = slice.last, last == 0x20 || last == 0x09 || last == 0x0D { slice = slice.dropLast() }
    return slice
  }
}
