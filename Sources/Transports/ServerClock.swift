// What a server's answer says about the time there, and what many such answers say about the distance of two clocks. Knows
// no clock of its own.

/// A time that a server said in an answer.
package struct ServerClock: Sendable, Equatable {
  /// Nanoseconds since 1970, rounded down to `resolution`.
  package var time: Int64
  /// In nanoseconds: 1 from ssebench's own mock, a second from the field `Date`; 0: an old time, from a cache.
  package var resolution: Int64

  package init(time: Int64, resolution: Int64) {
    self.time = time
    self.resolution = resolution
  }

  /// The mock's own field.
  package static let fieldName = "X-Ssebench-Time"

  /// Takes the time from a field of an answer's head; the finer one stands.
  static func read(_ name: String, _ value: String, into clock: inout ServerClock?) {
    switch name.lowercased() {
    case "x-ssebench-time":
      if let time = Int64(value), time > 0 { clock = ServerClock(time: time, resolution: 1) }
    case "date":
      if clock == nil, let seconds = HTTPDate.seconds(value) {
        clock = ServerClock(time: seconds * 1_000_000_000, resolution: 1_000_000_000)
      }
    // A cache says when the answer was made, not what time it is.
    case "age": if clock?.resolution != 1, value != "0" { clock = ServerClock(time: 0, resolution: 0) }
    default: break
    }
  }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`: the form that RFC 9110, 5.6.7 asks of every server.
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Seconds since 1970; nil for any other form.
  static func seconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), let year = Int64(words[3]),
      let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    let clock = words[4].split(separator: ":").compactMap { Int64($0) }
    guard clock.count == 3, (1...31).contains(day), (1970...9999).contains(year), clock[0] < 24, clock[1] < 60, clock[2] < 61,
      clock.allSatisfy({ $0 >= 0 })
    else { return nil }
    return days(year, Int64(month) + 1, day) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
  }

  /// Days since 1970-01-01 in the Gregorian calendar, by years that begin in March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let marchYear = month > 2 ? year : year - 1
    let era = marchYear / 400
    let yearOfEra = marchYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

/// Between which bounds our clock minus a server's lies. An answer was made after its request was sent and before it came,
/// and the time that it says is at most its resolution old: each answer so bounds the distance, and all together more
/// closely than any one of them (Cristian 1989, without the assumption that both ways take equally long).
package struct ClockBounds: Sendable, Equatable {
  /// Nanoseconds; nil before the first answer.
  package private(set) var lowest: Int64?
  package private(set) var highest: Int64?
  package private(set) var samples = 0
  /// The answers contradict each other: a clock was set, or ran off, while we asked.
  package private(set) var isBroken = false
  package private(set) var resolution: Int64 = 1
  /// The shortest time between request and answer.
  package private(set) var roundTrip: Int64?

  package init() {}

  /// An answer to a request that went out at `sent` and whose head came at `received`, by our clock.
  package mutating func add(_ clock: ServerClock, sent: Int64, received: Int64) {
    let low = sent - (clock.time + clock.resolution)
    let high = received - clock.time
    let bounds = (max(lowest ?? low, low), min(highest ?? high, high))
    samples += 1
    resolution = clock.resolution
    roundTrip = min(roundTrip ?? .max, received - sent)
    if bounds.0 > bounds.1 {
      isBroken = true
      return
    }
    (lowest, highest) = bounds
  }

  /// The middle of the bounds: our clock minus the server's.
  package var offset: Int64? { lowest.flatMap { low in highest.map { low + ($0 - low) / 2 } } }
  /// The offset is known to ± this.
  package var uncertainty: Int64? { lowest.flatMap { low in highest.map { ($0 - low + 1) / 2 } } }

  /// The instant by our clock, at or after `now`, at which a question halves the bounds: the server's second is then
  /// as likely to be over as not. `now` where the server says nanoseconds.
  package func nextQuestion(after now: Int64) -> Int64 {
    guard resolution > 1, let offset else { return now }
    let atServer = now - offset
    let half = (roundTrip ?? 0) / 2
    let edge = (atServer + half + resolution - 1) / resolution * resolution
    return max(now, edge + offset - half)
  }
}
