// Randomness that follows from a seed alone: xoshiro256** seeded by SplitMix64, with independent substreams by name
// and index, so that session 7 draws the same numbers whatever the other sessions do.

/// xoshiro256** by Blackman and Vigna (public domain algorithm): 256 bits of state, period 2^256 − 1.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var s0: UInt64
  private var s1: UInt64
  private var s2: UInt64
  private var s3: UInt64

  package init(seed: UInt64) {
    var mixer = SplitMix64(state: seed)
    (s0, s1, s2, s3) = (mixer.next(), mixer.next(), mixer.next(), mixer.next())
  }

  /// The generator for one purpose and one index under a seed.
  package init(seed: UInt64, purpose: StaticString, index: UInt64 = 0) {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    purpose.withUTF8Buffer { for byte in $0 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 } }
    var mixer = SplitMix64(state: seed ^ hash)
    let first = mixer.next()
    var second = SplitMix64(state: first &+ index &* 0x9e37_79b9_7f4a_7c15)
    self.init(seed: second.next())
  }

  package mutating func next() -> UInt64 {
    let result = rotate(s1 &* 5, 7) &* 9
    let t = s1 << 17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = rotate(s3, 45)
    return result
  }

  /// Uniform in [0, 1), 53 bits.
  package mutating func uniform() -> Double { Double(next() >> 11) * 0x1p-53 }

  /// Exponential with mean 1.
  package mutating func exponential() -> Double { -_log(1 - uniform()) }

  /// Normal with mean 0 and deviation 1 (polar method, second value thrown away to keep the state plain).
  package mutating func normal() -> Double {
    while true {
      let u = 2 * uniform() - 1
      let v = 2 * uniform() - 1
      let s = u * u + v * v
      if s > 0 && s < 1 { return u * (-2 * _log(s) / s).squareRoot() }
    }
  }

  private func rotate(_ x: UInt64, _ k: UInt64) -> UInt64 { (x << k) | (x >> (64 - k)) }
}

/// Steele, Lea and Flood's mixer; only for seeding.
struct SplitMix64 {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &+ 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
