// Who may import whom, as data: imports follow the flow of a run. A real need changes this table in the commit that
// needs it; see CONTRIBUTING.md.

/// The modules of the platform, by the words that the sources use.
enum PlatformModule {
  static let c: Set<String> = ["Glibc", "Darwin", "Musl"]
  static let foundation: Set<String> = ["Foundation", "FoundationNetworking"]
  /// Part of the language: no layer.
  static let language: Set<String> = ["Swift", "Synchronization", "_Concurrency", "Builtin"]
}

/// What one target may import.
struct AllowedImports {
  /// Targets of this package, C targets among them.
  var targets: Set<String>
  /// Whether `import Foundation` is allowed: files, dates and URLs, never below the session line.
  var foundation = false

  init(_ targets: Set<String>, foundation: Bool = false) {
    self.targets = targets
    self.foundation = foundation
  }

  static let table: [String: AllowedImports] = [
    "Primitives": AllowedImports(["CPlatform"]),
    "EventLoops": AllowedImports(["Primitives", "CPlatform"]),
    "Streams": AllowedImports(["Primitives", "CStreams", "CSimdjson"]),
    "Recording": AllowedImports(["Primitives", "CZlib"]),
    "Scenarios": AllowedImports(["Primitives"], foundation: true),
    "Arrivals": AllowedImports(["Scenarios", "Primitives"]),
    "Transports": AllowedImports(["EventLoops", "Primitives", "CCurl"]),
    "FoundationClients": AllowedImports(["Streams", "Transports", "EventLoops", "Primitives"], foundation: true),
    "WuKongIM": AllowedImports(["Primitives", "CWslay"]),
    "Engine": AllowedImports([
      "Scenarios", "Transports", "Streams", "Recording", "WuKongIM", "EventLoops", "Primitives", "CPlatform",
    ]),
    "MockServing": AllowedImports([
      "Scenarios", "Arrivals", "WuKongIM", "Recording", "EventLoops", "Primitives", "CPlatform",
    ]),
    "Analysis": AllowedImports(["Recording", "Primitives"]),
    "Reporting": AllowedImports(["Analysis", "Recording", "Primitives", "CSQLite"], foundation: true),
    "ssebench": AllowedImports(
      [
        "Scenarios", "Arrivals", "Engine", "Transports", "Streams", "Recording", "Analysis", "Reporting", "MockServing",
        "WuKongIM", "FoundationClients", "EventLoops", "Primitives", "CPlatform",
      ], foundation: true),
  ]

  /// What to do about a line that breaks the table.
  static func advice(_ target: String, _ module: String) -> String {
    if PlatformModule.foundation.contains(module) {
      return "\(target) lies on the hot path and stays without Foundation: use Primitives or the C library, or do this work in ssebench, Scenarios or Reporting"
    }
    if module.hasPrefix("C"), table[module] == nil {
      return "C comes in through the target that owns it (\(owners(of: module))): ask that target for what you need"
    }
    return "\(target) stands before \(module) in the flow: hand the value down as a parameter, move the type to a target that both may see, or join the two in Engine or ssebench. If the flow itself has changed, change Tests/LayeringTests/AllowedImports.swift in the same commit"
  }

  private static func owners(of module: String) -> String {
    let names = table.filter { $0.value.targets.contains(module) }.map(\.key).sorted()
    return names.isEmpty ? "none yet" : names.joined(separator: ", ")
  }
}
