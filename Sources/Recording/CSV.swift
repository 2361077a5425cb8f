// Fields become a line of RFC 4180 CSV, safe to open in a spreadsheet, and a line becomes fields again.

package enum CSV {
  /// A text field: quoted where it must be, and with a leading apostrophe where a spreadsheet would take it for a formula
  /// (OWASP, "CSV injection": = + - @, tab and carriage return first).
  package static func text(_ value: String) -> String {
    var value = value
    if let first = value.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first) { value = "'" + value }
    return quoted(value)
  }

  /// Quoted where it holds a comma, a quote, a line end or space at an edge.
  private static func quoted(_ value: String) -> String {
    let needs = value.utf8.contains { $0 == 0x2C || $0 == 0x22 || $0 == 0x0A || $0 == 0x0D }
    guard needs || value.utf8.first == 0x20 || value.utf8.last == 0x20 else { return value }
    var out = "\""
    for scalar in value.unicodeScalars {
      if scalar == "\"" { out += "\"" }
      out.unicodeScalars.append(scalar)
    }
    return out + "\""
  }

  /// A text field as it was before `text` defused it.
  package static func original(_ field: String) -> String {
    guard field.hasPrefix("'"), let second = field.unicodeScalars.dropFirst().first,
      "=+-@\t\r".unicodeScalars.contains(second)
    else { return field }
    return String(field.unicodeScalars.dropFirst())
  }

  /// A count or an instant; the empty field where it is negative, which stands for "never".
  package static func known(_ value: some BinaryInteger) -> String { value < 0 ? "" : String(value) }

  /// The fields of one record, quotes resolved; nil where a quote is not closed (a half-written line).
  package static func fields(_ line: Substring.UTF8View) -> [String]? {
    var fields: [String] = []
    var field: [UInt8] = []
    var inQuotes = false
    var quoteBefore = false
    for byte in line {
      if inQuotes {
        if quoteBefore {
          quoteBefore = false
          if byte == 0x22 {
            field.append(byte)
            continue
          }
          inQuotes = false
        } else if byte == 0x22 {
          quoteBefore = true
          continue
        } else {
          field.append(byte)
          continue
        }
      }
      switch byte {
      case 0x22 where field.isEmpty: inQuotes = true
      case 0x2C:
        fields.append(String(decoding: field, as: UTF8.self))
        field.removeAll(keepingCapacity: true)
      default: field.append(byte)
      }
    }
    if inQuotes && !quoteBefore { return nil }
    fields.append(String(decoding: field, as: UTF8.self))
    return fields
  }

  /// Whether a line's quotes are balanced, so that the record ends at its end and not in a later line.
  package static func isWhole(_ line: some Sequence<UInt8>) -> Bool {
    line.reduce(true) { $1 == 0x22 ? !$0 : $0 }
  }
}

/// Where columns of a file stand, by the names in its first line: files of other versions have others.
package struct CSVColumns: Sendable {
  private var places: [String: Int] = [:]
  package let names: [String]

  package init(header: [String]) {
    names = header
    for (index, name) in header.enumerated() where places[name] == nil { places[name] = index }
  }

  package func has(_ name: String) -> Bool { places[name] != nil }

  package func text(_ name: String, in fields: [String]) -> String? {
    guard let place = places[name], place < fields.count else { return nil }
    return fields[place]
  }

  /// −1 where the field is empty, missing or no whole number.
  package func integer(_ name: String, in fields: [String]) -> Int64 {
    text(name, in: fields).flatMap { Int64($0) } ?? -1
  }
}
