// A point on the monotonic clock and the distance between two. Knows no wall time and no time zone.

internal import CPlatform

/// A length of time.
///
/// - Unit: nanoseconds. May be negative. 292 years fit.
package struct Nanoseconds: Hashable, Comparable, Sendable, AdditiveArithmetic {
  package var value: Int64

  @inlinable package init(_ value: Int64) { self.value = value }

  package static let zero = Nanoseconds(0)
  @inlinable package static func seconds(_ s: Double) -> Nanoseconds { Nanoseconds(Int64((s * 1e9).rounded())) }
  @inlinable package static func milliseconds(_ ms: Double) -> Nanoseconds {
    Nanoseconds(Int64((ms * 1e6).rounded()))
  }

  @inlinable package var seconds: Double { Double(value) / 1e9 }
  @inlinable package var milliseconds: Double { Double(value) / 1e6 }

  @inlinable package static func < (a: Nanoseconds, b: Nanoseconds) -> Bool { a.value < b.value }
  @inlinable package static func + (a: Nanoseconds, b: Nanoseconds) -> Nanoseconds {
    Nanoseconds(a.value &+ b.value)
  }
  @inlinable package static func - (a: Nanoseconds, b: Nanoseconds) -> Nanoseconds {
    Nanoseconds(a.value &- b.value)
  }
}

/// A point in time on the monotonic clock of this host.
///
/// - Unit: nanoseconds since an origin that is the same for all processes of one host until it restarts.
package struct Instant: Hashable, Comparable, Sendable {
  package var nanoseconds: Int64

  @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  @inlinable package static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
  @inlinable package static func - (a: Instant, b: Instant) -> Nanoseconds {
    Nanoseconds(a.nanoseconds &- b.nanoseconds)
  }
  @inlinable package static func + (a: Instant, b: Nanoseconds) -> Instant {
    Instant(nanoseconds: a.nanoseconds &+ b.value)
  }

  /// CLOCK_MONOTONIC, now. Costs some 25 ns.
  package static func now() -> Instant { Instant(nanoseconds: CPlatform_monotonic_ns()) }
}
