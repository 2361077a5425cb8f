// Which instructions find line ends, and which simdjson uses: for reports, and to test each path.

internal import CSimdjson
internal import CStreams

package enum LineScan: String, CaseIterable, Sendable {
  case plain, sse2, avx2, avx512, neon

  private var path: CStreams_Path {
    switch self {
    case .plain: CStreams_plain
    case .sse2: CStreams_sse2
    case .avx2: CStreams_avx2
    case .avx512: CStreams_avx512
    case .neon: CStreams_neon
    }
  }

  package var isSupported: Bool { CStreams_supports(path) }

  /// The path in use: the best of the machine unless `use` has chosen another.
  package static var current: LineScan { allCases.first { $0.path == CStreams_path() } ?? .plain }

  /// Uses this path in all threads from now on; false where the machine lacks it.
  @discardableResult
  package func use() -> Bool { CStreams_use(path) }
}

package enum JSONEngine {
  /// The instruction set that simdjson uses here.
  package static var name: String { String(cString: CSimdjson_implementation()) }
}
