// One line of a trace becomes a time and two sizes. Layouts: ours (csv and jsonl), Azure's LLM inference traces of 2023
// and 2024, BurstGPT, and Mooncake; columns are found by the names in the header.

import Primitives

struct TraceLineReader {
  private let format: TraceFormat
  /// Where time, input and output stand in a line; nil until the header was read.
  private var columns: (time: Int, scale: Double, input: Int?, output: Int?)?

  init(format: TraceFormat) { self.format = format }

  /// Nanoseconds on the trace's own clock and the sizes; nil for a header, an empty line or a comment.
  mutating func read(_ line: ArraySlice<UInt8>) throws(TraceProblem) -> (Int64, Int?, Int?)? {
    if line.isEmpty || line.first == UInt8(ascii: "#") { return nil }
    switch format {
    case .jsonl, .mooncake: return try object(line)
    case .csv, .azure, .burstgpt: return try row(Self.cells(line))
    }
  }

  private func object(_ line: ArraySlice<UInt8>) throws(TraceProblem) -> (Int64, Int?, Int?) {
    let names =
      format == .mooncake
      ? (times: [("timestamp", 1e-3)], input: "input_length", output: "output_length")
      : (times: [("at_s", 1), ("at_ms", 1e-3)], input: "input_tokens", output: "output_tokens")
    guard let value = try? JSONReader.read(line) else {
      throw TraceProblem(found: "is not JSON", expected: "one object a line")
    }
    for (name, scale) in names.times {
      guard let time = value[name]?.asDouble.flatMap({ Self.nanoseconds($0 * scale) }) else { continue }
      return (time, try size(value[names.input]), try size(value[names.output]))
    }
    throw TraceProblem(
      found: "has no time", expected: "a number under \(names.times.map(\.0).joined(separator: " or "))")
  }

  private func size(_ value: JSONValue?) throws(TraceProblem) -> Int? {
    guard let value, !value.isNull else { return nil }
    guard let number = value.asInt, (0...1_000_000_000).contains(number) else {
      throw TraceProblem(
        found: "\(value.text().prefix(40)) is not a size", expected: "a whole number of tokens")
    }
    return number
  }

  private mutating func row(_ cells: [String]) throws(TraceProblem) -> (Int64, Int?, Int?)? {
    guard let columns else {
      try header(cells)
      // A file of ours may begin with numbers at once: time in seconds, input, output.
      if format == .csv, Double(cells[0]) != nil { return try row(cells) }
      return nil
    }
    guard columns.time < cells.count else { throw TraceProblem(found: "too few columns", expected: "a time") }
    let cell = cells[columns.time]
    let time =
      format == .azure ? Self.date(cell) : Double(cell).flatMap { Self.nanoseconds($0 * columns.scale) }
    guard let time else {
      throw TraceProblem(
        found: "\"\(cell.prefix(40))\" is not a time",
        expected: format == .azure ? "a date and time" : "a number")
    }
    return (time, try size(cells, columns.input), try size(cells, columns.output))
  }

  private func size(_ cells: [String], _ column: Int?) throws(TraceProblem) -> Int? {
    guard let column, column < cells.count, !cells[column].isEmpty else { return nil }
    guard let number = Double(cells[column]).flatMap({ Int(exactly: $0) }),
      (0...1_000_000_000).contains(number)
    else {
      throw TraceProblem(
        found: "\"\(cells[column].prefix(40))\" is not a size", expected: "a whole number of tokens")
    }
    return number
  }

  private mutating func header(_ cells: [String]) throws(TraceProblem) {
    let names = cells.map { $0.lowercased() }
    func find(_ name: String) -> Int? { names.firstIndex(of: name.lowercased()) }
    switch format {
    case .azure:
      columns = find("TIMESTAMP").map { ($0, 1, find("ContextTokens"), find("GeneratedTokens")) }
    case .burstgpt:
      columns = find("Timestamp").map { ($0, 1, find("Request tokens"), find("Response tokens")) }
    default:
      if Double(cells[0]) != nil {
        columns = (0, 1, cells.count > 1 ? 1 : nil, cells.count > 2 ? 2 : nil)
      } else {
        columns =
          find("at_s").map { ($0, 1, find("input_tokens"), find("output_tokens")) }
          ?? find("at_ms").map { ($0, 1e-3, find("input_tokens"), find("output_tokens")) }
      }
    }
    if columns == nil {
      let wanted =
        switch format {
        case .azure: "TIMESTAMP,ContextTokens,GeneratedTokens"
        case .burstgpt: "Timestamp,…,Request tokens,Response tokens,…"
        default: "at_s (or at_ms),input_tokens,output_tokens"
        }
      throw TraceProblem(found: "is not the header of a \(format.rawValue) trace", expected: wanted)
    }
  }

  /// The cells of a CSV line; quotes as in RFC 4180, but no line end inside them.
  private static func cells(_ line: ArraySlice<UInt8>) -> [String] {
    var cells: [String] = []
    var cell: [UInt8] = []
    var quoted = false
    for byte in line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line {
      if byte == UInt8(ascii: "\"") {
        quoted.toggle()
      } else if byte == UInt8(ascii: ","), !quoted {
        cells.append(String(decoding: ArraySlice(cell).trimmed, as: UTF8.self))
        cell.removeAll(keepingCapacity: true)
      } else {
        cell.append(byte)
      }
    }
    cells.append(String(decoding: ArraySlice(cell).trimmed, as: UTF8.self))
    return cells
  }

  /// "2023-11-16 18:17:03.9799600" or "2024-05-10 00:00:00.009930+00:00" in nanoseconds since 2000; offsets are obeyed.
  private static func date(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 19, bytes.count <= 40, bytes[4] == 0x2D, bytes[7] == 0x2D,
      bytes[10] == 0x20 || bytes[10] == 0x54,
      bytes[13] == 0x3A, bytes[16] == 0x3A
    else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      let digits = bytes[range]
      return digits.allSatisfy { (0x30...0x39).contains($0) }
        ? Int(String(decoding: digits, as: UTF8.self)) : nil
    }
    guard let year = number(0..<4), (1900...2200).contains(year), let month = number(5..<7),
      (1...12).contains(month), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
    else { return nil }
    var rest = bytes[19...]
    var fraction: Int64 = 0
    if rest.first == 0x2E {
      let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
      fraction = nanoseconds(Double("0." + String(decoding: digits, as: UTF8.self)) ?? 0) ?? 0
      rest = rest.dropFirst(digits.count + 1)
    }
    var offset = 0
    switch rest.first {
    case nil, UInt8(ascii: "Z"): break
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      guard rest.count == 6, let hours = number((rest.startIndex + 1)..<(rest.startIndex + 3)),
        let minutes = number((rest.startIndex + 4)..<(rest.startIndex + 6))
      else { return nil }
      offset = (hours * 60 + minutes) * (rest.first == UInt8(ascii: "-") ? -60 : 60)
    default: return nil
    }
    // Days since 1 March of year 0, after Hinnant's civil calendar, less those to the year 2000.
    let shifted = month <= 2 ? year - 1 : year
    let days =
      365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * ((month + 9) % 12) + 2) / 5 + day
      - 1
    return Int64((days - 730_425) * 86_400 + hour * 3_600 + minute * 60 + second - offset) * 1_000_000_000
      + fraction
  }

  /// nil beyond some 290 years.
  private static func nanoseconds(_ seconds: Double) -> Int64? {
    abs(seconds) < 9.2e9 ? Int64((seconds * 1e9).rounded()) : nil
  }
}
