// Free text becomes part of a file name; a metric becomes the name of its log; a wall time becomes text. Pure.

package import Primitives

package enum Slug {
  /// Lower-case a–z, 0–9 and single hyphens, at most 60; "run" where nothing is left.
  package static func of(_ text: String) -> String {
    var slug = ""
    for scalar in text.lowercased().unicodeScalars {
      if slug.utf8.count == 60 { break }
      if ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) {
        slug.unicodeScalars.append(scalar)
      } else if !slug.isEmpty && !slug.hasSuffix("-") {
        slug += "-"
      }
    }
    while slug.hasSuffix("-") { slug.removeLast() }
    return slug.isEmpty ? "run" : slug
  }

  /// A slug that is none of `taken`, with a number behind it where it must be.
  static func distinct(_ text: String, from taken: Set<String>) -> String {
    let base = of(text)
    var slug = base
    var number = 2
    while taken.contains(slug) {
      slug = "\(base)-\(number)"
      number += 1
    }
    return slug
  }

  /// By name, each slug its own; the order of the names decides who gets the number.
  package static func unique(_ names: [String]) -> [String: String] {
    var slugs: [String: String] = [:]
    for name in names where slugs[name] == nil { slugs[name] = distinct(name, from: Set(slugs.values)) }
    return slugs
  }
}

package enum LogName {
  /// `ttft`, `from_scheduled_ttft`, `loop_iteration`: the key without its unit.
  package static func of(_ metric: Metric) -> String {
    let key = metric.key.hasSuffix("_ms") ? String(metric.key.dropLast(3)) : metric.key
    switch metric.section {
    case .fromScheduled: return "from_scheduled_\(key)"
    case .recovery: return "recovery_\(key)"
    default: return key
    }
  }
}

/// A wall time in UTC, by the proleptic Gregorian calendar (Hinnant, "civil_from_days").
package struct UTCTime: Sendable {
  package let year: Int
  package let month: Int
  package let day: Int
  package let hour: Int
  package let minute: Int
  package let second: Int
  package let millisecond: Int

  package init(milliseconds: Int64) {
    let clamped = min(max(milliseconds, 0), 253_402_300_799_999)
    let days = Int(clamped / 86_400_000)
    let rest = Int(clamped % 86_400_000)
    let z = days + 719_468
    let era = z / 146_097
    let dayOfEra = z - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shifted + 2) / 5 + 1
    month = shifted < 10 ? shifted + 3 : shifted - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    hour = rest / 3_600_000
    minute = rest / 60_000 % 60
    second = rest / 1_000 % 60
    millisecond = rest % 1_000
  }

  /// `20261130T152654Z`, for file names.
  package var compact: String {
    "\(Self.pad(year, 4))\(Self.pad(month, 2))\(Self.pad(day, 2))T\(Self.pad(hour, 2))\(Self.pad(minute, 2))\(Self.pad(second, 2))Z"
  }

  /// `2026-11-30T15:26:54.123Z`.
  package var iso: String {
    "\(Self.pad(year, 4))-\(Self.pad(month, 2))-\(Self.pad(day, 2))T\(Self.pad(hour, 2)):\(Self.pad(minute, 2)):\(Self.pad(second, 2)).\(Self.pad(millisecond, 3))Z"
  }

  private static func pad(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }
}
