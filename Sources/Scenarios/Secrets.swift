// Values from the environment, kept out of everything that is written: each text passes `scrub`, which puts `${NAME}`
// where a value stands, as it is or escaped for JSON, HTML or a URL, or in Base64 at any alignment.

package import Primitives

/// The secrets of a run.
///
/// A text must be scrubbed whole: a value that is cut in two by a buffer's end is not found.
package struct Secrets: Sendable {
  private struct Form: Sendable {
    var name: String
    var scalars: [Unicode.Scalar]
    /// Base64 only: whether the character before or after the core holds bits of the value too.
    var sharesFirst = false
    var sharesLast = false
  }

  private var forms: [Form] = []

  package static let none = Secrets([])

  package init(_ values: [(name: String, value: String)]) { add(values) }

  /// With further values to be kept.
  package func adding(_ values: [(name: String, value: String)]) -> Secrets {
    var more = self
    more.add(values)
    return more
  }

  private mutating func add(_ values: [(name: String, value: String)]) {
    for (name, value) in values {
      forms.append(Form(name: name, scalars: Array(value.unicodeScalars)))
      for alignment in 0..<3 {
        for urlSafe in [false, true] {
          let form = Self.base64(Array(value.utf8), name, alignment, urlSafe: urlSafe)
          if !forms.contains(where: { $0.scalars == form.scalars }) { forms.append(form) }
        }
      }
    }
    forms.sort { $0.scalars.count > $1.scalars.count }
  }

  package var isEmpty: Bool { forms.isEmpty }

  package func scrub(_ text: String) -> String {
    if isEmpty { return text }
    let bytes = Array(text.utf8)
    let scrubbed = scrub(bytes)
    return scrubbed.count == bytes.count && scrubbed == bytes
      ? text : String(decoding: scrubbed, as: UTF8.self)
  }

  /// A text of which only the beginning was kept: the beginning of a value at its end is taken for the value.
  package func scrub(cut text: String) -> String {
    isEmpty ? text : String(decoding: scrub(Array(text.utf8), isCut: true), as: UTF8.self)
  }

  package func scrub(_ bytes: [UInt8]) -> [UInt8] { scrub(bytes, isCut: false) }

  private func scrub(_ bytes: [UInt8], isCut: Bool) -> [UInt8] {
    if isEmpty { return bytes }
    let starts = firstBytes
    var out: [UInt8] = []
    var at = 0
    var copied = 0
    while at < bytes.count {
      if starts[Int(bytes[at])], let (form, end) = match(bytes, at, isCut: isCut) {
        let begin = form.sharesFirst && at > copied && Self.isBase64(bytes[at - 1]) ? at - 1 : at
        out += bytes[copied..<begin]
        out += "${\(form.name)}".utf8
        at = end
        if form.sharesLast, at < bytes.count, Self.isBase64(bytes[at]) { at += 1 }
        copied = at
      } else {
        at += 1
      }
    }
    if copied == 0 { return bytes }
    out += bytes[copied...]
    return out
  }

  /// The scrubbed copy of a document: every string and every key.
  package func scrub(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(scrub(text))
    case .array(let values): .array(values.map { scrub($0) })
    case .object(let object): .object(JSONObject(object.pairs.map { (scrub($0.key), scrub($0.value)) }))
    default: value
    }
  }

  /// Bytes at which some form can begin.
  private var firstBytes: [Bool] {
    var starts = [Bool](repeating: false, count: 256)
    for form in forms {
      if let byte = form.scalars.first.flatMap({ UTF8.encode($0)?.first }) { starts[Int(byte)] = true }
    }
    for escape in #"\%&+"#.utf8 { starts[Int(escape)] = true }
    return starts
  }

  /// Where a text was cut, so many scalars of a value at its end are its beginning and no accident.
  private static let fewestAtCut = 3
  /// Bytes of an escape that the cut may have left unfinished.
  private static let unfinishedEscape = 13

  private func match(_ bytes: [UInt8], _ at: Int, isCut: Bool) -> (Form, Int)? {
    for form in forms {
      // All places that the scalars so far can end at: an escape can be read in more than one way.
      var ends = [at]
      for (count, scalar) in form.scalars.enumerated() {
        var next: [Int] = []
        for end in ends { Self.spellings(of: scalar, in: bytes, at: end, into: &next) }
        if next.isEmpty, isCut, count >= Self.fewestAtCut, bytes.count - (ends.max() ?? at) < Self.unfinishedEscape {
          return (form, bytes.count)
        }
        ends = next
        if ends.isEmpty { break }
      }
      if let end = ends.max() { return (form, end) }
    }
    return nil
  }

  /// Adds the ends of all ways in which `scalar` is written at `at`.
  private static func spellings(of scalar: Unicode.Scalar, in bytes: [UInt8], at: Int, into ends: inout [Int])
  {
    guard at < bytes.count else { return }
    func add(_ end: Int) { if !ends.contains(end) { ends.append(end) } }
    func stands(_ text: some Collection<UInt8>, at place: Int) -> Bool {
      place + text.count <= bytes.count && bytes[place..<(place + text.count)].elementsEqual(text)
    }
    let raw = Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    if stands(raw, at: at) { add(at + raw.count) }

    switch bytes[at] {
    case UInt8(ascii: "\\"):
      // JSON, once or more than once: any number of backslashes, then the character or its escape.
      let slashes = bytes[at...].prefix(8).prefix { $0 == UInt8(ascii: "\\") }.count
      let after = at + slashes
      let letter: UInt8? =
        switch scalar {
        case "\n": UInt8(ascii: "n")
        case "\r": UInt8(ascii: "r")
        case "\t": UInt8(ascii: "t")
        case "\u{8}": UInt8(ascii: "b")
        case "\u{C}": UInt8(ascii: "f")
        case "\"", "/", "'": raw[0]
        default: nil
        }
      if let letter, stands([letter], at: after) { add(after + 1) }
      if scalar == "\\" { for count in 1...slashes { add(at + count) } }
      if let end = hexEscape(of: scalar, in: bytes, at: after) { add(end) }
    case UInt8(ascii: "%"):
      var place = at
      for byte in raw {
        guard place + 2 < bytes.count, bytes[place] == UInt8(ascii: "%"),
          hex(bytes[(place + 1)..<(place + 3)]) == UInt32(byte)
        else { return }
        place += 3
      }
      add(place)
    case UInt8(ascii: "+"): if scalar == " " { add(at + 1) }
    case UInt8(ascii: "&"):
      let names: [Unicode.Scalar: [String]] = [
        "&": ["&amp;"], "<": ["&lt;"], ">": ["&gt;"], "\"": ["&quot;", "&#34;"],
        "'": ["&#39;", "&#x27;", "&apos;"],
      ]
      for name in names[scalar] ?? [] where stands(Array(name.utf8), at: at) { add(at + name.utf8.count) }
    default: break
    }
  }

  /// `uXXXX`, or a pair of them, after a backslash.
  private static func hexEscape(of scalar: Unicode.Scalar, in bytes: [UInt8], at: Int) -> Int? {
    var place = at
    for (index, unit) in String(scalar).utf16.enumerated() {
      if index > 0 {
        guard place < bytes.count, bytes[place] == UInt8(ascii: "\\") else { return nil }
        while place < bytes.count, bytes[place] == UInt8(ascii: "\\") { place += 1 }
      }
      guard place + 4 < bytes.count, bytes[place] == UInt8(ascii: "u"),
        hex(bytes[(place + 1)..<(place + 5)]) == UInt32(unit)
      else { return nil }
      place += 5
    }
    return place
  }

  private static func hex(_ digits: ArraySlice<UInt8>) -> UInt32? {
    UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// The characters of a Base64 text that depend on `value` alone when it stands `alignment` bytes after a group's start.
  private static func base64(_ value: [UInt8], _ name: String, _ alignment: Int, urlSafe: Bool) -> Form {
    let letters = Array(
      ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + (urlSafe ? "-_" : "+/"))
        .unicodeScalars)
    let bytes = [UInt8](repeating: 0, count: alignment) + value
    let bits = bytes.count * 8
    let first = (alignment * 8 + 5) / 6
    let core = (first..<(bits / 6)).map { index in
      let bit = index * 6
      let high = UInt16(bytes[bit / 8]) << 8 | (bit / 8 + 1 < bytes.count ? UInt16(bytes[bit / 8 + 1]) : 0)
      return letters[Int(high >> (10 - UInt16(bit % 8)) & 63)]
    }
    return Form(
      name: name, scalars: core, sharesFirst: alignment > 0, sharesLast: bits % 6 != 0)
  }
}
