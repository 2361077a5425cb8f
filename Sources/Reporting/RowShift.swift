// Rows of a shard become rows of the merged run: instants that counted from the shard's start count from the run's. Works
// on bytes, since a merge carries gigabytes of them; every other byte stays as it is.

import Foundation

struct RowShift {
  /// Columns of instants, in rising order.
  private let columns: [Int]
  /// Nanoseconds to add to the instants of a load, by the row's first two fields as they stand ("default,0").
  private let shifts: [[UInt8]: Int64]
  private let otherwise: Int64
  /// Room for the rows as they go out.
  private var output: [UInt8] = []
  // The row that is being read; a piece of a file may end inside one whose quotes hold a line end.
  private var column = 0
  private var inQuotes = false
  private var key: [UInt8] = []
  private var keyShift: Int64?

  /// - Parameters:
  ///   - names: the columns that hold instants.
  ///   - shifts: by variant name as CSV text and repetition; `otherwise` for every other row.
  init(header: Substring, names: Set<String>, shifts: [String: Int64], otherwise: Int64) {
    columns = header.split(separator: ",", omittingEmptySubsequences: false).enumerated()
      .filter { names.contains(String($1)) }.map(\.offset)
    self.shifts = Dictionary(uniqueKeysWithValues: shifts.map { (Array($0.key.utf8), $0.value) })
    self.otherwise = otherwise
  }

  /// Whether rows pass as they are.
  var isNothing: Bool { columns.isEmpty || (otherwise == 0 && shifts.values.allSatisfy { $0 == 0 }) }

  /// Hands on whole lines with their instants moved.
  mutating func move(
    _ bytes: UnsafeBufferPointer<UInt8>, _ take: (UnsafeBufferPointer<UInt8>) throws(ReportFileError) -> Void
  ) throws(ReportFileError) {
    guard let base = bytes.baseAddress else { return }
    let count = bytes.count
    // A number grows by at most a sign and the digits of an Int64; each has a comma beside it, so that half of the bytes could be numbers.
    var output = self.output
    self.output = []
    defer { self.output = output }
    if output.count < count * 11 + Self.longestNumber { output = [UInt8](repeating: 0, count: count * 11 + Self.longestNumber) }
    // The state of a row that a piece of the file has cut, in variables of the loop's own.
    var (column, inQuotes, next, keyShift) = (self.column, self.inQuotes, 0, self.keyShift)
    let filled = output.withUnsafeMutableBufferPointer { room in
      var to = room.baseAddress!
      let start = to
      var copied = 0
      var at = 0
      var rowStart = 0
      var fieldStart = 0
      while at < count {
        let byte = base[at]
        if byte == UInt8(ascii: "\"") {
          inQuotes.toggle()
        } else if !inQuotes && (byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n")) {
          if column == 1 {
            look(bytes, rowStart, at)
            keyShift = self.keyShift
          }
          if next < columns.count, columns[next] == column {
            next += 1
            if let shift = keyShift, shift != 0, let value = Self.number(bytes, fieldStart, at) {
              memcpy(to, base + copied, fieldStart - copied)
              to += fieldStart - copied
              to = Self.write(value + shift, to)
              copied = at
            }
          }
          fieldStart = at + 1
          column += 1
          if byte == UInt8(ascii: "\n") {
            (column, next, rowStart) = (0, 0, at + 1)
          } else if next == columns.count, let end = memchr(base + at, 0x0A, count - at) {
            // Nothing behind the last instant is looked at; no field there has quotes.
            at = UnsafeRawPointer(end) - UnsafeRawPointer(base)
            continue
          }
        }
        at += 1
      }
      memcpy(to, base + copied, count - copied)
      return to + (count - copied) - start
    }
    (self.column, self.inQuotes, self.keyShift) = (column, inQuotes, keyShift)
    try output.withUnsafeBufferPointer { output throws(ReportFileError) in
      try take(UnsafeBufferPointer(rebasing: output[..<filled]))
    }
  }

  /// Finds the shift of the row whose first two fields stand there; mostly it is that of the row before.
  private mutating func look(_ bytes: UnsafeBufferPointer<UInt8>, _ from: Int, _ to: Int) {
    let fields = bytes[from..<to]
    if keyShift != nil && key.count == fields.count && key.elementsEqual(fields) { return }
    key = Array(fields)
    keyShift = shifts[key] ?? otherwise
  }

  private static func number(_ bytes: UnsafeBufferPointer<UInt8>, _ from: Int, _ to: Int) -> Int64? {
    guard from < to, to - from < 19 else { return nil }
    var value: Int64 = 0
    for at in from..<to {
      let digit = bytes[at] &- 0x30
      if digit > 9 { return nil }
      value = value * 10 + Int64(digit)
    }
    return value
  }

  private static let longestNumber = 20

  /// Writes a number and returns the place behind it.
  private static func write(_ value: Int64, _ to: UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8> {
    var start = to
    if value < 0 {
      start.pointee = UInt8(ascii: "-")
      start += 1
    }
    var rest = value.magnitude
    var end = start
    repeat {
      end.pointee = UInt8(truncatingIfNeeded: rest % 10) &+ 0x30
      end += 1
      rest /= 10
    } while rest > 0
    var digits = UnsafeMutableBufferPointer(start: start, count: end - start)
    digits.reverse()
    return end
  }
}
