// Student's t and the normal distribution: what intervals and tests are read from.

internal import Primitives

enum StudentT {
  /// P(|T| ≥ |t|) with `df` degrees of freedom.
  static func twoSided(_ t: Double, df: Double) -> Double {
    guard t.isFinite else { return 0 }
    guard df.isFinite, df < 1e6 else { return Normal.twoSided(t) }
    return incompleteBeta(df / (df + t * t), df / 2, 0.5)
  }

  /// The t beyond which lie 2.5 % on each side.
  static func critical95(df: Double) -> Double {
    guard df.isFinite, df < 1e6 else { return 1.959_964 }
    var low = 1.9
    var high = 700.0
    for _ in 0..<80 {
      let middle = (low + high) / 2
      if twoSided(middle, df: max(df, 0.5)) > 0.05 { low = middle } else { high = middle }
    }
    return (low + high) / 2
  }

  /// The regularised incomplete beta function by Lentz's continued fraction.
  private static func incompleteBeta(_ x: Double, _ a: Double, _ b: Double) -> Double {
    if x <= 0 { return 0 }
    if x >= 1 { return 1 }
    let front = Maths.exp(
      logGamma(a + b) - logGamma(a) - logGamma(b) + a * Maths.log(x) + b * Maths.log(1 - x))
    return x < (a + 1) / (a + b + 2) ? front * fraction(x, a, b) / a : 1 - front * fraction(1 - x, b, a) / b
  }

  private static func fraction(_ x: Double, _ a: Double, _ b: Double) -> Double {
    let tiny = 1e-300
    func safe(_ value: Double) -> Double { abs(value) < tiny ? tiny : value }
    var c = 1.0
    var d = 1 / safe(1 - (a + b) * x / (a + 1))
    var result = d
    for step in 1...400 {
      let m = Double(step)
      let even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
      d = 1 / safe(1 + even * d)
      c = safe(1 + even / c)
      result *= d * c
      let odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
      d = 1 / safe(1 + odd * d)
      c = safe(1 + odd / c)
      let change = d * c
      result *= change
      if abs(change - 1) < 1e-13 { break }
    }
    return result
  }

  /// Lanczos' approximation, g = 7, nine terms.
  private static func logGamma(_ x: Double) -> Double {
    let terms = [
      676.520_368_121_885_1, -1_259.139_216_722_402_8, 771.323_428_777_653_13, -176.615_029_162_140_59,
      12.507_343_278_686_905, -0.138_571_095_265_720_12, 9.984_369_578_019_571_6e-6, 1.505_632_735_149_311_6e-7,
    ]
    let z = x - 1
    var sum = 0.999_999_999_999_809_93
    for (index, term) in terms.enumerated() { sum += term / (z + Double(index) + 1) }
    let t = z + 7.5
    return 0.5 * Maths.log(2 * Double.pi) + (z + 0.5) * Maths.log(t) - t + Maths.log(sum)
  }
}

enum Normal {
  /// P(|Z| ≥ |z|), by Numerical Recipes' erfc fit; relative error below 1.2e-7.
  static func twoSided(_ z: Double) -> Double {
    let x = abs(z) / 2.0.squareRoot()
    let t = 1 / (1 + 0.5 * x)
    let terms = [
      -1.265_512_23, 1.000_023_68, 0.374_091_96, 0.096_784_18, -0.186_288_06, 0.278_868_07, -1.135_203_98, 1.488_515_87,
      -0.822_152_23, 0.170_872_77,
    ]
    let polynomial = terms.reversed().reduce(0) { $0 * t + $1 }
    return t * Maths.exp(-x * x + polynomial)
  }
}
