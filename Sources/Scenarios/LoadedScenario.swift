// What a scenario file comes to: the document as used, one Scenario for each variant, and the secrets to keep.

package import Primitives

/// A scenario file, checked and complete.
package struct LoadedScenario: Sendable {
  /// Free text, as in the file.
  package var name: String
  /// Every default filled in, keys in the order of the definition, secrets as `${NAME}`; `$schema` left out.
  package var document: JSONValue
  /// At least one, in the order of the cross product, the last key of `compare` changing fastest.
  package var variants: [Variant]
  package var secrets: Secrets

  /// What the points of a search are made from.
  let source: ScenarioSource

  /// One combination of the values of `compare`.
  package struct Variant: Sendable {
    /// Its values joined by `+`; "default" where there is no `compare`.
    package var name: String
    /// Key path → value; an empty object where there is no `compare`.
    package var changes: JSONValue
    package var scenario: Scenario
    /// The key `client` as used, defaults and what the stack stands for filled in.
    package var client: JSONValue
    /// The loads of a `sweep`, in order; empty for every other model.
    package var points: [Point]
    /// The variant's own document, not yet checked: what its points are made from.
    let raw: JSONValue

    /// What a point's figures are called in a report: `rate=20/s`, after the variant's name where there are several.
    package func name(of point: Point, isOnly: Bool) -> String {
      let load = "\(point.key.keys.last ?? "")=\(point.value.asString ?? point.value.text())"
      return isOnly ? load : "\(name)+\(load)"
    }
  }

  /// One load of a sweep or a search: `scenario.load.model` is the base model.
  package struct Point: Sendable {
    /// The key path that varies, with `load.` where it was left out.
    package var key: String
    package var value: JSONValue
    package var scenario: Scenario
  }

  /// The same with further values kept out of all that is written, the document too.
  package func keeping(_ values: [(name: String, value: String)]) -> LoadedScenario {
    if values.isEmpty { return self }
    var kept = self
    kept.secrets = secrets.adding(values)
    kept.document = kept.secrets.scrub(document)
    kept.name = kept.secrets.scrub(name)
    return kept
  }

  /// `name` for file names: a-z, 0-9 and single -, at most 60; "run" where nothing is left.
  package var slug: String {
    var slug = ""
    for character in name.lowercased().unicodeScalars {
      if (character >= "a" && character <= "z") || (character >= "0" && character <= "9") {
        slug.unicodeScalars.append(character)
      } else if !slug.isEmpty, !slug.hasSuffix("-") {
        slug += "-"
      }
    }
    slug = String(slug.prefix(60))
    while slug.hasSuffix("-") { slug.removeLast() }
    return slug.isEmpty ? "run" : slug
  }

  /// The load of a `search` at one value, as checked as any other.
  package func point(of variant: Variant, at value: Double) throws(ScenarioFailure) -> Point {
    try source.point(of: variant, at: value)
  }

  /// The most live sessions that a run may send to an address that is not loopback without being asked.
  package static let mostWithoutConfirmation = 50

  /// Why `--yes` is needed: the most sessions that can be live at once (nil: no bound) and where they go; nil: not needed.
  package var needsConfirmation: (live: Int?, host: String)? {
    for variant in variants {
      guard let host = variant.scenario.endpoint.remoteHost else { continue }
      for scenario in variant.points.isEmpty ? [variant.scenario] : variant.points.map(\.scenario) {
        let live = scenario.mostLive
        if live ?? .max > Self.mostWithoutConfirmation { return (live, host) }
      }
    }
    return nil
  }
}

extension Scenario {
  /// The most sessions that the plan can have live at once; nil: no bound is known.
  package var mostLive: Int? {
    if let wukongim { return wukongim.readers + wukongim.producers }
    let bound: Int? =
      switch load.model {
      case .closed: load.concurrency ?? load.sessions
      case .burst: load.burst?.sessions
      case .trace: load.trace?.arrivals.count
      case .search: load.search.map { $0.key.hasSuffix("concurrency") ? Int($0.to) : .max } ?? .max
      case .constant, .poisson, .gamma, .stages, .sweep: nil
      }
    return [bound, load.sessions, load.maxLive].compactMap { $0 }.min().flatMap { $0 == .max ? nil : $0 }
  }
}
