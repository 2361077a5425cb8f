// Text with a unit becomes a number and back: durations ("200ms"), sizes ("16KiB") and rates ("20/s").

package import Primitives

package enum Units {
  static let durations: [(unit: String, nanoseconds: Double)] = [
    ("ns", 1), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9),
  ]
  static let sizes: [(unit: String, bytes: Double)] = [
    ("B", 1), ("KiB", 1024), ("MiB", 1_048_576), ("GiB", 1_073_741_824),
  ]
  static let rates: [(unit: String, seconds: Double)] = [("/s", 1), ("/min", 60), ("/h", 3600)]

  /// The same three in the form of JSON Schema.
  static let durationPattern = #"[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h)"#
  static let sizePattern = #"[0-9]+(?:\.[0-9]+)?(?:B|KiB|MiB|GiB)"#
  static let ratePattern = #"[0-9]+(?:\.[0-9]+)?/(?:s|min|h)"#

  /// "200ms", "2.5s", "1m"; nil for anything else, and for more than a year.
  package static func duration(_ text: String) -> Nanoseconds? {
    guard let (number, unit) = split(text),
      let factor = durations.first(where: { $0.unit == unit })?.nanoseconds
    else { return nil }
    let value = number * factor
    return value <= 365 * 86_400e9 ? Nanoseconds(Int64(value.rounded())) : nil
  }

  /// Whether a text is a duration but for its length.
  static func isTooLongDuration(_ text: String) -> Bool {
    split(text).map { _, unit in durations.contains { $0.unit == unit } } == true && duration(text) == nil
  }

  /// "16KiB", "512B", in bytes, 1 TiB at most; nil for anything else.
  package static func size(_ text: String) -> Int? {
    guard let (number, unit) = split(text), let factor = sizes.first(where: { $0.unit == unit })?.bytes
    else { return nil }
    let value = number * factor
    return Int(min(value, 0x1p40).rounded())
  }

  /// "20/s", "90/min", in events per second; nil for anything else.
  package static func rate(_ text: String) -> Double? {
    guard let (number, unit) = split(text), let seconds = rates.first(where: { $0.unit == unit })?.seconds
    else { return nil }
    return number / seconds
  }

  /// The shortest text that reads back as the same duration.
  package static func text(_ duration: Nanoseconds) -> String {
    let value = duration.value
    for (unit, factor) in [("s", Int64(1_000_000_000)), ("ms", 1_000_000), ("us", 1_000)]
    where value % factor == 0 && (value != 0 || unit == "s") { return "\(value / factor)\(unit)" }
    return "\(value)ns"
  }

  package static func sizeText(_ bytes: Int) -> String {
    for (unit, factor) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    where bytes > 0 && bytes % factor == 0 {
      return "\(bytes / factor)\(unit)"
    }
    return "\(bytes)B"
  }

  package static func rateText(perSecond: Double) -> String { "\(JSONValue.numberText(perSecond))/s" }

  /// "2.5" and "s": digits, at most one point between digits, then the unit. Nothing else, no sign, no exponent.
  private static func split(_ text: String) -> (Double, String)? {
    let number = text.utf8.prefix { (0x30...0x39).contains($0) || $0 == 0x2E }
    guard number.count <= 40, number.first != 0x2E, number.last != 0x2E, let value = Double(Substring(number))
    else {
      return nil
    }
    return (value, String(text.utf8.dropFirst(number.count)) ?? "")
  }
}
