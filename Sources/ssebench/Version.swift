// Version and build mode, printed by --version and kept in every report.

enum Version {
  static let number = "0.1.0"

  static var build: String {
    #if DEBUG
    "debug"
    #else
    "release"
    #endif
  }
}
