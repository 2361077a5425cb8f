// Parts of a page become Markdown text. Foreign text is escaped so that it stays text.

struct MarkdownPage {
  private(set) var text = ""

  mutating func heading(_ level: Int, _ title: String) {
    if !text.isEmpty { text += "\n" }
    text += String(repeating: "#", count: level) + " \(Self.escaped(title))\n"
  }

  mutating func paragraph(_ words: String) { text += "\n\(words)\n" }

  mutating func list(_ items: [String]) {
    guard !items.isEmpty else { return }
    text += "\n"
    for item in items { text += "- \(item)\n" }
  }

  mutating func code(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    text += "\n```text\n" + lines.map { $0.replacing("```", with: "'''") + "\n" }.joined() + "```\n"
  }

  /// Cells as they are (escaped by the caller where foreign), padded so that the table reads well as plain text too.
  mutating func table(_ header: [String], _ rows: [[String]], right: [Int]) {
    guard !rows.isEmpty else { return }
    let widths = header.indices.map { column in
      ([header] + rows).map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      let padded = cells.enumerated().map { column, cell in
        let space = String(repeating: " ", count: max(0, widths[column] - cell.count))
        return right.contains(column) ? space + cell : cell + space
      }
      return "| \(padded.joined(separator: " | ")) |\n"
    }
    text += "\n" + line(header) + "|"
    for (column, width) in widths.enumerated() {
      let dashes = String(repeating: "-", count: width + 1)
      text += right.contains(column) ? "\(dashes):|" : ":\(dashes)|"
    }
    text += "\n"
    for row in rows { text += line(row) }
  }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// Foreign text as one line of plain text: what Markdown or HTML would take for markup is escaped, control and
  /// direction characters are shown as �.
  static func escaped(_ text: String) -> String {
    var out = ""
    for index in text.unicodeScalars.indices {
      let scalar = text.unicodeScalars[index]
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "_" where isInsideWord(text.unicodeScalars, index): out += "_"
      case "\\", "`", "*", "_", "[", "]", "#", "|", "~", "!", "$", "@":
        out += "\\"
        out.unicodeScalars.append(scalar)
      case "\n", "\r", "\t": out += " "
      default:
        if Hostile.isControl(scalar) { out += "�" } else { out.unicodeScalars.append(scalar) }
      }
    }
    return out
  }

  /// A sentence of ours that may hold foreign text: escaped, but what stands between back-quotes stays code.
  static func sentence(_ text: String) -> String {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    guard parts.count % 2 == 1 else { return escaped(text) }
    return parts.enumerated().map { $0.offset % 2 == 1 ? "`\(code(String($0.element)))`" : escaped(String($0.element)) }
      .joined()
  }

  /// An underscore between two letters or digits is no markup (CommonMark, rule for `_`): keys stay readable.
  private static func isInsideWord(_ text: String.UnicodeScalarView, _ index: String.UnicodeScalarIndex) -> Bool {
    let after = text.index(after: index)
    guard index > text.startIndex, after < text.endIndex else { return false }
    return text[text.index(before: index)].properties.isAlphabetic && text[after].properties.isAlphabetic
  }

  /// Foreign text inside back-quotes in a table or list: no back-quote, bar or line end gets out.
  static func code(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "`": out += "'"
      case "|": out += "\\|"
      case "\n", "\r", "\t": out += " "
      default:
        if Hostile.isControl(scalar) { out += "�" } else { out.unicodeScalars.append(scalar) }
      }
    }
    return out
  }
}

/// Characters of foreign text that no output passes on.
enum Hostile {
  /// Control characters (a terminal would obey them) and those that reorder or hide text.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF: true
    default: false
    }
  }

  /// One line for a terminal.
  static func plain(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      if scalar == "\n" || scalar == "\t" || scalar == "\r" {
        out += " "
      } else if isControl(scalar) {
        out += "�"
      } else {
        out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}
