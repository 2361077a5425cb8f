// Parts of a page become HTML. Whatever text comes in is escaped here; only `raw` takes markup, of our own making.

struct HTMLPage {
  private(set) var body = ""

  static func escaped(_ text: String) -> String { XML.escaped(text) }

  /// A sentence of ours or with foreign text in it: escaped, and what stands between back-quotes as code.
  static func sentence(_ text: String) -> String {
    let parts = escaped(text).split(separator: "`", omittingEmptySubsequences: false)
    guard parts.count % 2 == 1 else { return escaped(text) }
    return parts.enumerated().map { $0.offset % 2 == 1 ? "<code>\($0.element)</code>" : String($0.element) }.joined()
  }

  mutating func raw(_ markup: String) {
    body += markup
    body += "\n"
  }

  mutating func heading(_ title: String, id: String) {
    raw("<h2 id=\"\(Self.escaped(id))\">\(Self.escaped(title))</h2>")
  }

  mutating func note(_ text: String) { raw("<p class=\"note\">\(Self.escaped(text))</p>") }

  /// What stands in a cell of a table.
  enum Cell {
    case text(String)
    case number(String)
    case code(String)
    case definition(String)
    case held(Bool?)

    var markup: String {
      switch self {
      case .text(let text): "<td>\(HTMLPage.escaped(text))</td>"
      case .number(let text): "<td class=\"n\">\(HTMLPage.escaped(text))</td>"
      case .code(let text): "<td><code>\(HTMLPage.escaped(text))</code></td>"
      case .definition(let text): "<td class=\"def\">\(HTMLPage.escaped(text))</td>"
      case .held(true?): "<td class=\"yes\">✓ held</td>"
      case .held(false?): "<td class=\"no\">✗ not held</td>"
      case .held(nil): "<td>– not judged</td>"
      }
    }
  }

  mutating func table(_ header: [String], _ rows: [[Cell]], caption: String) {
    raw(Self.table(header, rows, caption: caption))
  }

  static func table(_ header: [String], _ rows: [[Cell]], caption: String) -> String {
    guard !rows.isEmpty else { return "" }
    var text = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"\(escaped(caption))\"><table><thead><tr>"
    for (column, name) in header.enumerated() {
      var isNumber = false
      if case .number? = rows.first?.indices.contains(column) == true ? rows[0][column] : nil { isNumber = true }
      text += "<th scope=\"col\"\(isNumber ? " class=\"n\"" : "")>\(escaped(name))</th>"
    }
    text += "</tr></thead><tbody>\n"
    for row in rows { text += "<tr>\(row.map(\.markup).joined())</tr>\n" }
    return text + "</tbody></table></div>"
  }

  /// The whole document. The policy lets it reach nothing outside itself.
  func document(title: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
    <link rel="icon" href="data:,">
    <title>\(Self.escaped(title))</title>
    <style>
    \(HTMLStyle.css)
    </style>
    </head>
    <body>
    <main>
    \(body)</main>
    <script>
    \(HTMLStyle.script)
    </script>
    </body>
    </html>

    """
  }
}
