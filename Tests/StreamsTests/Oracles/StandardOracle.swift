// The HTML Standard, sections 9.2.5 and 9.2.6, written down again with no thought of speed: the whole body at once, as Unicode scalars. The
// oracle of the `whatwg` mode in tests and fuzz targets; it shares nothing with it.

struct StandardOracle {
  struct Event: Equatable {
    var type: [UInt8]
    var data: [UInt8]
    var lastEventID: [UInt8]
  }

  private(set) var events: [Event] = []
  private(set) var lastEventID = ""
  private(set) var retry: Int64?

  private var dataBuffer = String.UnicodeScalarView()
  private var hasData = false
  private var typeBuffer = String.UnicodeScalarView()
  private var idBuffer = String.UnicodeScalarView()

  /// "Streams must be decoded using the UTF-8 decode algorithm": bad parts become U+FFFD, one leading BOM goes.
  init(_ body: [UInt8]) {
    var scalars = Array(String(decoding: body, as: UTF8.self).unicodeScalars)
    if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
    var line: [Unicode.Scalar] = []
    var index = 0
    while index < scalars.count {
      let scalar = scalars[index]
      index += 1
      // end-of-line = ( cr lf / cr / lf )
      if scalar == "\r" || scalar == "\n" {
        if scalar == "\r", index < scalars.count, scalars[index] == "\n" { index += 1 }
        process(line)
        line = []
      } else {
        line.append(scalar)
      }
    }
    // "Once the end of the file is reached, any pending data must be discarded."
  }

  private mutating func process(_ line: [Unicode.Scalar]) {
    if line.isEmpty {
      dispatch()
    } else if line[0] == ":" {
      // "Ignore the line."
    } else if let colon = line.firstIndex(of: ":") {
      var value = Array(line[(colon + 1)...])
      if value.first == " " { value.removeFirst() }
      processField(Array(line[..<colon]), value)
    } else {
      processField(line, [])
    }
  }

  private mutating func processField(_ name: [Unicode.Scalar], _ value: [Unicode.Scalar]) {
    func isNamed(_ text: String) -> Bool { name == Array(text.unicodeScalars) }
    if isNamed("event") {
      typeBuffer = String.UnicodeScalarView(value)
    } else if isNamed("data") {
      dataBuffer.append(contentsOf: value)
      dataBuffer.append("\n")
      hasData = true
    } else if isNamed("id") {
      if !value.contains("\0") { idBuffer = String.UnicodeScalarView(value) }
    } else if isNamed("retry") {
      if !value.isEmpty, value.allSatisfy({ ("0"..."9").contains($0) }) {
        let digits = String(String.UnicodeScalarView(value))
        retry = Int64(digits) ?? .max
      }
    }
  }

  private mutating func dispatch() {
    lastEventID = String(idBuffer)
    // "If the data buffer is an empty string, set the data buffer and the event type buffer to the empty string and return." Each data line
    // appends a line feed, so a buffer that has had one is not empty.
    if !hasData {
      typeBuffer = String.UnicodeScalarView()
      return
    }
    if dataBuffer.last == "\n" { dataBuffer.removeLast() }
    events.append(
      Event(
        type: Array((typeBuffer.isEmpty ? "message" : String(typeBuffer)).utf8), data: Array(String(dataBuffer).utf8),
        lastEventID: Array(lastEventID.utf8)))
    dataBuffer = String.UnicodeScalarView()
    typeBuffer = String.UnicodeScalarView()
    hasData = false
  }
}
