// Rows of a shard become rows of the merged run: instants that counted from the shard's start count from the run's. Works
// on bytes, since a merge carries gigabytes of them; every other byte stays as it is.

import Foundation

struct RowShift {
  /// Columns of instants, in rising order.
  private let columns: [Int]
  /// Nanoseconds to add to the instants of a load, by the row's first two fields as they stand ("default,0").
  private let shifts: [[UInt8]: Int64]
  private let otherwise: Int64
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
    output.removeAll(keepingCapacity: true)
    output.reserveCapacity(bytes.count + bytes.count / 4)
    var copied = 0
    var at = 0
    var rowStart = 0
    var fieldStart = 0
    var next = 0
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\"") {
        inQuotes.toggle()
      } else if !inQuotes && (byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n")) {
        if column == 1 { look(bytes, rowStart, at) }
        if next < columns.count, columns[next] == column {
          next += 1
          if let shift = keyShift, shift != 0, let value = Self.number(bytes, fieldStart, at) {
            output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[copied..<fieldStart]))
            append(value + shift)
            copied = at
          }
        }
        fieldStart = at + 1
        column += 1
        if byte == UInt8(ascii: "\n") {
          (column, next, rowStart) = (0, 0, at + 1)
        } else if next == columns.count, let base = bytes.baseAddress,
          let end = memchr(base + at, 0x0A, bytes.count - at)
        {
          // Nothing behind the last instant is looked at; no field there has quotes.
          at = UnsafeRawPointer(end) - UnsafeRawPointer(base)
          continue
        }
      }
      at += 1
    }
    output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[copied...]))
    try output.withUnsafeBufferPointer { output throws(ReportFileError) in try take(output) }
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

  private mutating func append(_ value: Int64) {
    if value < 0 { output.append(UInt8(ascii: "-")) }
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    withUnsafeMutableBytes(of: &digits) { room in
      var at = room.count
      var rest = value.magnitude
      repeat {
        at -= 1
        room[at] = UInt8(rest % 10) + 0x30
        rest /= 10
      } while rest > 0
      output.append(contentsOf: room[at...])
    }
  }
}
