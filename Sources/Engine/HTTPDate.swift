// A date in an HTTP header field becomes seconds since 1970. Knows the three forms that RFC 9110, 5.6.7 names, and no
// others.

/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
package enum HTTPDate {
  /// - Parameter now: seconds since 1970, for years of two digits: one that seems over 50 years ahead was in the last
  ///   century.
  /// - Returns: nil for anything that is no such date, also where a day or hour does not exist. The name of the weekday
  ///   must be one, and is not held against the date.
  package static func seconds(_ text: String, now: Int64) -> Int64? {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    switch words.count {
    case 6:
      guard short(words[0].dropLast()), words[0].hasSuffix(","), words[5] == "GMT" else { return nil }
      return seconds(year: number(words[3], 4), month: words[2], day: number(words[1], 2), time: words[4])
    case 4:
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard words[0].hasSuffix(","), long.contains(String(words[0].dropLast())), words[3] == "GMT",
        date.count == 3
      else {
        return nil
      }
      return seconds(
        year: whole(number(date[2], 2), now), month: date[1], day: number(date[0], 2), time: words[2])
    case 5:
      guard short(words[0]) else { return nil }
      let day = number(words[2], 2) ?? number(words[2], 1)
      return seconds(year: number(words[4], 4), month: words[1], day: day, time: words[3])
    default: return nil
    }
  }

  private static let long = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func short(_ word: Substring) -> Bool { long.contains { $0.prefix(3) == word } }

  private static func number(_ word: Substring, _ digits: Int) -> Int64? {
    word.utf8.count == digits && word.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(word) : nil
  }

  private static func whole(_ year: Int64?, _ now: Int64) -> Int64? {
    guard let year else { return nil }
    let thisYear = 1970 + now / 31_556_952
    let candidate = thisYear - thisYear % 100 + year
    return candidate > thisYear + 50 ? candidate - 100 : candidate
  }

  private static func seconds(year: Int64?, month: Substring, day: Int64?, time: Substring) -> Int64? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0, 2) }
    guard let year, year >= 1601, let day, let index = months.firstIndex(where: { $0 == month }),
      clock.count == 3,
      let hour = clock[0], let minute = clock[1], let second = clock[2], hour < 24, minute < 60, second <= 60
    else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...lengths[index]).contains(day) else { return nil }
    let before = year - 1
    let days =
      before * 365 + before / 4 - before / 100 + before / 400 - 719_162 + lengths[..<index].reduce(0, +) + day
      - 1
    return ((days * 24 + hour) * 60 + minute) * 60 + second
  }
}
