// The few functions of libm that the flow needs, without Foundation.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

func _log(_ x: Double) -> Double { log(x) }

package enum Maths {
  package static func log(_ x: Double) -> Double { _log(x) }
  package static func exp(_ x: Double) -> Double {
    #if canImport(Glibc)
    Glibc.exp(x)
    #else
    Darwin.exp(x)
    #endif
  }
  package static func pow(_ x: Double, _ y: Double) -> Double {
    #if canImport(Glibc)
    Glibc.pow(x, y)
    #else
    Darwin.pow(x, y)
    #endif
  }
}
